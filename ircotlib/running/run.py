"""A run as a value; and its folder: its name, run.json, and what an experiment replaces."""

import platform
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Question, write_jsonl
from ircotlib.errors import DataError
from ircotlib.files.checksums import read_description, read_whole, take_sums, write_description
from ircotlib.files.paths import DATA, PARTIAL, hold_lock, replace_files
from ircotlib.files.tables import write_table
from ircotlib.parameters import GOLD, SIMULATED, Parameters, read_parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying
from ircotlib.program import Program
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.programs import program_of
from ircotlib.systems import System, all_systems, choose_systems

VERSIONS = "ircotlib torch transformers tokenizers tantivy regex numpy pandas".split()
FILES = ("predictions.jsonl", "scores.csv")  # beside run.json
EARLIER = "earlier"  # in its folder, those that were replaced last
# a file beside the runs on a data set: none of the systems that were to be run suits it
NONE_SUITS = "none_suits"
RERUN = "run its notebook again: cached calls cost nothing"


class Run(NamedTuple):
    """A run: a system with one setting on the "dev" or "test" questions of a bench, which need not
    be opened. `setting`: k, m and whatever else the program takes, and demonstration_set, 0 to 2.
    `most`: how many of the questions are asked; None: all.
    """

    bench: Bench
    system: System
    part: str
    setting: dict
    most: int | None = None

    @property
    def questions(self) -> Sequence[Question]:
        """Its questions; none if the bench is not opened."""
        return {"dev": self.bench.dev, "test": self.bench.test}[self.part][: self.most]

    @property
    def size(self) -> int:
        """How many questions it has (`Bench.count`)."""
        count = self.bench.count(self.part)
        return count if self.most is None else min(count, self.most)

    @property
    def measure(self) -> str:
        """The measure of its results."""
        return self.system.measure(self.bench.dataset)

    @property
    def folder(self) -> Path:
        """Its folder, inside that of its experiment and parameters."""
        named = [f"{name}={value}" for name, value in self.setting.items()]
        system = self.system.name.replace(" ", "-").replace("/", "")
        return self.bench.runs / self.part / " ".join([system, *named])

    @property
    def label(self) -> str:
        """Its name beside a progress bar."""
        setting = [f"{name}={value}" for name, value in self.setting.items()]
        return " ".join([self.bench.dataset.name, self.part, self.system.name, *setting])

    @property
    def identity(self) -> dict:
        """What distinguishes it from all others, as in run.json; `open_run` reads it."""
        bench = self.bench
        about = {"experiment": bench.experiment, "dataset": bench.dataset.name, "part": self.part}
        about |= {"system": self.system.name, "setting": self.setting}
        about |= {"metric": self.measure}
        about |= {"shown": bench.shown and bench.shown.name, "grid_of": bench.grid_of}
        return about | {"parameters": bench.parameters.model_dump(mode="json")}

    @property
    def is_as_named(self) -> bool:
        """Whether another process that is told its identity opens the same run (`open_run`)."""
        with suppress(OSError, ValueError):  # what its bench names is not there
            return all_systems().get(self.system.name) is self.system and self.bench.is_as_named
        return False

    @property
    def program(self) -> Callable[[Question], Program]:
        """The program of its system, to be called with a question; see `program_of`."""
        return program_of(self.bench, self.system, **self.setting)


def open_run(identity: Mapping, calls: Calls | Replaying | None = None) -> Run:
    """The run that `Run.identity` or a run.json describes, on an opened bench. `calls`: None for
    the call cache of this machine.
    """
    options = {name: identity[name] for name in ("shown", "grid_of")}
    where = parameters_of(identity), identity["dataset"], identity["experiment"]
    [system] = choose_systems([identity["system"]])
    bench = open_bench(*where, calls=calls, **options)
    return Run(bench, system, identity["part"], identity["setting"])


def find_folders(folder: Path = DATA / "runs") -> list[Path]:
    """The folders of all finished runs below a folder, sorted."""
    found = (path.parent for path in Path(folder).rglob("run.json"))
    return sorted(path for path in found if not path.name.startswith(PARTIAL))


def parameters_of(identity: Mapping) -> Parameters:
    """The parameters of a run, checked again."""
    return read_parameters(identity["parameters"]["profile"], identity["parameters"])


