"""The boxes: to explore runs question by question (09_explorer), a thin widget over `questions`,
and to ask one or two systems a question (00_tour, 11_searchain, 12_baselines).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from operator import itemgetter
from pathlib import Path

from ircotlib.files.extras import need

need("anywidget", "lab")
from anywidget import AnyWidget
from IPython.display import HTML, display
from ipywidgets import Button, Dropdown, HBox, Output, Select, Text, VBox

from ircotlib.datasets import all_datasets
from ircotlib.errors import UserError
from ircotlib.explore import questions
from ircotlib.explore.questions import PLACE
from ircotlib.files.notebooks import all_notebooks, read_notebook
from ircotlib.results.causes import find_causes
from ircotlib.systems import RECALL
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
BESIDE = {"experiment": "Experiment", "system": "Beside", "variant": "Setting"}


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
    groups = questions.group_runs(folders)
    every = [folder for group in groups.values() for folder in group]
    starts = [folder for folder in every if start and folder == Path(start)]
    starts += [folder for folder in every if folder.name.split(" ")[0] == "IRCoT-QA"]
    display(_Box(groups, (starts or every)[0]).widget)


class _Box:
    """The widgets, and what happens when one is changed: run, second run, filters, question.
    `groups`: the folders of runs by their place. Of a group, run.json is read once it is chosen.
    """

    def __init__(self, groups: Mapping[tuple[str, ...], Sequence[Path]], start: Path):
        self.places = [dict(zip(PLACE, place, strict=True)) for place in groups]
        self.describe = cache(lambda *place: questions.describe_runs(place, groups[place]))
        of_start = self.describe(*next(place for place in groups if start in groups[place]))
        self.run = next(run for run in of_start if run["folder"] == start)
        self.second, self.table = None, None
        self.titles = {dataset.name: dataset.title for dataset in all_datasets().values()}
        self.titles |= {name: heading_of(name) for name in all_notebooks()}
        fit = {"width": "max-content", "min_width": "300px", "max_width": "95%"}
        self.choices = {n: Dropdown(description=t, layout=fit) for n, t in CHOICES.items()}
        self.on_choice = {name: partial(self.choose, name) for name in CHOICES}
        self.beside = {n: Dropdown(description=t, layout=fit) for n, t in BESIDE.items()}
        self.on_beside = {name: partial(self.choose_beside, name) for name in BESIDE}
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
        beside = HBox([self.beside[n] for n in ("system", "variant", "experiment")], layout=ROW)
        filters = HBox([self.outcome, self.kind, self.text], layout=ROW)
        buttons = HBox([previous, following], layout={"margin": "0 0 0 90px"})
        parts = [choices, beside, filters, self.questions, buttons, self.output]
        self.widget = VBox([*parts, Frame()])
        self.widget.add_class("ircot-explore")
        self.choose()

    def choose(self, chosen: str = "", _=None) -> None:
        """After a choice: offer what it leaves for those below it."""
        wanted = dict(self.run)
        if chosen:
            wanted[chosen] = self.choices[chosen].value
        left = self.places
        for name, dropdown in self.choices.items():
            if name == "system":  # the path says no more
                left = self.describe(*left[0].values())
            left = self.narrow_runs(left, name, dropdown, self.on_choice, wanted)
        self.run = left[0]
        self.choose_beside()

    def choose_beside(self, chosen: str = "", _=None) -> None:
        """Offer what the run may be compared with: runs of the same profile and questions, if both
        answer or none does. At first those of its experiment are offered, and none is chosen.
        """
        wanted = {"experiment": self.run["experiment"], "system": NOTHING, "variant": ""}
        if chosen:
            wanted = {name: dropdown.value for name, dropdown in self.beside.items()}
        alike = itemgetter("profile", "dataset", "part")
        left = [place for place in self.places if alike(place) == alike(self.run)]
        for name, dropdown in self.beside.items():
            if name == "system":
                runs = [run for run in self.describe(*left[0].values()) if run is not self.run]
                answers = self.run["metric"] != RECALL
                left = [run for run in runs if (run["metric"] != RECALL) == answers]
                left = [{"system": NOTHING, "variant": "", "folder": None}, *left]
            left = self.narrow_runs(left, name, dropdown, self.on_beside, wanted)
            dropdown.layout.display = None if len(dropdown.options) > 1 else "none"
        self.second = left[0]["folder"]
        self.read()

    def narrow_runs(
        self, runs: Sequence[Mapping], name: str, dropdown: Dropdown, on: Mapping, wanted: Mapping
    ) -> Sequence[Mapping]:
        """Offer the values of runs in a column; return the runs with the one that is selected."""
        values = dict.fromkeys(run[name] for run in runs)
        named = [(self.titles.get(value, value), value) for value in values]
        _offer(dropdown, named, on[name], wanted[name])
        return [run for run in runs if run[name] == dropdown.value]

    def read(self, _=None) -> None:
        """After the runs are chosen: read them, and offer the filters for their questions."""
        self.table = None
        run, beside = self.run["folder"], self.second
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
        asked = self.run["folder"], self.questions.value, self.second
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
