"""The form in which people judge chains of thought and references, by keys
(docs/annotate.md).
"""

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
from ircotlib.annotate.judgements import ANNOTATIONS, JUDGE, Judgement
from ircotlib.parameters import Parameters

# key -> the label of its button
BUTTONS = {"t": "True (t)", "f": "False (f)", "u": "Unsure (u)", "z": "Undo (z)"}
BUTTONS |= {"ArrowLeft": "◀ sentence", "ArrowRight": "sentence ▶"}
VERDICTS = {"t": "true", "f": "false", "u": "unsure"}
SIGNS = {"true": "✓", "false": "✗", "unsure": "?"}
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
    """The form. It keeps only the annotator's position; all judgements are read from
    the file.
    """

    def __init__(
        self, items: Sequence[Item], annotator: str = "", folder: Path = ANNOTATIONS
    ):
        self.items, self.folder, self.at = items, folder, 0
        self.sentences = [(item, n) for item in items for n in range(item.facts)]
        self.name = Text(
            annotator, description="Your name", placeholder="ada, then Enter"
        )
        self.name.continuous_update = False
        self.status, self.page = Label(), Page()
        self.buttons = {key: Button(description=text) for key, text in BUTTONS.items()}
        for key, button in self.buttons.items():
            button.on_click(lambda _, key=key: self.press(key))
        self.page.on_msg(lambda _, key, __: self.press(key))
        self.name.observe(lambda _: self.resume(), "value")
        # Enter, the same name once more
        self.name.on_msg(lambda _, message, __: self.resume())
        rows = HBox([self.name, self.status]), HBox([*self.buttons.values()]), self.page
        super().__init__(rows)
        self.add_class("ircot-annotate")
        self.resume()

    def resume(self) -> None:
        """Go to the first sentence that this annotator has not judged."""
        judged = self.read()
        left = (
            at
            for at, (item, n) in enumerate(self.sentences)
            if (item.id, n) not in judged
        )
        self.at = next(left, 0)
        self.show()
        self.page.send("named")  # the focus leaves the name as soon as it is accepted

    def read(self) -> Verdicts:
        """What the annotator has judged; nothing without the name of a person."""
        name = self.name.value
        return (
            judgements.read_verdicts(name, self.folder)
            if judgements.is_person(name)
            else {}
        )

    def press(self, key: str) -> None:
        who = self.name.value
        try:
            if key in STEPS:
                self.at = max(0, min(self.at + STEPS[key], len(self.sentences) - 1))
            elif key in VERDICTS and self.sentences and judgements.is_person(who):
                item, n = self.sentences[self.at]
                judgements.write_judgement(
                    Judgement(who, item.id, n, VERDICTS[key]), self.folder
                )
                self.at += 1
            elif key == "z" and judgements.is_person(who):
                taken = judgements.undo(who, self.folder)
                places = [(item.id, n) for item, n in self.sentences]
                self.at = places.index(taken) if taken in places else self.at
            if self.at < len(self.sentences):
                self.show()
            else:
                self.resume()  # at the first that was skipped
        except OSError as error:
            self.status.value = f"NOT KEPT: {error}"
        self.page.send("heard")

    def show(self) -> None:
        judged, count = self.read(), len(self.sentences)
        done = sum((item.id, n) in judged for item, n in self.sentences)
        status = f"{done} of {count} sentences{': all done, thank you' * (0 < done == count)}"
        self.page.named = named = judgements.is_person(self.name.value)
        found = f"found the name {self.name.value!r}; " if self.name.value else ""
        self.status.value = status if named else f"{found}{UNNAMED}"
        for key, button in self.buttons.items():
            button.disabled = not named and key not in STEPS
        if not self.sentences:
            self.page.page = "<p>There is nothing to judge.</p>"
            return
        item, now = self.sentences[self.at]
        number = self.items.index(item) + 1
        place = (
            f"Text {number} of {len(self.items)}, sentence {now + 1} of {item.facts}"
        )
        about = {
            "item": item,
            "now": now,
            "judged": judged,
            "place": place,
            "signs": SIGNS,
        }
        self.page.page = PAGES.get_template("box.html").render(about)


def annotate_box(
    p: Parameters,
    annotator: str = "",
    read: Callable = read_items,
    folder: Path = ANNOTATIONS,
) -> None:
    """Show the form for the chains of IRCoT's Figure 7, or of the parameters' systems;
    in a batch run, nothing. `read`: `read_references` for the references of SearChain
    (Table 5, AMP).
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    systems = p.systems or (FIGURE_7 if read is read_items else ())
    try:
        items = [item for item in read(p) if not systems or item.system in systems]
        display(AnnotateBox(items, annotator, folder))
    except (OSError, ValueError) as error:
        display(HTML(escape(error)))
