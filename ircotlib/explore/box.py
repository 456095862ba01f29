"""The widget that shows runs question by question (09_explorer)."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from ircotlib.files import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import display
from ipywidgets import HTML, Dropdown, HBox, Select, Text, VBox
from markupsafe import escape

from ircotlib.experiment.stored import read_about
from ircotlib.explore import questions
from ircotlib.options import describe_error
from ircotlib.results.tables import title_of

FIT = {"width": "max-content", "min_width": "300px", "max_width": "95%"}
WIDE = {"width": "95%"}
LISTS = ("Experiment", "Data set", "Run", "Beside", "Which")
SEARCHED = ["question", "answers", "answer", "answer_a", "answer_b"]


class Keys(AnyWidget):
    """Keeps the arrow keys in a box's lists: JupyterLab would move to another cell."""

    _esm = """export default { render() { addEventListener("keydown", (event) => {
      if (event.target.matches(".ircot-box select")) event.stopImmediatePropagation();
    }, true); } };"""


class Explorer(VBox):
    """Choose an experiment, a data set, a run, another one beside it, a question."""

    def __init__(self, folders: Sequence[Path]):
        self.runs = runs = questions.list_runs(folders)
        experiments = {}  # are named like runs
        for folder, about in zip(folders, runs["about"], strict=True):
            named = {"system": about["experiment"], "dataset": "", "setting": {}}
            experiments[folder.parents[2]] = about | named
        labels = questions.label_runs([*experiments.values()])
        names = dict(zip(experiments, labels, strict=True))
        runs["named"] = [names[folder.parents[2]] for folder in folders]
        runs["data"] = runs["dataset"].map(title_of) + ", " + runs["part"]
        # once a run, however many questions are shown
        self.read = cache(questions.read_marked)
        self.chosen = [Dropdown(description=name, layout=FIT) for name in LISTS]
        self.text = Text(description="Text", continuous_update=False)
        self.text.placeholder = "in question or answer, then Enter"
        self.question = Select(rows=8, layout=WIDE)
        self.page = HTML(layout=WIDE)
        choices = HBox([*self.chosen, self.text], layout={"flex_flow": "row wrap"})
        super().__init__([choices, self.question, self.page, Keys()])
        self.add_class("ircot-box")
        self.filling = False
        for widget in (*self.chosen, self.text, self.question):
            widget.observe(self.fill, "value")
        self.fill()

    def fill(self, _=None) -> None:
        """After a choice: offer the choices that remain, and show the question."""
        if self.filling:  # filling a list chooses in it, too
            return
        self.filling = True
        try:
            self.page.value = self.offer_questions(*self.offer_runs())
        except Exception as error:  # of whatever library
            self.question.options = []
            self.page.value = escape(describe_error(error))
        finally:
            self.filling = False

    def offer_runs(self) -> tuple[Path, Path | None]:
        """Offer runs, from the experiment down; return the chosen one and the other."""
        experiment, data, run, beside, _ = self.chosen
        named = self.runs["named"].unique()
        offer(experiment, named, named)
        runs = self.runs[self.runs["named"] == experiment.value]
        sets = runs["data"].unique()
        offer(data, sets, sets)
        runs = runs[runs["data"] == data.value]
        offer(run, questions.label_runs(runs["about"], sets=True), runs["folder"])
        others = self.runs[self.runs["data"] == data.value]
        labels = questions.label_runs(others["about"], sets=True)
        offer(beside, ["nothing", *labels], [None, *others["folder"]])
        return run.value, beside.value

    def offer_questions(self, run: Path, other: Path | None) -> str:
        """Offer the questions that pass both filters; return the chosen one as HTML."""
        if other:
            table = questions.compare_runs(run, other, self.read)
            marks = table["outcome"]
            filters = [*marks.unique()]
        else:
            table = self.read(run, read_about(run)["metric"])
            marks = table["mark"]
            filters = [*dict.fromkeys([*marks.unique(), "wrong"])]
        which = self.chosen[-1]
        offer(which, ["all", *filters], ["", *filters])
        passes = marks.str.startswith(which.value)  # as all that is wrong does
        searched = table[table.columns.intersection(SEARCHED)].astype(str)
        texts = searched.agg("\n".join, axis=1).str.casefold()
        passes &= texts.str.contains(self.text.value.casefold(), regex=False)
        labels = (marks + ": " + table["question"])[passes]
        offer(self.question, labels, table["id"][passes])
        if self.question.value is None:
            return "No question is left: choose another filter."
        return questions.show_question(run, self.question.value, other, self.read)


def offer(
    widget: Dropdown | Select, names: Iterable[str], values: Iterable[object]
) -> None:
    """Give a widget its options; what was selected stays so if it is still there."""
    before, values = widget.value, list(values)
    widget.options = list(zip(names, values, strict=True))
    place = values.index(before) if before in values else 0
    widget.index = place if values else None


def explore_box(folders: Iterable[Path]) -> None:
    """Show a widget to view runs, beginning with the first; in a batch run, a line."""
    if os.environ.get("IRCOT_BATCH"):
        print("(a form, in JupyterLab)")
        return
    readable = [*questions.read_all(folders)]
    nothing = HTML("there is no run to look at: run 04_ircot first")
    display(Explorer(readable) if readable else nothing)
