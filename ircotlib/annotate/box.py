"""The form in which people judge chains and references by keys (docs/annotate.md)."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ircotlib.files import need

need("anywidget", "lab")
import anywidget
import traitlets
from IPython.display import display
from ipywidgets import HTML, Button, HBox, Label, Text, VBox
from jinja2 import Environment, FileSystemLoader
from markupsafe import escape

from ircotlib.annotate import judgements
from ircotlib.annotate.factuality import FIGURE_7, Item, read_items
from ircotlib.annotate.judgements import ANNOTATIONS, Judgement
from ircotlib.parameters import Parameters

# key -> the label of its button
BUTTONS = {
    "t": "True (t)",
    "f": "False (f)",
    "u": "Unsure (u)",
    "z": "Undo (z)",
    "ArrowLeft": "◀ sentence",
    "ArrowRight": "sentence ▶",
}
VERDICTS = {"t": "true", "f": "false", "u": "unsure"}
STEPS = {"ArrowLeft": -1, "ArrowRight": 1}
# everything given to a template is text, and is escaped there
PAGES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)


class Page(anywidget.AnyWidget):
    """The text to be judged, as HTML; it listens for keys, and sends them."""

    _esm, _css = (Path(__file__).with_suffix(suffix) for suffix in (".js", ".css"))
    page = traitlets.Unicode().tag(sync=True)
    listens = traitlets.List(list(BUTTONS)).tag(sync=True)
    named = traitlets.Bool().tag(sync=True)  # whether a person's name has been typed


class AnnotateBox(VBox):
    """The form. It only keeps the annotator's place: judgements are read from files."""

    def __init__(
        self, items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS
    ):
        self.items = items
        self.folder = folder
        self.sentences = [(item, n) for item in items for n in range(item.facts)]
        self.places = [(item.id, n) for item, n in self.sentences]
        self.name = Text(annotator, description="Your name", continuous_update=False)
        self.name.placeholder = "ada, then Enter"
        self.status = Label()
        self.page = Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        for key, button in self.buttons.items():
            button.on_click(lambda _, key=key: self.press(key))
        self.page.on_msg(lambda _, key, __: self.press(key))
        self.name.observe(lambda _: self.resume(), "value")
        self.name.on_msg(lambda *_: self.resume())  # Enter, the same name once more
        buttons = HBox(list(self.buttons.values()))
        super().__init__([HBox([self.name, self.status]), buttons, self.page])
        self.add_class("ircot-annotate")
        self.resume()

    def resume(self) -> None:
        """Go to the first sentence that this annotator has not judged."""
        judged = judgements.read_verdicts(self.name.value, self.folder)
        left = (at for at, place in enumerate(self.places) if place not in judged)
        self.at = next(left, 0)  # the place of the sentence that is shown
        self.show()
        self.page.send("named")  # the focus leaves the name as soon as it is accepted

    def press(self, key: str) -> None:
        """Go to another sentence, or write or take back a verdict."""
        name = self.name.value
        try:
            if key in STEPS:
                self.at = max(0, min(self.at + STEPS[key], len(self.sentences) - 1))
            elif key in VERDICTS and self.sentences and judgements.is_person(name):
                judgement = Judgement(name, *self.places[self.at], VERDICTS[key])
                judgements.write_judgement(judgement, self.folder)
                self.at += 1
            elif key == "z" and judgements.is_person(name):
                undone = judgements.undo(name, self.folder)
                if undone in self.places:
                    self.at = self.places.index(undone)
            if self.at < len(self.sentences):
                self.show()
            else:
                self.resume()  # at the first that was skipped
        except OSError as error:
            self.status.value = f"NOT KEPT: {error}"
        self.page.send("heard")

    def show(self) -> None:
        """Show the sentence, or what is wrong with the name."""
        name = self.name.value
        judged = judgements.read_verdicts(name, self.folder)
        done = len(judged.keys() & {*self.places})
        self.page.named = judgements.is_person(name)
        if not self.page.named:
            self.status.value = (
                f"type your name first: letters, digits, - and _; found {name!r}"
            )
        elif 0 < done == len(self.places):
            self.status.value = f"{done} of {done} sentences: all done, thank you"
        else:
            self.status.value = f"{done} of {len(self.places)} sentences"
        if not self.sentences:
            self.page.page = "<p>There is nothing to judge.</p>"
            return
        item, now = self.sentences[self.at]
        number = f"{self.items.index(item) + 1} of {len(self.items)}"
        page = PAGES.get_template("box.html")
        self.page.page = page.render(item=item, number=number, now=now, judged=judged)


def annotate_box(
    p: Parameters,
    annotator: str = "",
    read: Callable[[Parameters], list[Item]] = read_items,
    folder: Path = ANNOTATIONS,
) -> None:
    """Show the form for the chains of IRCoT's Figure 7, or of the parameters' systems;
    in a batch run, nothing. `read`: `read_references` for SearChain (Table 5, AMP).
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    systems = p.systems or (FIGURE_7 if read is read_items else ())
    try:
        items = [item for item in read(p) if not systems or item.system in systems]
        display(AnnotateBox(items, annotator, folder))
    except (OSError, ValueError) as error:
        display(HTML(escape(error)))
