"""Finished runs: run.json, and whether everything that decided a run is still the same."""

import hashlib
import json
import platform
import shutil
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.files.checksums import take_sums
from ircotlib.files.paths import PRICES, PROMPTS, ROOT, resolve, write_whole
from ircotlib.running.setup import Bench
from ircotlib.systems import RECALL, SEARCHAIN, System

# a title or a question in a table is text: a dollar sign in it does not begin a formula
pd.set_option("display.html.use_mathjax", False)
VERSIONS = ("ircotlib", "torch", "transformers", "tantivy", "numpy", "pandas")
ABOUT = ("experiment", "dataset", "part", "system", "setting", "metric", "shown", "grid_of")
ABOUT += ("parameters", "questions")  # what it takes from run.json to read and replay a run
FILES = ("predictions.jsonl", "scores.csv")  # beside run.json
COVER_EM = "cover_em"  # the name of a score of data sets
AGAIN = "run its notebook again: cached calls cost nothing"


def run_folder(bench: Bench, system: System, part: str, setting: dict) -> Path:
    """The folder of a run, inside the folder of its experiment and parameters."""
    named = [f"{name}={value}" for name, value in setting.items()]
    return bench.runs / part / " ".join([system.name.replace(" ", "-").replace("/", ""), *named])


def measure_of(system: System, dataset: str) -> str:
    """The measure of a system on a data set: recall for systems that only retrieve; cover-EM for
    systems of SearChain's study, if the data set has it (SearChain §4.1); else the data set's first
    score.
    """
    scores = [*find_dataset(dataset).scores]
    covered = system.study == SEARCHAIN and COVER_EM in scores
    return RECALL if system.tuned_by == RECALL else COVER_EM if covered else scores[0]


def about_run(bench: Bench, system: System, part: str, setting: dict, counts: dict) -> dict:
    """The part of run.json that describes a run: enough to find it, to distinguish it from others,
    to replay it, and to see whether anything that decides it has changed. `counts`: the costs by
    class of request (`scheduler.run`).
    """
    named = {"experiment": bench.experiment, "dataset": bench.dataset, "part": part}
    named |= {"system": system.name, "setting": setting}
    named |= {"metric": measure_of(system, bench.dataset)}
    named |= {"shown": bench.shown, "grid_of": bench.grid_of}
    named |= {"parameters": bench.parameters.model_dump(mode="json")}
    made_from = {"questions_hash": _hash(repr((bench.dev, bench.test)))}
    made_from |= {"program_hash": _hash_program(bench.parameters.demonstrations)}
    return named | made_from | _versions(bench, counts)


def columns_of(about: dict) -> dict:
    """The columns that describe a run in its table of scores, from its run.json."""
    p, named = about["parameters"], ("dataset", "system")
    columns = {name: p[name] for name in ("profile", "model", "style", "reader")}
    columns |= {name: about[name] for name in named}
    columns |= {"demonstrations": about["shown"] or about["dataset"], "metric": about["metric"]}
    setting = {"k": None, "m": None, "demonstration_set": None} | about["setting"]
    return columns | setting


def write_about(folder: Path, about: dict) -> None:
    """Write run.json, which makes a run a finished one, with checksums of itself and of the other
    files.
    """
    about = about | {"files": take_sums(folder, FILES)}
    about |= {"checksum": _hash(json.dumps(about))}
    write_whole(folder / "run.json", json.dumps(about, indent=1) + "\n")


def read_about(folder: Path) -> dict:
    """Read run.json from a run's folder. Raises ValueError, in one line, if it is missing or
    damaged.
    """
    path = Path(folder) / "run.json"
    if not path.is_file():
        found = "found no run.json: the run is still going on, or was interrupted"
        raise ValueError(f"{folder}: {found}, expected a finished one; {AGAIN}")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in ABOUT if name not in about.keys()]
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path}: found no JSON ({error}), expected an object; {AGAIN}") from None
    if missing:
        raise ValueError(f"{path}: found no {missing[0]!r}, expected {', '.join(ABOUT)}; {AGAIN}")
    return about


def find_finished(bench: Bench, system: System, folder: Path) -> dict | None:
    """run.json of a finished run, if all that decides the run is as it was: parameters, questions,
    models, index, demonstrations, programs and versions. None if anything differs or is damaged, or
    if the system is not one of the library: a program in a notebook may have changed.
    """
    try:
        about = read_about(folder)
        checksum = about.pop("checksum")
        if checksum != _hash(json.dumps(about)) or about["files"] != take_sums(folder, FILES):
            return None
        now = about_run(bench, system, about["part"], about["setting"], about["counts"])
    except (ValueError, KeyError, OSError):
        return None
    same = json.loads(json.dumps(now)).items() <= about.items()
    return about if same and system.program.__module__.startswith("ircotlib.") else None


def read_written(folder: Path) -> pd.DataFrame:
    """The scores of a finished run, exactly as they were written."""
    scores = pd.read_csv(folder / "scores.csv", dtype={"id": str, "kind": str})
    return scores.fillna({"kind": ""})


def clear_runs(bench: Bench, system: System, part: str, settings: Sequence[dict]) -> None:
    """Remove a system's dev or test runs on a bench, except for finished ones with these settings
    (`find_finished`). The call cache is kept.
    """
    wanted = [run_folder(bench, system, part, setting) for setting in settings]
    own = run_folder(bench, system, part, {}).name
    for folder in (bench.runs / part).glob("*"):
        if folder.name.split(" ")[0] == own:
            if folder not in wanted or not find_finished(bench, system, folder):
                shutil.rmtree(folder)


def _versions(bench: Bench, counts: dict) -> dict:
    """The fingerprints of all backends used, and the versions of packages."""
    fingerprints = {"model_fingerprint": bench.model.fingerprint} if bench.model else {}
    fingerprints |= {"retriever_fingerprint": bench.retriever.fingerprint}
    for kind, backend in (("Extract", bench.extractor), ("Duplicate", bench.duplicates)):
        if counts.get(kind, {}).get("requests"):
            fingerprints |= {f"{kind.lower()}_fingerprint": backend.fingerprint}
    return fingerprints | _installed()


@cache
def _installed() -> dict:
    return {"python": platform.python_version()} | {name: version(name) for name in VERSIONS}


@cache
def _hash_program(demonstrations: str) -> str:
    """A hash of the library, its prompts, the folder of demonstrations and the prices, as they were
    when this process asked first.
    """
    folders = [ROOT / "ircotlib", PROMPTS]
    folders += [Path(resolve(demonstrations))] if demonstrations else []
    paths = [PRICES, *(path for folder in folders for path in sorted(folder.rglob("*")))]
    read = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    return _hash("".join(f"{path} {_hash(path.read_bytes())}" for path in read))


def _hash(content: str | bytes) -> str:
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.blake2b(content, digest_size=16).hexdigest()
