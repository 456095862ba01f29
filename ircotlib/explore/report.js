// Shows one question at a time. What is chosen is in the address, so that it can be sent: data, run,
// beside, which, kind, text, q (a question) and step (a3 is the third of the run, b3 of the other).
const $ = (id) => document.getElementById(id);
const make = (tag, set = {}, ...parts) => {
  const made = Object.assign(document.createElement(tag), set);
  made.append(...parts);
  return made;
};
const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const address = (changes) => {
  const kept = Object.entries({ ...state(), ...changes }).filter(([, value]) => value);
  return "#" + new URLSearchParams(kept);
};
const go = (changes) => (location.hash = address({ step: "", ...changes }));

const opened = new Map(); // what was unpacked
const unpack = (name) => {
  if (!opened.has(name)) opened.set(name, read($("packed/" + name).textContent));
  return opened.get(name);
};
const read = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
};

const choices = {}; // the elements in which one chooses, by their names in the address
const offer = (name, options, chosen) => {
  const made = options.map(([value, text]) => new Option(text, value, false, value === chosen));
  choices[name].replaceChildren(...made);
  choices[name].closest("label").hidden = options.length < 2;
};

let turns = 0; // a later choice overtakes an earlier one that is still unpacked
async function show() {
  const turn = ++turns;
  const index = await unpack("index");
  const chosen = state();
  const data = index.find((each) => each.name === chosen.data) ?? index[0];
  const named = (name, runs) => runs.find((run) => run.name === name);
  const run = named(chosen.run, data.runs) ?? data.runs[0];
  const others = data.runs.filter((each) => each.measure === run.measure && each !== run);
  const beside = named(chosen.beside, others);
  const runs = beside ? [run, beside] : [run];
  const names = runs.map((each) => unpack(`${data.name}/${each.name}`));
  const [asked, ...did] = await Promise.all([unpack(data.name), ...names]);
  if (turn !== turns) return;
  const rows = join(asked, did);
  const filters = list_filters(rows, beside);
  const which = chosen.which in filters ? chosen.which : "all";
  const kinds = [...new Set(rows.map((row) => row.kind))].filter(Boolean).sort();
  const kind = kinds.includes(chosen.kind) ? chosen.kind : "";
  const text = (chosen.text ?? "").toLowerCase().trim();
  const passing = rows.filter(filters[which]);
  const left = passing.filter((row) => (!kind || row.kind === kind) && row.all.includes(text));
  const row = left.find((each) => each.id === chosen.q) ?? left[0];

  offer("data", index.map((each) => [each.name, each.title]), data.name);
  offer("run", data.runs.map((each) => [each.name, each.name]), run.name);
  offer("beside", [["", "no other"], ...others.map((e) => [e.name, e.name])], beside?.name ?? "");
  offer("which", Object.keys(filters).map((name) => [name, name]), which);
  offer("kind", [["", "all kinds"], ...kinds.map((name) => [name, name])], kind);
  if (document.activeElement !== choices.text) choices.text.value = chosen.text ?? "";
  const there = { data: data.name, run: run.name, beside: beside?.name };
  const absent = Object.keys(there).filter((name) => chosen[name] && chosen[name] !== there[name]);
  const missed = absent.map((name) => `no “${chosen[name]}” is here; `).join("");
  $("told").textContent =
    `${missed}${left.length} of ${rows.length} questions` + tell(data, rows, runs);
  list(left, row);
  draw(row, asked, runs, did, chosen.step, left);
}

