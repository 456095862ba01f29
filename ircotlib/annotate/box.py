"""The box for judging chains of thought and references: a thin widget over `annotate`, with a key
for every button (docs/annotate.md).
"""

import os
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import anywidget
import traitlets
from IPython.display import HTML, display
from ipywidgets import Button, HBox, IntProgress, Label, Text, VBox

from ircotlib.annotate import judgements as annotate
from ircotlib.annotate.judgements import ANNOTATIONS, FALSE, TRUE, UNSURE
from ircotlib.data import Paragraph
from ircotlib.parameters import Parameters
from ircotlib.results.citations import read_references
from ircotlib.results.factuality import FIGURE_7, Item, read_items

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
MOVES = [key for key in BUTTONS if key.startswith("Arrow")]
SIGNS = {TRUE: "✓", FALSE: "✗", UNSURE: "?", None: "·"}
SMALL_WORDS = frozenset(
    "a an and are as at by for from had has have he her his in is it its of on or she so that the"
    " their they this thus to was were which who with".split()
)


class Page(anywidget.AnyWidget):
    """The text to be judged, as HTML; it also listens for keys while the box has the focus. Each
    key is sent with the number of the page that was shown, because messages may arrive out of
    order.
    """

    _esm, _css = (Path(__file__).with_suffix(suffix) for suffix in (".js", ".css"))
    page = traitlets.Unicode().tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    listens = traitlets.List(list(BUTTONS)).tag(sync=True)


class AnnotateBox(VBox):
    """The box. It keeps only the annotator's place; all judgements are read from the file."""

    def __init__(self, items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS):
        self.items, self.folder = items, folder
        self.places = [(i, n) for i, item in enumerate(items) for n in range(item.facts)]
        self.at, self.judged = 0, {}
        self.name = Text(annotator, description="Your name", placeholder="ada, then Enter")
        self.name.continuous_update = False
        self.note = Text(description="Note", placeholder="optional, kept with the next click")
        self.note.layout.width = "min(100%, 48em)"
        self.bar, self.told, self.page = IntProgress(max=len(self.places)), Label(), Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        rows = [self.name, self.bar, self.told], [*self.buttons.values()], [self.note]
        super().__init__([*map(HBox, rows), self.page])
        self._dress()
        for key, button in self.buttons.items():
            button.on_click(lambda _, key=key: self.press(key))
        self.page.on_msg(lambda _, message, buffers: self._hear(message))
        self.name.observe(lambda _: self.resume(), names="value")
        self.resume()

    def _dress(self) -> None:
        """Add the classes by which the style sheet and the script find the parts."""
        self.add_class("ircot-annotate")
        self.name.add_class("ircot-name")
        self.note.add_class("ircot-note")
        for row in self.children[:-1]:
            row.add_class("ircot-row")
        for button in self.buttons.values():
            button.layout.width = "auto"

    @property
    def named(self) -> bool:
        """Whether the annotator's name can be a file name."""
        return annotate.NAME.fullmatch(self.name.value) is not None

    def resume(self) -> None:
        """Read what this annotator has judged, and go to the first sentence not judged yet."""
        self._read()
        self._go_on()
        self.show()
        if self.named:
            self.page.send("focus")

    def _read(self) -> None:
        self.judged = annotate.read_verdicts(self.name.value, self.folder) if self.named else {}

    def _go_on(self) -> None:
        place = annotate.first_open(self.items, self.judged)
        self.at = self.places.index(place) if place else 0

    def _hear(self, message: dict) -> None:
        """Act on a key, unless another sentence has been shown since it was pressed."""
        if message.get("shown") == self.page.shown:
            self.press(message.get("key"))

    def press(self, key: str) -> None:
        """Do what a key or its button stands for. Without a name nothing is judged."""
        failed = ""
        if self.places and key in BUTTONS and (self.named or key in MOVES):
            try:
                self._do(key)
            except OSError as error:
                failed = f"NOT KEPT: {error}"
        self.show(failed)

    def _do(self, key: str) -> None:
        if key in SAYS:
            self._judge(SAYS[key])
        elif key == "z":
            self._undo()
        else:
            self._move(key)
        self._read()

    def _judge(self, verdict: str) -> None:
        i, n = self.places[self.at]
        id, note = self.items[i].id, self.note.value.strip()
        annotate.judge_sentence(self.name.value, id, n, verdict, note, self.folder)
        self.note.value = ""
        self._read()
        if self.at + 1 < len(self.places):
            self._move("ArrowRight")
        else:
            self._go_on()  # to the first sentence that was skipped

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

    def show(self, failed: str = "") -> None:
        """Show the current sentence, and the annotator's progress or what failed."""
        done = annotate.progress(self.items, self.judged)
        self.bar.value = done.sentences
        self.told.value = failed or self._tell(done)
        for key, button in self.buttons.items():
            button.disabled = not self.named and key not in MOVES
        with self.page.hold_sync():
            self.page.page = self._page()
            self.page.shown += 1

    def _tell(self, done: annotate.Progress) -> str:
        if not self.named:
            return "type your name first: letters, digits, - and _"
        told = f"{done.sentences} of {done.of_sentences} sentences, {done.chains} of"
        told += f" {done.of_chains} chains"
        return told + ": all done, thank you" * (0 < done.sentences == done.of_sentences)

    def _page(self) -> str:
        if not self.places:
            return "<p>There is nothing to judge.</p>"
        i, n = self.places[self.at]
        place = f"Chain {i + 1} of {len(self.items)}, sentence {n + 1} of {self.items[i].facts}"
        return f'<p class="place">{place}</p>{page_of(self.items[i], n, self.judged)}'


