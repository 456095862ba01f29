"""Scores of simulations that are kept, and read again while nothing has changed them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ircotlib.datasets.pooled import digest
from ircotlib.errors import DataError
from ircotlib.files.checksums import read_description, write_description
from ircotlib.files.paths import DATA
from ircotlib.parameters import Parameters
from ircotlib.results.head_to_head import measures_of
from ircotlib.running.bench import open_bench
from ircotlib.running.current import as_read
from ircotlib.running.finished import describe_index, find_sources
from ircotlib.running.run import Run, installed
from ircotlib.systems import all_systems


class KeptScores(NamedTuple):
    """The scores of a system on the test questions of a data set, drawn with each seed.

    `made_with`: all that decides them besides a simulation. `metric`: by which measure.
    `questions`: id, after the seed, and kind of each. `scores`: pairs of score and recall of the
    questions, by the text of each simulation.
    """

    path: Path
    made_with: Mapping
    metric: str
    questions: list[tuple[str, str]]
    scores: dict[str, list]

    def write(self) -> None:
        """Write them into their file, in place of what it had."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_description(self.path, {"made_with": self.made_with, "scores": self.scores})


def read_kept(p: Parameters, dataset: str, system: str, look: Callable) -> KeptScores:
    """The scores that are kept in DATA/simulations: none if they were made with anything else than
    they would be now, or are damaged. `look`: as of `find_sources`.
    """
    seeds = range(p.seed, p.seed + p.abilities_seeds)
    opened = {seed: p.change(seed=seed) for seed in seeds}
    opened = {seed: open_bench(q, dataset, "", with_model=False) for seed, q in opened.items()}
    questions = [(f"{seed} {q.id}", q.kind) for seed, bench in opened.items() for q in bench.test]
    bench, metric = opened[p.seed], measures_of(dataset)[0]
    code = tuple(sorted(Path(__file__).parent.glob("*.py")))
    run = Run(bench, all_systems()[system], "test", {})
    made_with = {"parameters": p.model_dump(mode="json"), "metric": metric} | installed()
    made_with |= {"questions": [bench.questions_hash for bench in opened.values()]}
    made_with |= {"index": describe_index(bench.retriever)}
    made_with |= {"retriever": bench.retriever.fingerprint}
    made_with |= {"sources": find_sources(run, code, look)}
    folder = DATA / "simulations" / f"{p.profile}-{digest(repr(p), 8)}" / dataset
    path = folder / f"{system.replace(' ', '-').replace('/', '')}.json"
    try:
        about = read_description(path, "") or {}
    except DataError:
        about = {}
    is_current = made_with["sources"] and about.get("made_with") == as_read(made_with)
    return KeptScores(path, made_with, metric, questions, about["scores"] if is_current else {})
