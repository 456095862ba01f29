"""The folder of a run: its name, run.json, and which folders an experiment replaces."""

import hashlib
import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from ircotlib.datasets import find_dataset
from ircotlib.errors import DataError
from ircotlib.files.checksums import read_description, read_whole, take_sums, write_description
from ircotlib.files.paths import hold_lock
from ircotlib.parameters import DIALS, SIMULATED, Parameters
from ircotlib.running.bench import Bench
from ircotlib.systems import System

VERSIONS = ("ircotlib", "torch", "transformers", "tantivy", "numpy", "pandas")
FILES = ("predictions.jsonl", "scores.csv")  # beside run.json
EARLIER = "earlier"  # in its folder, those that were replaced last
# a file beside the runs on a data set: none of the systems that were to be run suits it
NONE_SUITS = "none_suits"
AGAIN = "run its notebook again: cached calls cost nothing"


def run_folder(bench: Bench, system: System, part: str, setting: dict) -> Path:
    """The folder of a run, inside the folder of its experiment and parameters."""
    named = [f"{name}={value}" for name, value in setting.items()]
    return bench.runs / part / " ".join([system.name.replace(" ", "-").replace("/", ""), *named])


class Run(NamedTuple):
    """A run of a system on the "dev" or "test" questions of a bench; see `run_system`."""

    bench: Bench
    system: System
    part: str
    setting: dict

    @property
    def questions(self) -> list:
        """Its questions."""
        return {"dev": self.bench.dev, "test": self.bench.test}[self.part]

    @property
    def folder(self) -> Path:
        """Its folder."""
        return run_folder(self.bench, self.system, self.part, self.setting)

    @property
    def label(self) -> str:
        """Its name beside a progress bar."""
        return f"{self.bench.dataset} {self.part} {self.system.name} {self.setting or ''}".strip()


def about_run(bench: Bench, system: System, part: str, setting: dict, counts: dict) -> dict:
    """The part of run.json that describes a run: enough to find it, to distinguish it from others
    and to replay it. `counts`: the costs by class of request (`scheduler.run`).
    """
    about = {"experiment": bench.experiment, "dataset": bench.dataset, "part": part}
    about |= {"system": system.name, "setting": setting}
    about |= {"metric": system.measure(find_dataset(bench.dataset))}
    about |= {"shown": bench.shown, "grid_of": bench.grid_of}
    about |= {"parameters": bench.parameters.model_dump(mode="json")}
    questions = repr((bench.dev, bench.test)).encode("utf-8", "surrogatepass")
    about |= {"questions_hash": hashlib.blake2b(questions, digest_size=16).hexdigest()}
    return about | _versions(bench, counts)


def name_model(p: Parameters | Mapping) -> str:
    """The name of the model of some parameters, for tables, titles and pages: that of a simulated
    reader has the dials that are set.
    """
    p = dict(p)
    if p["model"] != SIMULATED:
        return p["model"]
    defaults = {name: Parameters.model_fields[name].default for name in DIALS}
    dials = [f"{name} {p[name]:g}" for name in DIALS if p[name] != defaults[name]]
    return f"simulated reader ({', '.join(dials)})" if dials else "simulated reader"


def columns_of(about: dict) -> dict:
    """The columns that describe a run in its table of scores, from its run.json.
    `demonstrations_shown`: how many the last prompt of a question showed on average.
    """
    p, named = about["parameters"], ("dataset", "system")
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
    about = read_description(Path(folder) / "run.json", AGAIN)
    if about is None:
        unfinished = "found no run.json: the run is still going on, or was interrupted"
        raise DataError(f"{folder}: {unfinished}, expected a finished one; {AGAIN}")
    return about


def read_file(folder: Path, about: Mapping, name: str) -> bytes:
    """The content of one of the FILES of a run, whose run.json is `about`, also if another process
    has replaced the run since. Raises DataError, in one line, if it is missing or is not as it was
    written.
    """
    try:
        return read_whole(Path(folder) / name, about["files"][name], AGAIN)
    except DataError:
        with suppress(DataError):
            return read_whole(Path(folder) / EARLIER / name, about["files"][name], AGAIN)
        raise


def clear_runs(bench: Bench, system: System, part: str, settings: Sequence[dict]) -> None:
    """Remove a system's dev or test runs on a bench, except for those with these settings. The call
    cache is kept.
    """
    kept = [run_folder(bench, system, part, setting) for setting in settings]
    own = run_folder(bench, system, part, {})
    with hold_runs(own):
        for folder in own.parent.glob("*"):
            if folder.name.split(" ")[0] == own.name and folder not in kept:
                (folder / "run.json").unlink(missing_ok=True)  # without it, no kill leaves a run
                shutil.rmtree(folder)


def hold_runs(folder: Path) -> AbstractContextManager:
    """Hold the lock of those who write or remove runs of a bench. `folder`: of one of its runs."""
    runs = folder.parents[1]
    runs.parent.mkdir(parents=True, exist_ok=True)
    return hold_lock(Path(f"{runs}.lock"), f"a run in {runs}")


def _versions(bench: Bench, counts: dict) -> dict:
    """The fingerprints of all backends used, and the versions of packages."""
    fingerprints = {"model_fingerprint": bench.model.fingerprint} if bench.model else {}
    fingerprints |= {"retriever_fingerprint": bench.retriever.fingerprint}
    for kind, backend in (("Extract", bench.extractor), ("Duplicate", bench.duplicates)):
        if counts.get(kind, {}).get("requests"):
            fingerprints |= {f"{kind.lower()}_fingerprint": backend.fingerprint}
    return fingerprints | installed()


@cache
def installed() -> dict:
    """The versions of Python and packages here."""
    return {"python": platform.python_version()} | {name: version(name) for name in VERSIONS}
