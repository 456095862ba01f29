"""Widgets: runs question by question (09_explorer), and a question asked of systems."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from ircotlib.files import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import display
from ipywidgets import HTML, Button, Dropdown, HBox, Select, Text, VBox
from markupsafe import escape

from ircotlib.experiment.stored import read_about
from ircotlib.explore import questions
from ircotlib.explore.ask import DEFAULT, ask
from ircotlib.explore.markup import answers_as_html
from ircotlib.options import describe_error
from ircotlib.parameters import Parameters
from ircotlib.results.causes import UNSCORED, find_causes
from ircotlib.results.tables import title_of
from ircotlib.systems import RECALL, all_systems

FIT = {"width": "max-content", "min_width": "300px", "max_width": "95%"}
WIDE = {"width": "95%"}
ROW = {"flex_flow": "row wrap"}
LISTS = ("Experiment", "Data set", "Run", "Beside", "Which")
SAMPLED = ("data_dir", "further", "seed", "dev", "test")  # decide what is asked
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
        labels = questions.label_runs(experiments.values())
        names = dict(zip(experiments, labels, strict=True))
        runs["named"] = [names[folder.parents[2]] for folder in folders]
        runs["data"] = runs["dataset"].map(title_of) + ", " + runs["part"]
        sampled = [str(list(map(a["parameters"].get, SAMPLED))) for a in runs["about"]]
        # equal for runs on equal questions, with measures that can be compared
        runs["asked"] = runs["data"] + sampled + (runs["metric"] == RECALL).map(str)
        self.find = cache(find_causes)  # once a run, however many questions are shown
        self.chosen = [Dropdown(description=name, layout=FIT) for name in LISTS]
        self.text = Text(description="Text", continuous_update=False)
        self.text.placeholder = "in question or answer, then Enter"
        self.question = Select(rows=8, layout=WIDE)
        self.page = HTML(layout=WIDE)
        choices = HBox([*self.chosen, self.text], layout=ROW)
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
        runs = self.runs
        for column, dropdown in (("named", experiment), ("data", data)):
            names = runs[column].unique()
            offer(dropdown, zip(names, names, strict=True))
            runs = runs[runs[column] == dropdown.value]
        names = questions.label_runs(runs["about"], sets=True)
        offer(run, zip(names, runs["folder"], strict=True))
        [asked] = runs["asked"][runs["folder"] == run.value]
        alike = self.runs[self.runs["asked"] == asked]
        names = questions.label_runs(alike["about"], sets=True)
        others = dict(zip(alike["folder"], names, strict=True))
        del others[run.value]
        offer(beside, [("nothing", None), *zip(others.values(), others)])
        return run.value, beside.value

    def offer_questions(self, run: Path, other: Path | None) -> str:
        """Offer the questions that pass both filters; return the chosen one as HTML."""
        if other:
            table = questions.compare_runs(run, other, self.find)
            marks = table["outcome"]
            filters = ["all", *marks.unique()]
        else:
            table = self.find(run, read_about(run)["metric"])
            marks = table["cause"].replace("", "right")
            filters = ["all", *marks.unique(), "wrong"]
        which = self.chosen[-1]
        offer(which, zip(filters, filters, strict=True))
        passes = (marks == which.value) | (which.value == "all")
        if which.value == "wrong":
            passes = ~marks.isin(["right", UNSCORED])
        searched = table[table.columns.intersection(SEARCHED)].astype(str)
        texts = searched.agg("\n".join, axis=1).str.casefold()
        passes &= texts.str.contains(self.text.value.casefold(), regex=False)
        labels = (marks + ": " + table["question"])[passes]
        offer(self.question, zip(labels, table["id"][passes], strict=True))
        if self.question.value is None:
            return "No question is left: choose another filter."
        return questions.show_question(run, self.question.value, other, self.find)


def offer(widget: Dropdown | Select, options: Iterable[tuple[str, object]]) -> None:
    """Give a widget its options; what was selected stays so if it is still there."""
    before = widget.value
    widget.options = list(options)
    places = {value: place for place, (_, value) in enumerate(widget.options)}
    widget.index = places.get(before, 0 if places else None)


def explore_box(folders: Iterable[Path]) -> None:
    """Show a widget to view runs, beginning with the first; in a batch run, a line."""
    if os.environ.get("IRCOT_BATCH"):
        print("(a form, in JupyterLab)")
        return
    readable = [*questions.read_all(folders)]
    nothing = HTML("there is no run to look at: run 04_ircot first")
    display(Explorer(readable) if readable else nothing)


def ask_box(p: Parameters, text: str = "") -> None:
    """Show a widget to ask one or two systems a question; in a batch run, a line."""
    if os.environ.get("IRCOT_BATCH"):
        print("(a form, in JupyterLab)")
        return
    names = list(dict.fromkeys([*DEFAULT[::-1], *all_systems()]))
    question = Text(text, description="question", layout=WIDE)
    first = Dropdown(options=names, description="system")
    second = Dropdown(options=["", *names], value=names[1], description="beside")
    button = Button(description="Ask", button_style="primary")
    page = HTML(layout=WIDE)

    def answer(_=None) -> None:
        wanted = list(dict.fromkeys(filter(None, (first.value, second.value))))
        page.value = "asking …"
        button.disabled = True
        try:
            asked = {each.system: each for each in ask(p, question.value, wanted)}
            page.value = answers_as_html({name: asked[name].outcome for name in wanted})
        except Exception as error:  # of whatever library
            shown: BaseException = error
            while shown.__cause__ and not isinstance(shown, ValueError | OSError):
                shown = shown.__cause__  # what made a program fail
            page.value = escape(describe_error(shown))
        finally:
            button.disabled = False

    def submit(_widget, message, _buffers) -> None:
        if message.get("event") == "submit":  # Enter
            answer()

    button.on_click(answer)
    question.on_msg(submit)
    for widget in (question, first, second):  # the page answers this question only
        widget.observe(lambda _: page.set_trait("value", ""), "value")
    box = VBox([question, HBox([first, second, button], layout=ROW), page, Keys()])
    box.add_class("ircot-box")
    display(box)
