"""The form in which people judge chains by keys (docs/annotate.md)."""

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
from ircotlib.annotate.factuality import FIGURE_7, Item, Verdicts, read_items
from ircotlib.annotate.judgements import ANNOTATIONS, JUDGE, Judgement, Verdict
from ircotlib.options import describe_error
from ircotlib.parameters import Parameters

# key -> the label of its button
BUTTONS = {"t": "True (t)", "f": "False (f)", "u": "Unsure (u)"}
BUTTONS |= {"ArrowLeft": "◀ sentence", "ArrowRight": "sentence ▶"}
VERDICTS: dict[str, Verdict] = {"t": "true", "f": "false", "u": "unsure"}
STEPS = {"ArrowLeft": -1, "ArrowRight": 1}
UNNAMED = f"type your name first: letters, digits, - and _, not {JUDGE}"
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
        self.items, self.folder = items, folder
        self.sentences = [(item, n) for item in items for n in range(item.facts)]
        self.places = [(item.id, n) for item, n in self.sentences]
        self.name = Text(annotator, description="Your name", continuous_update=False)
        self.name.placeholder = "ada, then Enter"
        self.status, self.page = Label(), Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        for key, button in self.buttons.items():
            button.on_click(lambda _, key=key: self.attempt(self.press, key))
        self.page.on_msg(lambda _, key, __: self.attempt(self.press, key))
        self.name.observe(lambda _: self.attempt(self.resume), "value")
        self.name.on_msg(lambda *_: self.attempt(self.resume))  # Enter, the same name
        buttons = HBox(list(self.buttons.values()))
        super().__init__([HBox([self.name, self.status]), buttons, self.page])
        self.add_class("ircot-annotate")
        self.resume()

    def attempt(self, act: Callable, *given: str) -> None:
        """What a click or a key does; what is wrong stands in the form."""
        try:
            act(*given)
        except Exception as error:  # such as a full disk
            self.status.value = f"NOT KEPT in {self.folder}: {describe_error(error)}"
        self.page.send("heard")

    def resume(self) -> None:
        """Go to the first sentence that this annotator has not judged."""
        self.page.named = judgements.is_person(self.name.value)
        judged = self.read()
        left = (at for at, place in enumerate(self.places) if place not in judged)
        self.at = next(left, 0)  # the place of the sentence that is shown
        self.show()
        self.page.send("named")  # the focus leaves the name as soon as it is accepted

    def read(self) -> Verdicts:
        """What the annotator has judged; nothing without the name of a person."""
        if not self.page.named:
            return {}
        return judgements.read_verdicts(self.name.value, self.folder)

    def press(self, key: str) -> None:
        """Move, or write a verdict in the annotator's name."""
        if key in STEPS:
            self.at = max(0, min(self.at + STEPS[key], len(self.sentences) - 1))
        elif key in VERDICTS and self.page.named and self.sentences:
            judgement = Judgement(self.name.value, *self.places[self.at], VERDICTS[key])
            judgements.write_judgement(judgement, self.folder)
            self.at += 1
        if self.at < len(self.sentences):
            self.show()
        else:
            self.resume()  # at the first that was skipped

    def show(self) -> None:
        """Show the sentence, or what is wrong with the name."""
        judged = self.read()
        done = len(judged.keys() & {*self.places})
        self.status.value = f"{done} of {len(self.places)} sentences"
        if 0 < done == len(self.places):
            self.status.value += ": all done, thank you"
        if not self.page.named:
            found = f"✗ found the name {self.name.value!r}; " if self.name.value else ""
            self.status.value = found + UNNAMED
        if not self.sentences:
            self.page.page = "<p>There is nothing to judge.</p>"
            return
        item, now = self.sentences[self.at]
        number = f"{self.items.index(item) + 1} of {len(self.items)}"
        page = PAGES.get_template("box.html")
        self.page.page = page.render(item=item, number=number, now=now, judged=judged)


def annotate_box(p: Parameters) -> None:
    """Show the form for the chains of IRCoT's Figure 7, or of the parameters' systems;
    in a batch run, a line.
    """
    if os.environ.get("IRCOT_BATCH"):
        print("(a form, in JupyterLab)")
        return
    systems = p.systems or FIGURE_7
    try:
        items = [item for item in read_items(p) if item.system in systems]
        display(AnnotateBox(items))
    except Exception as error:  # such as a damaged run
        display(HTML(escape(describe_error(error))))
