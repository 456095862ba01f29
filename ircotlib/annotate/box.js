// What is read, and the keys that are pressed while the focus is on it. Without a name, the focus is
// on the field for it: the keys would be letters of the name there.
function render({ model, el }) {
  const page = document.createElement("div");
  page.tabIndex = 0;
  page.className = "ircot-page";
  page.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves these keys to the page
  let waiting = false; // a second key, pressed too early, is about a sentence that nobody has read
  page.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!model.get("listens").includes(event.key)) return;
    event.preventDefault();
    if (event.repeat || waiting) return;
    waiting = true;
    model.send(event.key);
  });
  const show = () => {
    page.innerHTML = model.get("page");
    waiting = false; // the next sentence is there
    focus();
  };
  const focus = () => {
    const field = page.closest(".ircot-annotate")?.querySelector("input");
    (model.get("named") || !field ? page : field).focus({ preventScroll: true });
  };
  model.on("change:page", show);
  model.on("msg:custom", (message) => {
    waiting = false; // the key was heard
    if (message === "named") focus();
  });
  el.append(page);
  requestAnimationFrame(show);
}

export default { render };