// The questions that all shown runs have, with what each did.
function join(asked, did) {
  const each = did.map((one) => new Map(one.questions.map((row) => [row[0], row])));
  const rows = [];
  for (const [id, question, kind, answers, html] of asked.questions) {
    if (!each.every((one) => one.has(id))) continue;
    const runs = each.map((one) => one.get(id));
    const [a, b] = runs.map(([, answer, score, right, cause, found, tree, steps]) =>
      ({ answer, score, right, cause, found, tree, steps }));
    const unscored = b && (a.score === null || b.score === null);
    const sign = b && Math.sign(a.score - b.score);
    const outcome = unscored ? "not scored" : b && ["loss", "tie", "win"][sign + 1];
    const all = [question, id, ...answers, a.answer, b?.answer ?? ""].join("\n").toLowerCase();
    const mark = outcome ?? (a.cause || (a.right ? "right" : "wrong"));
    rows.push({ id, question, kind, html, runs: b ? [a, b] : [a], outcome, all, mark });
  }
  return rows;
}

function list_filters(rows, beside) {
  const filters = { all: () => true };
  if (beside) {
    const names = { wins: "win", losses: "loss", ties: "tie" };
    for (const name in names) filters[name] = (row) => row.outcome === names[name];
  }
  filters.right = (row) => row.runs[0].right;
  filters.wrong = (row) => !row.runs[0].right;
  for (const cause of new Set(rows.map((row) => row.runs[0].cause)))
    if (cause) filters[cause] = (row) => row.runs[0].cause === cause;
  return filters;
}

function tell(data, rows, [run, beside]) {
  if (!beside) return "";
  const count = (outcome) => rows.filter((row) => row.outcome === outcome).length;
  const p = data.p[run.name]?.[beside.name] ?? data.p[beside.name]?.[run.name];
  const counts = `${count("win")} wins, ${count("loss")} losses, ${count("tie")} ties`;
  const test = p < 0.0001 ? "p < 0.0001" : `p = ${p ?? "–"}`;
  return `. ${run.name} has ${counts}; exact paired test, this one by itself: ${test}`;
}

function list(rows, chosen) {
  const items = rows.map((row) => {
    const set = { href: address({ q: row.id, step: "" }), tabIndex: -1, id: "q/" + row.id };
    const mark = make("span", { className: "mark " + row.mark.replaceAll(" ", "-") }, row.mark);
    const item = make("a", set, mark, " ", row.question);
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", row === chosen);
    return item;
  });
  const held = $("list").contains(document.activeElement);
  $("list").replaceChildren(...items);
  if (held) $("list").focus();
  $("list").setAttribute("aria-activedescendant", chosen ? "q/" + chosen.id : "");
  const item = items[rows.indexOf(chosen)];
  if (item) $("list").scrollTop = item.offsetTop - $("list").clientHeight / 2;
}

let drawn = ""; // the question that is shown, so that a step can be marked without closing prompts
function draw(row, asked, runs, did, step, left) {
  const key = row && JSON.stringify([runs.map((run) => run.name), row.id, left.length]);
  if (!row || key !== drawn) {
    $("question").replaceChildren(...(row ? parts_of(row, asked, runs, did, left) : []));
    document.title = row ? row.question : "No question";
    for (const mark of document.querySelectorAll(".key span[class]"))
      mark.hidden = !$("question").querySelector("." + mark.className);
  }
  drawn = key;
  document.querySelector(".here")?.classList.remove("here");
  const here = step && $("step/" + step);
  here?.classList.add("here");
  if (here) here.scrollIntoView({ block: "center" });
}

function parts_of(row, asked, runs, did, left) {
  const place = `${left.indexOf(row) + 1} of ${left.length} · ${row.id}`;
  const head = make("div", { innerHTML: row.html });
  const columns = make("div", { className: "columns" });
  const rows = align(...row.runs.map((each) => each.steps));
  runs.forEach((run, at) => {
    const cells = [head_of(run, row.runs[at], did[at].note)];
    cells.push(make("div", { innerHTML: row.runs[at].tree }));
    for (const each of rows) cells.push(make("div", { innerHTML: each[at]?.[1] ?? "" }));
    cells.forEach((cell, n) => (cell.style.gridArea = `${n + 1} / ${at + 1}`));
    columns.append(...cells);
    const steps = cells.flatMap((cell) => [...cell.querySelectorAll("ol > li")]);
    steps.forEach((item, n) => {
      const step = "ab"[at] + (n + 1);
      item.id = "step/" + step;
      item.prepend(make("a", { href: address({ step }), title: "a link to this step" }, n + 1));
    });
  });
  for (const each of columns.querySelectorAll("[data-lines]"))
    each.textContent = each.dataset.lines.split(" ").map((at) => asked.lines[at]).join("\n");
  return [make("p", { className: "place" }, place), head, columns];
}