def page_of(item: Item, now: int, judged: annotate.Verdicts) -> str:
    """An item as HTML, with the sentence that is being judged highlighted. All texts are escaped,
    because they come from models and corpora.
    """
    words = words_of(item.sentences[now])
    lines = []
    for n, text in enumerate(item.sentences):
        kind = "now" if n == now else "answer" if n >= item.facts else ""
        said = judged.get((item.id, n)) if n < item.facts else None
        sign = f'<span class="sign {said or ""}">{SIGNS[said] if n < item.facts else ""}</span>'
        lines.append(f'<div class="sentence {kind}">{sign}<span>{escape(text)}</span></div>')
    question = f'<p class="question">{escape(item.question.text)}</p>'
    columns = _column("Retrieved", item.retrieved, words) + _column("Gold", item.gold, words)
    return f'{question}{"".join(lines)}<div class="columns">{columns}</div>'


def _column(head: str, paragraphs: Sequence[Paragraph], words: frozenset[str]) -> str:
    shown = "".join(_paragraph(one, words) for one in paragraphs)
    head = f"{head} paragraphs" + ": none" * (not paragraphs)
    return f'<div><p class="head">{head}</p>{shown}</div>'


def _paragraph(paragraph: Paragraph, words: frozenset[str]) -> str:
    title, text = mark(paragraph.title, words), mark(paragraph.text, words)
    return f'<p class="paragraph"><b>{title}.</b> {text}</p>'


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, without small words such as "the"."""
    return frozenset(re.findall(r"\w+", text.lower())) - SMALL_WORDS


def mark(text: str, words: frozenset[str]) -> str:
    """A text as HTML, with some of its words marked."""
    parts = re.split(r"(\w+)", text)
    return "".join(
        f"<mark>{escape(part)}</mark>" if part.lower() in words else escape(part) for part in parts
    )


def annotate_box(p: Parameters, annotator: str = "", folder: Path = ANNOTATIONS) -> None:
    """Show the box for the chains of IRCoT's Figure 7, or of the systems that the parameters name.
    If runs are missing, show the command that makes them; in a batch run, show nothing.
    """
    _show_box(read_items, p, p.systems or FIGURE_7, annotator, folder)


def references_box(p: Parameters, annotator: str = "", folder: Path = ANNOTATIONS) -> None:
    """Show the box for the references in SearChain's final contents (Table 5, AMP); otherwise like
    `annotate_box`.
    """
    _show_box(read_references, p, p.systems, annotator, folder)


def _show_box(read: Callable, p: Parameters, systems, annotator: str, folder: Path) -> None:
    if os.environ.get("IRCOT_BATCH"):
        return
    try:
        items = read(p)
    except (OSError, ValueError) as error:
        display(HTML(f"<p>{escape(str(error))}</p>"))
        return
    chosen = [item for item in items if not systems or item.system in systems]
    display(AnnotateBox(chosen, annotator, folder))
