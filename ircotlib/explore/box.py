"""The boxes: to explore runs question by question (09_explorer), a thin widget over `questions`,
and to ask a question (00_tour, 12_baselines).
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ircotlib.files.extras import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import Markdown, display
from ipywidgets import Button, Dropdown, HBox, Output, Select, Text, VBox

from ircotlib.errors import UserError
from ircotlib.explore.questions import choose_questions, compare_runs, outcomes_of, show_question
from ircotlib.results.causes import find_causes
from ircotlib.running.run import read_about
from ircotlib.systems import RECALL
from ircotlib.text import escape

WIDE = {"width": "95%"}
KEEP_KEYS = """export default { render({ el }) { requestAnimationFrame(() => {
  el.closest(".ircot-explore").dataset.lmSuppressShortcuts = "true";
}); } };"""
# prompts wrap between words, and a column keeps its colour under the mouse
STYLE = """.ircot-explore pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.ircot-explore pre { word-break: normal; }
.ircot-explore table tr:hover { background: transparent !important; }"""


class Frame(AnyWidget):
    """The style of a box, and its keys: arrows in its lists move no cell of JupyterLab."""

    _esm, _css = KEEP_KEYS, STYLE


def explore_box(folders: Sequence[Path], start: Path | None = None) -> None:
    """Show a box in which to choose a run, or two to compare, filter their questions and view them
    one by one, beginning with the run `start`. In a batch run it shows nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    if not folders:
        raise UserError("found no run to look at, expected one: run 04_ircot first")
    display(_Box([*map(Path, folders)], Path(start or folders[0])).widget)


class _Box:
    """The widgets, and what happens when one is changed: run, second run, filters, question."""

    def __init__(self, folders: Sequence[Path], start: Path):
        self.folders = folders
        self.table = None
        self.run, self.beside = (Dropdown(description=n, layout=WIDE) for n in ("Run", "Beside"))
        self.outcome, self.kind = (Dropdown(description=name) for name in ("Which", "Kind"))
        self.text = Text(description="Text", placeholder="in question or answer, then Enter")
        self.text.continuous_update = False
        self.questions = Select(rows=8, layout=WIDE)
        self.output = Output()
        previous, following = Button(description="◀ question"), Button(description="question ▶")
        self.text.observe(self.narrow, "value")
        previous.on_click(lambda _: self.step(-1))
        following.on_click(lambda _: self.step(1))
        filters = HBox([self.outcome, self.kind, self.text], layout={"flex_flow": "row wrap"})
        buttons = HBox([previous, following], layout={"margin": "0 0 0 90px"})
        parts = [self.run, self.beside, filters, self.questions, buttons, self.output]
        self.widget = VBox([*parts, Frame()])
        self.widget.add_class("ircot-explore")
        named = [(" / ".join(folder.parts[-4:]), folder) for folder in folders]
        _offer(self.run, named, self.choose)
        if self.run.value == start:
            self.choose()
        self.run.value = start

    def choose(self, _=None) -> None:
        """After a run is chosen: offer others of its data set and part, if both answer or none."""
        chosen = self.run.value
        offered = [("nothing", None)]
        for folder in self.folders:
            alike = folder != chosen and folder.parts[-3:-1] == chosen.parts[-3:-1]
            if alike and _answers(folder) == _answers(chosen):
                offered.append((" / ".join(folder.parts[-4:]), folder))
        _offer(self.beside, offered, self.read)
        self.read()

    def read(self, _=None) -> None:
        """After the runs are chosen: read them, and offer the filters for their questions."""
        self.table = None
        run = self.run.value
        beside = self.beside.value
        try:
            self.table = compare_runs(run, beside) if beside else find_causes(run)
        except (OSError, ValueError) as error:
            _offer(self.questions, [], self.view)
            self.questions.description = ""
            return self.say(escape(str(error)))
        _offer(self.outcome, [(name, name) for name in outcomes_of(self.table)], self.narrow)
        kinds = sorted({*self.table["kind"]} - {""})
        _offer(self.kind, [("all", ""), *((name, name) for name in kinds)], self.narrow)
        self.narrow()

    def narrow(self, _=None) -> None:
        """After a filter is chosen: list the questions that pass it."""
        if self.table is None:
            return
        filters = self.outcome.value, self.kind.value, self.text.value
        rows = choose_questions(self.table, *filters).to_dict("records")
        self.questions.description = f"{len(rows)} of {len(self.table)}"
        offered = []
        for row in rows:
            verdict = row.get("outcome") or row["cause"] or "right"
            offered.append((f"{verdict}: {row['question']}", row["id"]))
        _offer(self.questions, offered, self.view)
        self.view()

    def view(self, _=None) -> None:
        """After a question is chosen: show it."""
        if self.questions.value is None:
            return self.say("No question is left: choose another filter.")
        try:
            self.say(show_question(self.run.value, self.questions.value, self.beside.value))
        except (OSError, ValueError, RuntimeError) as error:
            self.say(escape(str(error)))

    def step(self, by: int) -> None:
        """Go to an earlier or a later question."""
        if self.questions.options:
            last = len(self.questions.options) - 1
            self.questions.index = min(max(self.questions.index + by, 0), last)

    def say(self, markdown: str) -> None:
        self.output.clear_output()
        with self.output:
            display(Markdown(markdown))


def _offer(widget, options: Sequence[tuple[str, object]], on_choice: Callable) -> None:
    """Give a widget its options and select the first, without calling `on_choice` yet."""
    with suppress(ValueError, KeyError):  # it is not registered yet
        widget.unobserve(on_choice, "value")
    widget.options = options
    widget.index = 0 if options else None
    widget.observe(on_choice, "value")


def _answers(folder: Path) -> bool | None:
    """Whether a run answers questions; None if its folder does not say."""
    try:
        return read_about(folder)["metric"] != RECALL
    except (OSError, ValueError, KeyError):
        return None


def ask_box(ask: Callable[[str, str], str], systems: Sequence[str], text: str = "") -> None:
    """Show a box that passes a typed question and a system to `ask`, at Enter or a click, and shows
    the Markdown that it returns until one of them changes. In a batch run it shows nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    question = Text(text, description="question", layout={"width": "70%"})
    system = Dropdown(options=systems, description="system")
    button = Button(description="Ask", button_style="primary")
    output = Output()

    def answer(_=None) -> None:
        output.clear_output()
        with output:
            try:
                display(Markdown(ask(question.value, system.value)))
            except ValueError as error:  # an empty question
                display(Markdown(escape(str(error))))

    button.on_click(answer)
    question.on_msg(lambda _, message, __: answer() if message.get("event") == "submit" else None)
    for widget in (question, system):
        widget.observe(lambda _: output.clear_output(), "value")
    box = VBox([question, HBox([system, button]), output, Frame()])
    box.add_class("ircot-explore")
    display(box)
