"""The boxes: to explore runs question by question (09_explorer), a thin widget over `questions`,
and to ask one or two systems a question (00_tour, 11_searchain, 12_baselines).
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from ircotlib.files.extras import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import HTML, display
from ipywidgets import Button, Dropdown, HBox, Output, Select, Text, VBox

from ircotlib.datasets import all_datasets
from ircotlib.errors import UserError
from ircotlib.explore import questions
from ircotlib.files.notebooks import all_notebooks, read_notebook
from ircotlib.results.causes import find_causes
from ircotlib.systems import RECALL, all_systems
from ircotlib.text import escape

NOTHING = "nothing"  # beside
WIDE = {"width": "95%"}
ROW = {"flex_flow": "row wrap"}
# JupyterLab takes keys from the document before a list gets them, so the window keeps them from it
KEEP_KEYS = """export default { render() { window.addEventListener("keydown", (event) => {
  if (event.target.matches(".ircot-explore select")) event.stopImmediatePropagation();
}, true); } };"""
# the choices of a run, each among what those before it leave, and what their lists are called
CHOICES = {"profile": "Profile", "experiment": "Experiment", "dataset": "Data set"}
CHOICES |= {"part": "Questions", "system": "System", "variant": "Setting"}


class Frame(AnyWidget):
    """The keys of a box: arrows in its lists move no cell of JupyterLab."""

    _esm = KEEP_KEYS


def explore_box(folders: Sequence[Path], start: Path | None = None) -> None:
    """Show a box in which to choose a run, or two to compare, filter their questions and view them
    one by one, beginning with the run `start` or, if it is None, with one of IRCoT QA. In a batch
    run it shows nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    if not folders:
        raise UserError("found no run to look at, expected one: run 04_ircot first")
    runs = describe_runs(folders)
    starts = [run for run in runs if start and run["folder"] == Path(start)]
    starts += [run for run in runs if run["system"] == "IRCoT QA"]
    display(_Box(runs, (starts or runs)[0]).widget)


def describe_runs(folders: Sequence[Path]) -> list[dict]:
    """The rows of runs (`describe_run`), test questions first, each with a `variant`: its setting
    and model, and what else distinguishes it. A run that cannot be read has the name of its folder.
    """
    runs = []
    for folder in map(Path, folders):
        try:
            runs.append(questions.describe_run(folder))
        except (OSError, ValueError, KeyError):
            runs.append(dict.fromkeys(CHOICES, "damaged") | {"system": folder.name})
            runs[-1] |= {"folder": folder, "setting": "", "model": "", "metric": ""}
    order = {name: number for number, name in enumerate(all_systems())}
    runs.sort(key=lambda run: (run["part"] != "test", order.get(run["system"], len(order))))
    for run in runs:
        run["variant"] = ", ".join(filter(None, (run["setting"], run["model"])))
    count = Counter(tuple(run[name] for name in CHOICES) for run in runs)
    for run in runs:
        if count[tuple(run[name] for name in CHOICES)] > 1:  # of other parameters
            run["variant"] += f", {run['folder'].parts[-4].rpartition('-')[2]}"
    return runs


