"""The box in which chains of thought are judged: a thin widget over `annotate`, with keys for every
button. docs/annotate.md describes it.
"""

import os
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import anywidget
import traitlets
from IPython.display import display
from ipywidgets import Button, HBox, IntProgress, Label, Text, VBox

from ircotlib import annotate
from ircotlib.annotate import ANNOTATIONS, FALSE, TRUE, UNSURE
from ircotlib.data import Paragraph
from ircotlib.factuality import Item

BUTTONS = {  # key -> what is written on its button
    "t": "True (t)",
    "f": "False (f)",
    "u": "Unsure (u)",
    "z": "Undo (z)",
    "ArrowLeft": "◀ sentence",
    "ArrowRight": "sentence ▶",
    "ArrowUp": "◀ chain",
    "ArrowDown": "chain ▶",
}
SAYS = {"t": TRUE, "f": FALSE, "u": UNSURE}
SIGNS = {TRUE: "✓", FALSE: "✗", UNSURE: "?", None: "·"}
SMALL_WORDS = frozenset(
    "a an and are as at by for from had has have he her his in is it its of on or she so that the"
    " their they this thus to was were which who with".split()
)
SCRIPT = """
function render({ model, el }) {
  const page = document.createElement("div");
  page.tabIndex = 0;
  page.className = "ircot-page";
  page.dataset.lmSuppressShortcuts = "true";
  const show = () => { page.innerHTML = model.get("page"); };
  const press = (event) => {
    const box = el.closest(".ircot-annotate");
    const target = event.target;
    if (!box || !box.contains(target) || target.closest("input, textarea")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!model.get("listens").includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) model.send({ key: event.key, shown: model.get("shown") });
  };
  model.on("change:page", show);
  window.addEventListener("keydown", press, true);
  show();
  el.append(page);
  requestAnimationFrame(() => page.focus());
  return () => window.removeEventListener("keydown", press, true);
}
export default { render };
"""
STYLE = """
.ircot-page { padding: 0.5em; line-height: 1.4; }
.ircot-page:focus { outline: 1px solid var(--jp-brand-color1, #3b6fb6); }
.ircot-page .now { font-weight: bold; background: var(--jp-layout-color2, #eee); }
.ircot-page .answer { opacity: 0.6; }
.ircot-page .columns { display: flex; gap: 1em; max-height: 24em; overflow-y: auto; }
.ircot-page .columns > div { flex: 1; }
.ircot-page mark { background: #ffe28a; color: black; }
"""


class Page(anywidget.AnyWidget):
    """What is read, as HTML, and the keys that are pressed while the focus is in the box. Each is
    sent with the number of what was shown then: messages may overtake each other.
    """

    _esm, _css = SCRIPT, STYLE
    page = traitlets.Unicode().tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    listens = traitlets.List(list(BUTTONS)).tag(sync=True)


