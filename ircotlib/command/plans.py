"""Checks, before any notebook starts, what each will run: systems against data sets, grids against
dev questions, and the files of prompts.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace

from ircotlib.command.checks import LANGUAGE, check_model, style_of
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import UserError
from ircotlib.files.paths import ROOT
from ircotlib.parameters import MAIN, OOD, SCALE, SIMULATED, Parameters
from ircotlib.results.head_to_head import panels_of, systems_of
from ircotlib.running.laboratory import is_laboratory
from ircotlib.running.setup import Bench
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

UNOPENED = (), (), None, None, SimpleNamespace(count_tokens=len)  # dev to model of a bench
Plan = tuple[list[Bench], list[System], bool]  # benches, their systems, whether these are tuned


def why_left_out(notebook: str, needs: Sequence[str], p: Parameters) -> str:
    """Why a notebook has nothing to run with these parameters; "" if it has."""
    if "own data" in needs and p.model == SIMULATED:
        return "the simulated reader knows no data of one's own"
    if notebook == "15_abilities" and not is_laboratory(p.data_dir):
        return "the simulated reader knows only a laboratory, and data_dir is none"
    if notebook in ("06_scale", "07_ood") and {*p.datasets} == {"iirc"}:
        return "as in the paper it is not about iirc, and no other data set is chosen"
    return ""


def check_plans(p: Parameters, notebooks: Sequence[str]) -> None:
    """Raise UserError if a system that a notebook compares cannot be tuned, or lacks its prompts,
    or if a notebook lacks questions, or has only systems that its data sets do not suit.
    """
    for notebook in notebooks:
        for benches, systems, tuned in plan_runs(p, notebook):
            _check_datasets(notebook, benches, systems)
            for bench, system in product(benches, systems):
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
    """What a notebook runs, as benches that are not opened."""

    def benches(p: Parameters, grid_of: str = MAIN, shown: Sequence[str | None] = (None,)):
        pairs = list(product(p.datasets, shown))
        return [Bench(p, name, notebook, *UNOPENED, other, grid_of) for name, other in pairs]

    chosen, agent = choose_systems(p.systems), p.for_agent()
    of_paper = choose_systems(study=SEARCHAIN)
    if notebook == "04_ircot":
        yield benches(p), chosen, True
        if p.both_readers:
            yield benches(p.other_reader()), [s for s in chosen if s.reads], True
    elif notebook == "06_scale":
        p = p.change(datasets=[name for name in p.datasets if name != "iirc"])
        for name in p.models:
            style = style_of(p, None if p.server else check_model("models", name, LANGUAGE))
            yield benches(p.change(model=name, style=style), SCALE), chosen, True
    elif notebook == "07_ood":
        p = p.out_of_distribution()
        yield benches(p, OOD, p.datasets), chosen, True
    elif notebook == "10_your_own":
        own = p.change(datasets=["own"], dev=max(p.dev, int(p.datasets != ["own"])))
        shown = ["musique" if p.distractors else None]
        yield benches(own, MAIN, shown), [s for s in chosen if s.tuned_by == ANSWER], True
    elif notebook == "11_searchain":
        yield benches(agent), [s for s in of_paper if s.module == "searchain"], True
    elif notebook == "12_baselines":
        yield benches(agent)[:1], of_paper, False
    elif notebook == "13_head_to_head":
        yield benches(panels_of(p)[0]), systems_of(p), True


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