class _Box:
    """The widgets, and what happens when one is changed: run, second run, filters, question."""

    def __init__(self, runs: Sequence[Mapping], start: Mapping):
        self.runs, self.run, self.table = runs, start, None
        self.titles = {dataset.name: dataset.title for dataset in all_datasets().values()}
        self.titles |= {name: heading_of(name) for name in all_notebooks()}
        fit = {"width": "max-content", "min_width": "300px", "max_width": "95%"}
        self.choices = {n: Dropdown(description=t, layout=fit) for n, t in CHOICES.items()}
        self.on_choice = {name: partial(self.choose, name) for name in CHOICES}
        self.beside = Dropdown(description="Beside", layout=WIDE)
        self.outcome, self.kind = (Dropdown(description=name) for name in ("Which", "Kind"))
        self.text = Text(description="Text", placeholder="in question or answer, then Enter")
        self.text.continuous_update = False
        self.questions = Select(rows=8, layout=WIDE)
        self.output = Output()
        previous, following = Button(description="◀ question"), Button(description="question ▶")
        self.text.observe(self.narrow, "value")
        previous.on_click(lambda _: self.step(-1))
        following.on_click(lambda _: self.step(1))
        choices = HBox([*self.choices.values()], layout=ROW)
        filters = HBox([self.outcome, self.kind, self.text], layout=ROW)
        buttons = HBox([previous, following], layout={"margin": "0 0 0 90px"})
        parts = [choices, self.beside, filters, self.questions, buttons, self.output]
        self.widget = VBox([*parts, Frame()])
        self.widget.add_class("ircot-explore")
        self.choose()

    def choose(self, chosen: str = "", _=None) -> None:
        """After a choice: offer what it leaves for those below it, and what its run may be compared
        with: runs of the same profile and questions, if both answer or none does.
        """
        wanted = dict(self.run)
        if chosen:
            wanted[chosen] = self.choices[chosen].value
        left = self.runs
        for name, dropdown in self.choices.items():
            values = dict.fromkeys(run[name] for run in left)
            named = [(self.titles.get(value, value), value) for value in values]
            _offer(dropdown, named, self.on_choice[name], wanted[name])
            left = [run for run in left if run[name] == dropdown.value]
        self.run = left[0]
        offered = []
        for run in self.runs:
            alike = all(run[name] == self.run[name] for name in ("profile", "dataset", "part"))
            answers = (run["metric"] == RECALL) == (self.run["metric"] == RECALL)
            if alike and answers and run is not self.run:
                apart = run["experiment"] != self.run["experiment"]
                named = [run["system"], run["variant"], *([run["experiment"]] if apart else [])]
                offered.append((apart, ", ".join(named), run["folder"]))
        offered.sort(key=lambda offer: offer[0])  # those of its experiment first
        _offer(self.beside, [(NOTHING, None), *(offer[1:] for offer in offered)], self.read)
        self.read()

    def read(self, _=None) -> None:
        """After the runs are chosen: read them, and offer the filters for their questions."""
        self.table = None
        run, beside = self.run["folder"], self.beside.value
        try:
            self.table = questions.compare_runs(run, beside) if beside else find_causes(run)
        except (OSError, ValueError) as error:
            _offer(self.questions, [], self.view)
            self.questions.description = ""
            message = escape(str(error))
            return show(self.output, lambda: message)
        _offer(
            self.outcome, [(name, name) for name in questions.outcomes_of(self.table)], self.narrow
        )
        kinds = sorted({*self.table["kind"]} - {""})
        _offer(self.kind, [("all", ""), *((name, name) for name in kinds)], self.narrow)
        self.narrow()

    def narrow(self, _=None) -> None:
        """After a filter is chosen: list the questions that pass it."""
        if self.table is None:
            return
        filters = self.outcome.value, self.kind.value, self.text.value
        rows = questions.choose_questions(self.table, *filters).to_dict("records")
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
            return show(self.output, lambda: "No question is left: choose another filter.")
        asked = self.run["folder"], self.questions.value, self.beside.value
        show(self.output, lambda: questions.show_question(*asked))

    def step(self, by: int) -> None:
        """Go to an earlier or a later question."""
        if self.questions.options:
            last = len(self.questions.options) - 1
            self.questions.index = min(max(self.questions.index + by, 0), last)


def _offer(
    widget, options: Sequence[tuple[str, object]], on_choice: Callable, wanted: object = None
) -> None:
    """Give a widget its options and select the one that is wanted, or the first, without calling
    `on_choice` yet.
    """
    with suppress(ValueError, KeyError):  # it is not registered yet
        widget.unobserve(on_choice, "value")
    widget.options = options
    values = [value for _, value in options]
    widget.index = values.index(wanted) if wanted in values else 0 if options else None
    widget.observe(on_choice, "value")


def heading_of(notebook: str) -> str:
    """A notebook's title, which begins with its number."""
    return "".join(read_notebook(notebook)["cells"][0]["source"]).splitlines()[0].lstrip("# ")


def ask_box(
    ask: Callable[[str, Sequence[str]], str], systems: Sequence[str], text: str = ""
) -> None:
    """Show a box that passes a typed question and one or two systems, at first the first two, to
    `ask`, at Enter or a click, and shows the HTML that it returns until one of them changes. In a
    batch run it shows nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    question = Text(text, description="question", layout={"width": "95%"})
    first = Dropdown(options=systems, description="system")
    offered = [(NOTHING, ""), *((name, name) for name in systems)]
    second = Dropdown(options=offered, value="".join(systems[1:2]), description="beside")
    button = Button(description="Ask", button_style="primary")
    output = Output()

    def answer(_=None) -> None:
        names = dict.fromkeys(filter(None, (first.value, second.value)))
        show(output, lambda: ask(question.value, [*names]))

    button.on_click(answer)
    question.on_msg(lambda _, message, __: answer() if message.get("event") == "submit" else None)
    for widget in (question, first, second):
        widget.observe(lambda _: output.clear_output(), "value")
    row = HBox([first, second, button], layout={"flex_flow": "row wrap"})
    box = VBox([question, row, output, Frame()])
    box.add_class("ircot-explore")
    display(box)


def show(output: Output, write: Callable[[], str]) -> None:
    """Show the HTML that a function returns, or its error."""
    output.clear_output()
    with output:
        try:
            display(HTML(write()))
        except (OSError, ValueError, RuntimeError) as error:  # an empty question, a damaged run
            display(HTML(escape(str(error))))