function head_of(run, did, note) {
  const score = did.score === null ? "not scored" : `${run.measure} ${did.score.toFixed(2)}`;
  const said = [score, did.found, did.cause, run.model].filter(Boolean).join(" · ");
  const answer = make("b", { className: did.right ? "right" : "wrong" }, did.answer || "none");
  return make("div", {}, make("h4", {}, run.name), make("p", { className: "place" }, note),
    make("p", {}, "answer: ", answer), make("p", { className: "place" }, said));
}

// The rows of two runs side by side: those that find the same are in one row, as many as can be.
function align(ours, theirs) {
  if (!theirs) return ours.map((row) => [row]);
  const same = (i, j) => i < ours.length && j < theirs.length && ours[i][0] === theirs[j][0];
  const best = [...ours, 0].map(() => Array(theirs.length + 1).fill(0));
  for (let i = ours.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      best[i][j] = same(i, j) ? 1 + best[i + 1][j + 1] : Math.max(best[i + 1][j], best[i][j + 1]);
  const rows = [];
  for (let i = 0, j = 0; i < ours.length || j < theirs.length; ) {
    if (same(i, j)) rows.push([ours[i++], theirs[j++]]);
    else if (j === theirs.length || (i < ours.length && best[i + 1][j] >= best[i][j + 1]))
      rows.push([ours[i++]]);
    else rows.push([undefined, theirs[j++]]);
  }
  return rows;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select")) return;
  const arrows = event.target === $("list") ? ["ArrowDown", "ArrowUp"] : [];
  const chosen = $("list").querySelector("[aria-selected=true]");
  if (!chosen || !["j", "k", ...arrows].includes(event.key)) return;
  event.preventDefault();
  const forward = ["j", "ArrowDown"].includes(event.key);
  const next = forward ? chosen.nextSibling : chosen.previousSibling;
  if (next) location.hash = next.hash;
}

function begin() {
  const labels = { data: "data set", run: "system", beside: "beside", which: "which", kind: "kind" };
  const bar = make("form", { onsubmit: () => false });
  for (const name in labels) {
    choices[name] = make("select", { onchange: (event) => go({ [name]: event.target.value }) });
    bar.append(make("label", {}, labels[name], choices[name]));
  }
  choices.text = make("input", { type: "search", placeholder: "in question or answer" });
  choices.text.oninput = () => {
    history.replaceState(null, "", address({ text: choices.text.value, step: "" }));
    show();
  };
  bar.append(make("label", {}, "text", choices.text));
  const told = make("p", { id: "told" });
  told.setAttribute("role", "status");
  const listed = make("div", { id: "list", tabIndex: 0 });
  listed.setAttribute("role", "listbox");
  listed.setAttribute("aria-label", "questions");
  const keys = make("p", { className: "place" }, "j and k: next and previous question");
  const question = make("article", { id: "question", className: "ircot", tabIndex: -1 });
  $("questions").append(bar, told, make("div", { className: "two" },
    make("nav", {}, listed, keys), question));
  addEventListener("hashchange", show);
  addEventListener("keydown", press);
  for (const link of document.querySelectorAll("td a"))
    link.onclick = () => $("questions").scrollIntoView();
  document.querySelector("header a").onclick = (event) => {
    event.preventDefault(); // the address keeps what is chosen
    choices.run.focus();
    $("questions").scrollIntoView();
  };
  if (state().data || state().q) $("questions").scrollIntoView();
  show();
}

document.addEventListener("DOMContentLoaded", begin);
