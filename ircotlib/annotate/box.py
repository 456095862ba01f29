"""The box for judging chains of thought and references, with keys (docs/annotate.md)."""

import os
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from ircotlib.files.extras import need

need("anywidget", "lab")
import anywidget
import traitlets
from IPython.display import HTML, display
from ipywidgets import Button, HBox, IntProgress, Label, Text, VBox

from ircotlib.annotate import judgements
from ircotlib.annotate.judgements import ANNOTATIONS, FALSE, JUDGE, TRUE, UNSURE
from ircotlib.parameters import Parameters
from ircotlib.results.citations import read_references
from ircotlib.results.factuality import FIGURE_7, Item, read_items

# key -> what is written on its button
BUTTONS = {"t": "True (t)", "f": "False (f)", "u": "Unsure (u)", "z": "Undo (z)"}
BUTTONS |= {"ArrowLeft": "◀ sentence", "ArrowRight": "sentence ▶"}
BUTTONS |= {"ArrowUp": "◀ chain", "ArrowDown": "chain ▶"}
VERDICTS = {"t": TRUE, "f": FALSE, "u": UNSURE}
STEPS = {"ArrowLeft": -1, "ArrowRight": 1, "ArrowUp": -1, "ArrowDown": 1}
SIGNS = {TRUE: "✓", FALSE: "✗", UNSURE: "?", None: "·"}
SMALL_WORDS = frozenset(
    "a an and are as at by for from had has have he her his in is it its of on or she so that the"
    " their they this thus to was were which who with".split()
)


class Page(anywidget.AnyWidget):
    """The text to be judged, as HTML; it listens for keys, and sends each with the number of the
    page that was shown, because messages may arrive out of order.
    """

    _esm, _css = (Path(__file__).with_suffix(suffix) for suffix in (".js", ".css"))
    page = traitlets.Unicode().tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    listens = traitlets.List(list(BUTTONS)).tag(sync=True)


class AnnotateBox(VBox):
    """The box. It keeps only the annotator's position; all judgements are read from the file."""

    def __init__(self, items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS):
        self.items = items
        self.folder = folder
        self.at = 0
        self.judged = {}
        self.sentences = [(i, n) for i, item in enumerate(items) for n in range(item.facts)]
        self.name = Text(annotator, description="Your name", placeholder="ada, then Enter")
        self.name.continuous_update = False
        self.note = Text(description="Note", placeholder="optional, kept with the next click")
        self.note.layout.width = "min(100%, 48em)"
        self.bar = IntProgress(max=len(self.sentences))
        self.status = Label()
        self.page = Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        rows = [[self.name, self.bar, self.status], [*self.buttons.values()], [self.note]]
        rows = [HBox(row) for row in rows]
        super().__init__([*rows, self.page])
        # the classes by which the style sheet and the script find the parts
        for widget, name in ((self, "annotate"), (self.name, "name"), (self.note, "note")):
            widget.add_class(f"ircot-{name}")
        for row in rows:
            row.add_class("ircot-row")
        for key, button in self.buttons.items():
            button.layout.width = "auto"
            button.on_click(lambda _, key=key: self.press(key))
        self.page.on_msg(self._hear)
        self.name.observe(lambda _: self.resume(), names="value")
        self.resume()

    @property
    def named(self) -> bool:
        """Whether the annotator has given a name of a person."""
        return judgements.is_person(self.name.value)

    def resume(self) -> None:
        """Read what this annotator has judged, and go to the first sentence not judged yet."""
        self._read()
        self._go_on()
        self.show()
        if self.named:
            self.page.send("focus")

    def _read(self) -> None:
        self.judged = judgements.read_verdicts(self.name.value, self.folder) if self.named else {}

    def _go_on(self) -> None:
        keys = [(self.items[i].id, n) for i, n in self.sentences]
        self.at = next((at for at, key in enumerate(keys) if key not in self.judged), 0)

    def _hear(self, _, message: dict, buffers) -> None:
        """Act on a key, unless another sentence has been shown since it was pressed."""
        if message.get("shown") == self.page.shown:
            self.press(message.get("key"))

    def press(self, key: str) -> None:
        """Do what a key or its button stands for. Without a name nothing is judged."""
        problem = ""
        if self.sentences and (key in STEPS or (self.named and key in BUTTONS)):
            try:
                if key in VERDICTS:
                    self._judge(VERDICTS[key])
                elif key == "z":
                    taken = judgements.undo(self.name.value, self.folder)
                    for at, (i, n) in enumerate(self.sentences):
                        if taken and (self.items[i].id, n) == (taken.item, taken.sentence):
                            self.at = at
                else:
                    self._move(key)
                self._read()
            except OSError as error:
                problem = f"NOT KEPT: {error}"
        self.show(problem)

    def _judge(self, verdict: str) -> None:
        i, n = self.sentences[self.at]
        id = self.items[i].id
        note = self.note.value.strip()
        judgements.judge_sentence(self.name.value, id, n, verdict, note, self.folder)
        self.note.value = ""
        self._read()
        if self.at + 1 < len(self.sentences):
            self.at += 1
        else:
            self._go_on()  # to the first sentence that was skipped

    def _move(self, key: str) -> None:
        """Go to another sentence or, up and down, to the first sentence of another chain."""
        targets = [*range(len(self.sentences))]
        if key in ("ArrowUp", "ArrowDown"):
            targets = [at for at in targets if self.sentences[at][1] == 0]
        begin = max(at for at in targets if at <= self.at)  # of this sentence, or of its chain
        index = targets.index(begin) + STEPS[key]
        self.at = targets[min(max(index, 0), len(targets) - 1)]

    def show(self, problem: str = "") -> None:
        """Show the current sentence, and the annotator's progress or what failed."""
        left = [sum((i.id, n) not in self.judged for n in range(i.facts)) for i in self.items]
        done, total = len(self.sentences) - sum(left), len(self.sentences)
        status = f"{done} of {total} sentences, {left.count(0)} of {len(left)} chains"
        status += ": all done, thank you" * (0 < done == total)
        unnamed = (
            "" if self.named else f"type your name first: letters, digits, - and _, not {JUDGE}"
        )
        self.bar.value = done
        self.status.value = problem or unnamed or status
        for key, button in self.buttons.items():
            button.disabled = not self.named and key not in STEPS
        page = "<p>There is nothing to judge.</p>"
        if self.sentences:
            i, n = self.sentences[self.at]
            place = f"Chain {i + 1} of {len(self.items)}, sentence {n + 1} of {self.items[i].facts}"
            page = f'<p class="place">{place}</p>{page_of(self.items[i], n, self.judged)}'
        with self.page.hold_sync():
            self.page.page = page
            self.page.shown += 1