class AnnotateBox(VBox):
    """The box. It keeps only where the annotator is; all that was judged is read from the file."""

    def __init__(self, items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS):
        self.items, self.folder = items, folder
        self.places = [(i, n) for i, item in enumerate(items) for n in range(item.facts)]
        self.at, self.judged = 0, {}
        self.name = Text(
            annotator, description="your name", placeholder="ada", continuous_update=False
        )
        self.note = Text(description="note", placeholder="optional, kept with the next click")
        self.bar, self.told, self.page = IntProgress(max=len(self.places)), Label(), Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        rows = HBox([self.name, self.bar, self.told]), self.page, self.note
        super().__init__([*rows[:2], *self._button_rows(), rows[2]])
        self.add_class("ircot-annotate")
        for key, button in self.buttons.items():
            button.on_click(lambda _, key=key: self.press(key))
        self.page.on_msg(lambda _, message, buffers: self._hear(message))
        self.name.observe(lambda _: self.resume(), names="value")
        self.resume()

    def _button_rows(self) -> list[HBox]:
        buttons = list(self.buttons.values())
        return [HBox(buttons[:4]), HBox(buttons[4:])]

    def resume(self) -> None:
        """Read what this annotator has judged, and go to the first sentence that is not."""
        self._read()
        place = annotate.first_open(self.items, self.judged)
        self.at = self.places.index(place) if place else 0
        self.show()

    def _read(self) -> None:
        known = annotate.NAME.fullmatch(self.name.value)
        self.judged = annotate.read_verdicts(self.name.value, self.folder) if known else {}

    def _hear(self, message: dict) -> None:
        """A key counts for the sentence that was shown when it was pressed, or not at all."""
        if message.get("shown") == self.page.shown:
            self.press(message.get("key"))

    def press(self, key: str) -> None:
        """Do what a key or its button stands for; nothing is judged without a name."""
        named = annotate.NAME.fullmatch(self.name.value)
        if not self.places or key not in BUTTONS or (key in (*SAYS, "z") and not named):
            return
        if key in SAYS:
            self._judge(SAYS[key])
        elif key == "z":
            self._undo()
        else:
            self._move(key)
        self._read()
        self.show()

    def _judge(self, verdict: str) -> None:
        i, n = self.places[self.at]
        id, note = self.items[i].id, self.note.value.strip()
        annotate.judge_sentence(self.name.value, id, n, verdict, note, self.folder)
        self.note.value = ""
        self._move("ArrowRight")

    def _undo(self) -> None:
        taken = annotate.undo(self.name.value, self.folder)
        ids = [(self.items[i].id, n) for i, n in self.places]
        if taken and (taken.item, taken.sentence) in ids:
            self.at = ids.index((taken.item, taken.sentence))

    def _move(self, key: str) -> None:
        step = 1 if key in ("ArrowRight", "ArrowDown") else -1
        if key in ("ArrowUp", "ArrowDown"):
            item, _ = self.places[self.at]
            chains = [i for i, n in self.places if n == 0]
            place = min(max(chains.index(item) + step, 0), len(chains) - 1)
            self.at = self.places.index((chains[place], 0))
        else:
            self.at = min(max(self.at + step, 0), len(self.places) - 1)

    def show(self) -> None:
        """Show the sentence the annotator is at."""
        done = annotate.progress(self.items, self.judged)
        self.bar.value = done.sentences
        self.told.value = (
            f"{done.sentences} of {done.of_sentences} sentences, {done.chains} of"
            f" {done.of_chains} chains"
            if annotate.NAME.fullmatch(self.name.value)
            else "type your name first: letters, digits, - and _"
        )
        if self.places:
            i, n = self.places[self.at]
            with self.page.hold_sync():
                self.page.page = page_of(self.items[i], n, self.judged)
                self.page.shown += 1


def page_of(item: Item, now: int, judged: annotate.Verdicts) -> str:
    """An item as HTML, one sentence being judged. All texts come from models and corpora: they are
    escaped.
    """
    words = words_of(item.sentences[now])
    lines = []
    for n, text in enumerate(item.sentences):
        kind = "now" if n == now else "answer" if n >= item.facts else ""
        sign = SIGNS[judged.get((item.id, n))] if n < item.facts else ""
        lines.append(f'<div class="{kind}">{sign} {escape(text)}</div>')
    columns = (
        f"<div><b>{head}</b>{''.join(_paragraph(one, words) for one in found) or ': none'}</div>"
        for head, found in (("retrieved", item.retrieved), ("gold", item.gold))
    )
    question = f"<p><b>Question.</b> {escape(item.question.text)}</p>"
    return f'{question}{"".join(lines)}<hr><div class="columns">{"".join(columns)}</div>'


def _paragraph(paragraph: Paragraph, words: frozenset[str]) -> str:
    return f"<p><i>{mark(paragraph.title, words)}.</i> {mark(paragraph.text, words)}</p>"


def words_of(text: str) -> frozenset[str]:
    """The words of a text that tell something, in lower case."""
    return frozenset(re.findall(r"\w+", text.lower())) - SMALL_WORDS


def mark(text: str, words: frozenset[str]) -> str:
    """A text as HTML, with some of its words marked."""
    parts = re.split(r"(\w+)", text)
    return "".join(
        f"<mark>{escape(part)}</mark>" if part.lower() in words else escape(part) for part in parts
    )


def annotate_box(items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS) -> None:
    """Show the box; silent in batch."""
    if not os.environ.get("IRCOT_BATCH"):
        display(AnnotateBox(items, annotator, folder))
