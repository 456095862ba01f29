"""Widgets to explore runs question by question (09_explorer), and to ask systems a
question.
"""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from ircotlib.files import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import display
from ipywidgets import HTML, Button, Dropdown, HBox, Select, Text, VBox
from markupsafe import escape

from ircotlib.errors import UserError
from ircotlib.experiment.runs import parameters_of, read_about
from ircotlib.explore.ask import DEFAULT, ask
from ircotlib.explore.markup import answers_as_html
from ircotlib.explore.questions import compare_runs, show_question
from ircotlib.parameters import Parameters
from ircotlib.results.causes import UNSCORED, find_causes
from ircotlib.systems import all_systems

FIT = {"width": "max-content", "min_width": "300px", "max_width": "95%"}
WIDE = {"width": "95%"}
ROW = {"flex_flow": "row wrap"}
# columns that are searched
SAID = ["question", "answers", "answer", "answer_a", "answer_b"]
ERRORS = (OSError, ValueError, RuntimeError)  # an empty question, a damaged run


class Keys(AnyWidget):
    """Keeps the arrow keys of a box's lists from JupyterLab, which would move to
    another cell.
    """

    _esm = """export default { render() { window.addEventListener("keydown", (event) => {
      if (event.target.matches(".ircot-box select")) event.stopImmediatePropagation();
    }, true); } };"""


class Explorer(VBox):
    """Choose an experiment, a data set, a run of it, another run beside it, and a
    question.
    """

    def __init__(self, folders: Sequence[Path]):
        name = cache(name_experiment)
        rows = [
            (name(f.parents[2]), ", ".join(f.parts[-3:-1]), f.name, f) for f in folders
        ]
        self.runs = pd.DataFrame(rows, columns=["experiment", "data", "name", "folder"])
        names = ("Experiment", "Data set", "Run", "Beside", "Which")
        self.chosen = [Dropdown(description=name, layout=FIT) for name in names]
        self.text = Text(
            description="Text", placeholder="in question or answer, then Enter"
        )
        self.text.continuous_update = False
        self.question = Select(rows=8, layout=WIDE)
        self.page = HTML(layout=WIDE)
        choices = HBox([*self.chosen, self.text], layout=ROW)
        super().__init__([choices, self.question, self.page, Keys()])
        self.add_class("ircot-box")
        self.read = cache(read_marked)
        self.filling = False
        for widget in (*self.chosen, self.text, self.question):
            widget.observe(self.fill, "value")
        self.fill()

    def fill(self, _=None) -> None:
        """After a choice: offer the choices that remain, and show the question."""
        if self.filling:  # a choice of its own
            return
        self.filling = True
        try:
            self.page.value = self.offer()
        except ERRORS as error:
            self.question.options, self.page.value = [], escape(error)
        finally:
            self.filling = False

    def offer(self) -> str:
        """Offer what can be chosen, from the experiment down; return the question as
        HTML.
        """
        experiment, data, run, beside, which = self.chosen
        runs = self.runs
        for name, dropdown in (("experiment", experiment), ("data", data)):
            offer(dropdown, zip(runs[name].unique(), runs[name].unique(), strict=True))
            runs = runs[runs[name] == dropdown.value]
        offer(run, zip(runs["name"], runs["folder"], strict=True))
        others = self.runs[
            (self.runs["data"] == data.value) & (self.runs["folder"] != run.value)
        ]
        names = others["name"] + ", " + others["experiment"]
        offer(beside, [("nothing", None), *zip(names, others["folder"], strict=True)])
        table = self.read(run.value, beside.value)
        marks = ["all", *table["mark"].unique()] + ["wrong"] * (beside.value is None)
        offer(which, [(mark, mark) for mark in marks])
        if which.value != "all":
            is_wrong = ~table["mark"].isin(["right", UNSCORED])
            table = table[
                is_wrong if which.value == "wrong" else table["mark"] == which.value
            ]
        texts = (
            table[table.columns.intersection(SAID)].astype(str).agg("\n".join, axis=1)
        )
        table = table[
            texts.str.casefold().str.contains(self.text.value.casefold(), regex=False)
        ]
        labels = table["mark"] + ": " + table["question"]
        offer(self.question, zip(labels, table["id"], strict=True))
        if self.question.value is None:
            return "No question is left: choose another filter."
        return show_question(run.value, self.question.value, beside.value)


def offer(widget: Dropdown | Select, options: Iterable[tuple[str, object]]) -> None:
    """Give a widget its options; the same value as before stays selected if it is still
    there.
    """
    before, options = widget.value, list(options)
    widget.options = options
    values = [value for _, value in options]
    widget.index = values.index(before) if before in values else 0 if values else None


def name_experiment(folder: Path) -> str:
    """An experiment in words: its notebook, and what its parameters change."""
    about = read_about(next(folder.rglob("run.json")).parent)
    words = (
        about["experiment"],
        about["grid_of"],
        about["shown"] and f"shown {about['shown']}",
    )
    return " ".join(filter(None, (*words, parameters_of(about).command_line())))


def read_marked(run: Path, beside: Path | None) -> pd.DataFrame:
    """A run's questions, each marked with the cause of a wrong answer, or with who
    wins.
    """
    if beside:
        return compare_runs(run, beside).rename(columns={"outcome": "mark"})
    table = find_causes(run)
    return table.assign(mark=table["cause"].replace("", "right"))


def explore_box(folders: Sequence[Path]) -> None:
    """Show a widget in which to view runs question by question; in a batch run, show
    nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    if not folders:
        raise UserError("there is no run to look at: run 04_ircot first")
    display(Explorer(folders))


def ask_box(p: Parameters, text: str = "") -> None:
    """Show a widget in which to ask one or two systems a question; in a batch run, show
    nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    names = [*dict.fromkeys([*DEFAULT[::-1], *all_systems()])]
    question = Text(text, description="question", layout=WIDE)
    first = Dropdown(options=names, description="system")
    second = Dropdown(options=["", *names], value=names[1], description="beside")
    button = Button(description="Ask", button_style="primary")
    page = HTML(layout=WIDE)

    def answer(_=None) -> None:
        wanted = list(dict.fromkeys(filter(None, (first.value, second.value))))
        try:
            outcomes = {
                one.system: one.outcome for one in ask(p, question.value, wanted)
            }
            page.value = answers_as_html({name: outcomes[name] for name in wanted})
        except ERRORS as error:
            page.value = escape(error)

    button.on_click(answer)
    question.on_msg(
        lambda _, message, __: answer() if message.get("event") == "submit" else None
    )
    # the page shows only answers to this question
    for widget in (question, first, second):
        widget.observe(lambda _: page.set_trait("value", ""), "value")
    box = VBox([question, HBox([first, second, button], layout=ROW), page, Keys()])
    box.add_class("ircot-box")
    display(box)