def page_of(item: Item, now: int, judged: judgements.Verdicts) -> str:
    """An item as HTML, with the sentence that is being judged highlighted; texts are escaped."""
    lines = [f'<p class="question">{escape(item.question.text)}</p>']
    for n, text in enumerate(item.sentences):
        kind = "now" if n == now else "answer" if n >= item.facts else ""
        verdict = judged.get((item.id, n)) if n < item.facts else None
        sign = SIGNS[verdict] if n < item.facts else ""
        sign = f'<span class="sign {verdict or ""}">{sign}</span>'
        lines.append(f'<div class="sentence {kind}">{sign}<span>{escape(text)}</span></div>')
    words = words_of(item.sentences[now])
    columns = ""
    for head, paragraphs in (("Retrieved", item.retrieved), ("Gold", item.gold)):
        none = ": none" * (not paragraphs)
        columns += f'<div><p class="head">{head} paragraphs{none}</p>'
        for paragraph in paragraphs:
            title, text = mark(paragraph.title, words), mark(paragraph.text, words)
            columns += f'<p class="paragraph"><b>{title}.</b> {text}</p>'
        columns += "</div>"
    return f'{"".join(lines)}<div class="columns">{columns}</div>'


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, without small words such as "the"."""
    return frozenset(re.findall(r"\w+", text.lower())) - SMALL_WORDS


def mark(text: str, words: frozenset[str]) -> str:
    """A text as HTML, with some of its words marked."""
    marked = [(escape(part), part.lower() in words) for part in re.split(r"(\w+)", text)]
    return "".join(f"<mark>{part}</mark>" if wanted else part for part, wanted in marked)


def annotate_box(p: Parameters, annotator: str = "", folder: Path = ANNOTATIONS) -> None:
    """Show the box for the chains of IRCoT's Figure 7, or of the parameters' systems, or else the
    command that makes the runs; in a batch run, show nothing.
    """
    _show_box(read_items, p, p.systems or FIGURE_7, annotator, folder)


def references_box(p: Parameters, annotator: str = "", folder: Path = ANNOTATIONS) -> None:
    """As `annotate_box`, for the references in SearChain's final contents (Table 5, AMP)."""
    _show_box(read_references, p, p.systems, annotator, folder)


def _show_box(
    read: Callable, p: Parameters, systems: Sequence[str], annotator: str, folder: Path
) -> None:
    if os.environ.get("IRCOT_BATCH"):
        return
    try:
        items = [item for item in read(p) if not systems or item.system in systems]
    except (OSError, ValueError) as error:
        display(HTML(f"<p>{escape(str(error))}</p>"))
    else:
        display(AnnotateBox(items, annotator, folder))