def name_model(p: Parameters | Mapping) -> str:
    """The name of the model of some parameters, for tables, titles and pages: that of a simulated
    reader has the dials that are set.
    """
    p = dict(p)
    if p["model"] == GOLD:
        return "gold reader (upper bound)"
    if p["model"] != SIMULATED:
        return p["model"]
    dials = [f"{name} {share:g}" for name, share in p.get("dials", {}).items()]
    return f"simulated reader ({', '.join(dials)})" if dials else "simulated reader"


def columns_of(about: dict) -> dict:
    """The columns that describe a run in its table of scores, from its run.json.
    `demonstrations_shown`: how many the last prompt of a question showed on average.
    """
    p = about["parameters"]
    named = ("dataset", "system")
    columns = {"profile": p["profile"], "model": name_model(p)}
    columns |= {name: p[name] for name in ("style", "reader")}
    columns |= {name: about[name] for name in named}
    columns |= {"demonstrations": about["shown"] or about["dataset"], "metric": about["metric"]}
    columns["demonstrations_shown"] = about.get("demonstrations", {}).get("last")
    setting = {"k": None, "m": None, "demonstration_set": None} | about["setting"]
    return columns | setting


def write_about(folder: Path, about: dict) -> None:
    """Write run.json, which makes a run a finished one, with checksums of itself and of the other
    files.
    """
    write_description(folder / "run.json", about | {"files": take_sums(folder, FILES)})


def read_about(folder: Path) -> dict:
    """Read run.json from a run's folder. Raises DataError, in one line, if it is missing or is not
    as it was written.
    """
    about = read_description(Path(folder) / "run.json", RERUN)
    if about is None:
        unfinished = "found no run.json: the run is still going on, or was interrupted"
        raise DataError(f"{folder}: {unfinished}, expected a finished one; {RERUN}")
    return about


def read_file(folder: Path, about: Mapping, name: str) -> bytes:
    """The content of one of the FILES of a run, whose run.json is `about`, also if another process
    has replaced the run since. Raises DataError, in one line, if it is missing or is not as it was
    written.
    """
    try:
        return read_whole(Path(folder) / name, about["files"][name], RERUN)
    except DataError:
        with suppress(DataError):
            return read_whole(Path(folder) / EARLIER / name, about["files"][name], RERUN)
        raise


def clear_runs(kept: Sequence[Run]) -> None:
    """Remove the other runs of the same systems, on the same questions of the same benches. The
    call cache is kept.
    """
    folders = {run.folder for run in kept}
    for own in {run._replace(setting={}).folder for run in kept}:
        with hold_runs(own):
            for folder in own.parent.glob("*"):
                if folder.name.split(" ")[0] == own.name and folder not in folders:
                    (folder / "run.json").unlink(missing_ok=True)  # no kill leaves a run of it
                    shutil.rmtree(folder)


def mark_unsuited(benches: Sequence[Bench], runs: Sequence[Run]) -> None:
    """Leave a mark in the folders of benches that have none of the runs: no system suits them."""
    for folder in {bench.runs for bench in benches} - {run.bench.runs for run in runs}:
        (folder / "test").mkdir(parents=True, exist_ok=True)
        (folder / "test" / NONE_SUITS).touch()


def write_run(folder: Path, predictions: Iterable[dict], scores: pd.DataFrame, about: dict) -> None:
    """Write the folder of a run in place of an earlier one: lines of predictions.jsonl, the rows of
    scores.csv and run.json, which makes it a finished one, with checksums of all.
    """
    with hold_runs(folder), replace_files(folder, "run.json", EARLIER) as partial:
        write_jsonl(partial / "predictions.jsonl", predictions)
        write_table(partial / "scores.csv", scores)
        write_about(partial, about)


def hold_runs(folder: Path) -> AbstractContextManager:
    """Hold the lock of those who write or remove runs of a bench. `folder`: of one of its runs."""
    runs = folder.parents[1]
    runs.parent.mkdir(parents=True, exist_ok=True)
    return hold_lock(Path(f"{runs}.lock"), f"a run in {runs}")


@cache
def installed() -> dict:
    """The versions of Python and packages here; a replay needs no torch."""
    here = {each: version(each) for each in VERSIONS if find_spec(each)}
    return {"python": platform.python_version()} | here
