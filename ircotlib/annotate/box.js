// What is read, and the keys that are pressed while the focus is in the box. Each is sent with the
// number of what was shown then: messages may overtake each other.
const LOST = "No reply: your last click may not be kept. Reload the page and go on.";

function render({ model, el }) {
  const page = document.createElement("div");
  page.tabIndex = 0;
  page.className = "ircot-page";
  page.dataset.lmSuppressShortcuts = "true";
  let waiting;
  const box = () => el.closest(".ircot-annotate");
  const show = () => {
    clearTimeout(waiting);
    page.innerHTML = model.get("page");
  };
  const lose = () => {
    const told = document.createElement("p");
    told.className = "lost";
    told.textContent = LOST;
    page.replaceChildren(told, ...[...page.children].filter((one) => one.className != "lost"));
  };
  const wait = () => {
    clearTimeout(waiting);
    waiting = setTimeout(lose, 8000);
  };
  const press = (event) => {
    if (!box()?.contains(event.target) || event.target.closest("input, textarea")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!model.get("listens").includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat) return;
    wait();
    model.send({ key: event.key, shown: model.get("shown") });
  };
  const click = (event) => {
    if (box()?.contains(event.target) && event.target.closest("button:enabled")) wait();
  };
  const focus = () => { // not while a note is written
    if (!document.activeElement?.closest(".ircot-note")) page.focus();
  };
  const begin = () => {
    const name = box()?.querySelector(".ircot-name input");
    (name && !name.value ? name : page).focus();
  };
  model.on("change:shown", show);
  model.on("msg:custom", focus);
  window.addEventListener("keydown", press, true);
  window.addEventListener("click", click, true);
  show();
  el.append(page);
  requestAnimationFrame(begin);
  return () => {
    clearTimeout(waiting);
    window.removeEventListener("keydown", press, true);
    window.removeEventListener("click", click, true);
  };
}

export default { render };
