"""What each notebook will run; and its checks before any of them starts: systems against data sets,
grids against dev questions, and the files of prompts.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace
from typing import NamedTuple

from ircotlib.command.notebooks import about_notebook
from ircotlib.comparing.checks import LANGUAGE, check_model, check_places, style_of
from ircotlib.comparing.costs import count_runs
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import UserError
from ircotlib.explore.ask import find_systems
from ircotlib.files.paths import ROOT
from ircotlib.parameters import MAIN, OOD, SCALE, SIMULATED, Parameters
from ircotlib.results.head_to_head import panels_of, systems_of
from ircotlib.results.measures import KNEW
from ircotlib.results.reported import read_reported
from ircotlib.results.tables import ALPHAS, DIRECT, WHOLE
from ircotlib.running.bench import Bench, change_model
from ircotlib.running.laboratory import is_laboratory
from ircotlib.systems import ANSWER, IRCOT, SEARCHAIN, System, all_systems, choose_systems

UNOPENED = (), (), None, None, SimpleNamespace(count_tokens=len)  # dev to model of a bench
ASKED = 6  # times a question of 14_searchain_tables: itself and its parts, in several forms


class Plan(NamedTuple):
    """Systems that a notebook runs on benches, which are not opened. `sets`: how often each test
    question is asked: with so many sets of demonstrations. `settings`: those of each system, where
    it is not tuned; None: its grid, from which one is chosen. `asked`: only so many test questions.
    """

    benches: list[Bench]
    systems: list[System]
    sets: int = 1
    settings: list[dict] | None = None
    asked: int | None = None

    def count_runs(self, bench: Bench, system: System) -> tuple[int, int]:
        """How many runs on dev and on test questions a system has on a bench."""
        if self.settings is None:
            return count_runs(bench, system, self.sets)
        return 0, len(self.settings) * self.sets


def why_left_out(notebook: str, needs: Sequence[str], p: Parameters) -> str:
    """Why a notebook has nothing to run with these parameters; "" if it has."""
    if "own data" in needs and p.model == SIMULATED:
        return "the simulated reader knows no data of one's own"
    if notebook == "15_abilities" and not is_laboratory(p.data_dir):
        return "the simulated reader knows only a laboratory, and data_dir is none"
    if notebook in ("02_index", "06_scale", "07_ood") and {*p.datasets} == {"iirc"}:
        return "it is not about iirc, and no other data set is chosen"
    return ""


def check_notebooks(p: Parameters, notebooks: Sequence[str]) -> list[str]:
    """The notebooks that have something to run, after all checks of what they need; stderr says
    which have not. Raises UserError or Unavailable.
    """
    reasons = {name: why_left_out(name, about_notebook(name).needs, p) for name in notebooks}
    chosen = [name for name in notebooks if not reasons[name]]
    needs = {need for notebook in chosen for need in about_notebook(notebook).needs}
    needs |= {"model"} if "agent" in needs and not p.agent else set()
    check_places(p, needs)
    check_plans(p, chosen)
    for name in filter(reasons.get, reasons):
        print(f"{name} is left out: {reasons[name]}", file=sys.stderr, flush=True)
    return chosen


def check_plans(p: Parameters, notebooks: Sequence[str]) -> None:
    """Raise UserError if a system that a notebook compares cannot be tuned, or lacks its prompts,
    or if a notebook lacks questions, or has only systems that its data sets do not suit.
    """
    for notebook in notebooks:
        for plan in plan_runs(p, notebook):
            tuned = plan.settings is None
            if tuned:
                _check_datasets(notebook, plan.benches, plan.systems)
            for bench, system in product(plan.benches, plan.systems):
                grid = bench.grid(system)
                settings = len(bench.settings(system))
                if tuned and settings > 1 and not bench.parameters.dev:
                    found = f"dev: found 0, and {settings} settings of {system.name} in {notebook}"
                    raise UserError(f"{found}, expected dev questions, or grids of one value")
                stages = [(stage, system) for stage in system.stages]
                stages += [(bench.parameters.reader, None)] if system.reads else []
                stages += [("titles", None)] if bench.dataset == "iirc" else []
                ms = grid.get("m", [0 if bench.demonstrated else None])
                try:
                    for (stage, owner), m in product(stages, ms):
                        bench.prompt(stage, m, system=owner)  # reads its files, each once
                except FileNotFoundError as error:
                    remedy = "; or leave the data set, or the notebook, out"
                    raise UserError(f"{notebook}: {error}{remedy}") from None


def plan_runs(p: Parameters, notebook: str) -> Iterator[Plan]:
    """What a notebook runs; nothing if it only reads what others ran, or asks no model."""

    def benches(p: Parameters, grid_of: str = MAIN, shown: Sequence[str | None] = (None,)):
        pairs = list(product(p.datasets, shown))
        return [Bench(p, name, notebook, *UNOPENED, other, grid_of) for name, other in pairs]

    chosen, agent = choose_systems(p.systems), p.for_agent()
    of_paper = choose_systems(study=SEARCHAIN)
    first = "musique" if "musique" in p.datasets else p.datasets[0]
    laboratory = {"data_dir": "", "corpus": "pooled", "demonstrations": "prompts/laboratory"}
    if notebook == "00_tour":
        toured = [s for s in find_systems(p.systems) if s.study == IRCOT]
        toured = toured or [s for s in find_systems() if s.study == IRCOT]
        yield Plan(benches(p.change(datasets=[first])), toured, 1, [{"k": p.k, "m": 1}], 10)
    elif notebook == "02_index":
        alone = [s for s in all_systems().values() if not (s.stages or s.reads)]
        p, ks = p.change(dev=0, test=None), [{"k": k} for k in p.recall_k]
        opened = [bench for bench in benches(p) if bench.dataset != "iirc"]
        yield Plan(opened, alone, 1, ks)
        for retriever in [name for name in p.retrievers if name != p.retriever]:
            others = benches(p.change(retriever=retriever))
            yield Plan([b for b in others if b.dataset != "iirc"], alone[:1], 1, ks)
    elif notebook == "04_ircot":
        yield Plan(benches(p), chosen, p.demonstration_sets)
        if p.both_readers:
            readers = [s for s in chosen if s.reads]
            yield Plan(benches(p.other_reader()), readers, p.demonstration_sets)
    elif notebook == "05_laboratory":  # all its worlds as if they were the first
        world = benches(p.change(**laboratory, dev=0, test=p.measured))
        measured = [s for s in chosen if s.tuned_by == ANSWER and "k" in s.grid]
        yield Plan(world, measured, len(p.worlds), [{"k": p.k, "m": 1}])
    elif notebook == "06_scale":
        p = p.change(datasets=[name for name in p.datasets if name != "iirc"])
        for name in p.models:
            style = style_of(p, None if p.server else check_model("models", name, LANGUAGE))
            yield Plan(benches(p.change(model=name, style=style), SCALE), chosen)
    elif notebook == "07_ood":
        p = p.out_of_distribution()
        yield Plan(benches(p, OOD, p.datasets), chosen)
    elif notebook == "10_your_own":
        if p.datasets != ["own"]:  # it has a few of the laboratory's questions
            p = p.change(data_dir="", corpus="pooled", dev=5, test=15, datasets=["musique"])
        shown = ["musique" if p.distractors else None]
        yield Plan(benches(p, MAIN, shown), [s for s in chosen if s.tuned_by == ANSWER])
    elif notebook == "11_searchain":
        yield Plan(benches(agent), [s for s in of_paper if s.module == "searchain"])
    elif notebook == "12_baselines":
        yield Plan(benches(agent.change(datasets=[first])), of_paper, 1, [{}], 1)
    elif notebook == "13_head_to_head":
        for panel in panels_of(p):
            yield Plan(benches(panel), systems_of(p))
    elif notebook == "14_searchain_tables":
        p = panels_of(p)[0]
        whole = benches(p.change(datasets=["musique"], dev=0, test=None))
        yield Plan(whole, choose_systems([DIRECT, KNEW]), ASKED, [{}])
        if "eli5" in p.datasets:
            eli5, alphas = benches(p.change(datasets=["eli5"])), [{"overlap": a} for a in ALPHAS]
            yield Plan(eli5, choose_systems([WHOLE]), 1, alphas)
        if p.second_model:
            other = change_model(p, p.second_model)
            pair = read_reported("searchain", source="Table 9")["system"].unique()
            yield Plan(benches(other), choose_systems(pair))


def _check_datasets(notebook: str, benches: Sequence[Bench], systems: Sequence[System]) -> None:
    names = list(dict.fromkeys(bench.dataset for bench in benches))
    if systems and all(s.tuned_by != ANSWER for s in systems):
        if not any(find_dataset(name).has_gold for name in names):
            found = f"systems: found only {', '.join(s.name for s in systems)}, which retrieve"
            expected = f"expected one that answers: {', '.join(names)} have no gold paragraphs"
            raise UserError(f"{found}, for {notebook}, {expected}")
    folder = benches[0].parameters.data_dir
    for name in names if folder and notebook == "13_head_to_head" else ():
        try:
            find_questions(find_dataset(name), ROOT / folder)
        except FileNotFoundError as error:
            raise UserError(f"head_to_head: {error}, or set head_to_head to others") from None
