// Shows one question at a time. What is chosen is in the address, so that it can be sent.
const form = document.forms[0];
const section = document.getElementById("questions");

const opened = {};
const unpack = (id) => (opened[id] ??= read(document.getElementById(id).textContent));
function read(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Gives a list its options and returns the one that is chosen: as wanted, or else the first.
function offer(name, options, wanted) {
  form[name].replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  const values = options.map(([value]) => value);
  return (form[name].value = values.includes(wanted) ? wanted : (values[0] ?? ""));
}

async function show() {
  const address = location.hash;
  const wanted = Object.fromEntries(new URLSearchParams(address.slice(1)));
  const index = await unpack("index");
  const data = offer("data", index.map((each) => [each.name, each.title]), wanted.data);
  const names = index.find((each) => each.name === data).runs.map((each) => [each, each]);
  const run = offer("run", names, wanted.run);
  const others = names.filter(([name]) => name !== run);
  const beside = offer("beside", [["", "no other"], ...others], wanted.beside);
  const runs = [run, beside].filter(Boolean).map((name) => unpack(`${data}/${name}`));
  const [{ asked, lines }, ...did] = await Promise.all([unpack(data), ...runs]);
  if (address !== location.hash) return; // another choice has overtaken this one

  const rows = [];
  for (const [id, row] of Object.entries(did[0])) {
    const other = did[1]?.[id];
    if (beside && !other) continue;
    const outcome = ["loss", "tie", "win"][Math.sign(row.score - other?.score) + 1];
    const unscored = other && (row.score === null || other.score === null);
    const mark = unscored ? "not scored" : (outcome ?? row.mark);
    rows.push({ id, mark, text: row.question, said: [row.said, other?.said].join() });
  }
  const marks = [...new Set(rows.map((row) => row.mark))];
  const filters = [...new Set([...(beside ? [] : ["wrong"]), ...marks])];
  const options = [["", "all"], ...filters.map((mark) => [mark, mark])];
  const which = offer("which", options, wanted.which); // "wrong" is how all wrong marks begin
  form.text.value = wanted.text ?? "";
  const passes = (row) =>
    row.mark.startsWith(which) &&
    (row.text + row.said).toLowerCase().includes(form.text.value.toLowerCase());
  const left = rows.filter(passes);
  const id = offer("q", left.map((row) => [row.id, `${row.mark}: ${row.text}`]), wanted.q);
  const counts = marks.map((mark) => `${mark} ${rows.filter((row) => row.mark === mark).length}`);
  document.getElementById("counts").textContent =
    `${left.length} of ${rows.length} questions; ${counts.join(", ")}`;
  const html = (numbers) => numbers.map((number) => lines[number]).join("\n");
  const columns = id ? did.map((one) => `<div>${html(one[id].html)}</div>`) : [];
  document.getElementById("question").innerHTML = !id
    ? "<p>No question is left: choose another filter.</p>"
    : `${html(asked[id])}<div class="columns">${columns.join("")}</div>`;
}

form.onchange = () => (location.hash = new URLSearchParams(new FormData(form)));
form.onsubmit = () => false;
addEventListener("hashchange", () => {
  show();
  section.scrollIntoView();
});
show();
if (location.hash) section.scrollIntoView();
