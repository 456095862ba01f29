"""Where the workbench asks the laboratory: for data, where a profile has none of its own, for the
facts that judge a chain, and for a simulated reader. Nothing else in it knows that there is a
laboratory.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from ircotlib.data import Question
from ircotlib.datasets.facts import Facts
from ircotlib.errors import NothingToRun, UserError
from ircotlib.files.checksums import read_description
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import DATA, resolve
from ircotlib.parameters import Parameters

NONE = MappingProxyType({})


def data_folder(data_dir: str, data: Path = DATA) -> Path | str:
    """The folder of the official files: `data_dir` or, if that is "", the laboratory. A laboratory
    in `data` is made if it is not there.
    """
    from ircot_laboratory.make import make_laboratory

    if not data_dir:
        return make_laboratory(data / "laboratory")
    if world := _find_world(data_dir, data):
        make_laboratory(Path(data_dir), *world)
    return data_dir


def _find_world(data_dir: str, data: Path = DATA) -> list[int]:
    """Seed, size and questions of the laboratory that `in_world` names; [] for other data."""
    folder = Path(data_dir)
    is_world = folder.parent == data / "laboratories" and re.fullmatch(r"\d+-\d+-\d+", folder.name)
    return [*map(int, folder.name.split("-"))] if is_world else []


def in_world(p: Parameters, seed: int, size: int, questions: int) -> Parameters:
    """The parameters with the data and demonstrations of a laboratory, which is made when they are
    opened: an encyclopedia of `size` pages, and as many questions for each data set.
    """
    folder = DATA / "laboratories" / f"{seed}-{size}-{questions}"
    there = {"data_dir": str(folder), "demonstrations": str(folder / "prompts")}
    return p.change(**there, corpus="pooled")


def explain_dials() -> object:
    """A table (pandas) of the simulated reader's dials, with default, meaning and an example."""
    import pandas as pd

    from ircot_laboratory.simulated.dials import explain_dials

    return pd.DataFrame(explain_dials())


def find_facts(p: Parameters, dataset: str) -> Facts | None:
    """The facts of a data set; None if they are not known, that is, if the data are not a
    laboratory's.
    """
    from ircot_laboratory.questions.questions import ALL_DATASETS

    known = dataset in ALL_DATASETS and is_laboratory(p.data_dir)
    return _facts(_find_laboratory(p.data_dir), dataset) if known else None


def laboratory_datasets() -> list[str]:
    """The names of the data sets that a laboratory has."""
    from ircot_laboratory.questions.questions import ALL_DATASETS

    return [*ALL_DATASETS]


def count_questions(data_dir: str) -> int | None:
    """How many questions each data set of a laboratory has; None if the data are not one's."""
    from ircot_laboratory.make import ABOUT, QUESTIONS

    if not data_dir:
        return QUESTIONS
    about = read_description(Path(resolve(data_dir)) / ABOUT, "it is needed whole")
    return about and about["questions"]


@cache
def _facts(make: Callable, dataset: str) -> Facts:
    from ircot_laboratory.judge.laboratory_facts import LaboratoryFacts

    return LaboratoryFacts(*make(dataset))


def open_simulated_reader(p: Parameters, stages: Mapping[str, Mapping] = NONE) -> object:
    """The simulated reader with the dials of these parameters. `stages`: the dials that differ in
    single stages ("module/stage"). Raises UserError for an unknown dial, or if `data_dir` is not a
    laboratory.
    """
    of_stages = tuple((name, _set_dials(p, stages[name])) for name in sorted(stages))
    return _reader(_set_dials(p), _find_laboratory(p.data_dir), p.seed, of_stages)


def _set_dials(p: Parameters, changes: Mapping[str, float] = NONE) -> object:
    from ircot_laboratory.simulated.dials import Dials

    try:
        return Dials(**p.dials | changes)
    except TypeError:
        known = list(Dials.__dataclass_fields__)
        odd = next(name for name in p.dials | changes if name not in known)
        raise UserError(f"dials: found {odd!r}, expected some of {', '.join(known)}") from None


def open_simulated_extractor(p: Parameters, dataset: str) -> object:
    """The simulated extractive reader for one data set; see `open_simulated_reader`."""
    from ircot_laboratory.simulated.extractor import SimulatedExtractor

    return SimulatedExtractor(_set_dials(p), _find_laboratory(p.data_dir), dataset, p.seed)


@cache
def _reader(dials: object, make: Callable, seed: int, stages: tuple) -> object:
    from ircot_laboratory.simulated.reader import SimulatedReader

    return SimulatedReader(dials, make, seed, dict(stages))


def open_gold_reader() -> object:
    """The gold reader, which has the steps of the questions that it is asked (docs/gold.md)."""
    from ircot_laboratory.gold.reader import GoldReader

    return GoldReader()


def open_gold_extractor(questions: Iterable[Question]) -> object:
    """The gold reader's extractive reader, which knows the steps of these questions."""
    from ircot_laboratory.gold.reader import GoldExtractor

    return GoldExtractor(questions)


def is_laboratory(data_dir: str) -> bool:
    """Whether the data in a folder are a laboratory's; "" is one."""
    from ircot_laboratory.make import ABOUT

    made = not data_dir or _find_world(data_dir)
    return bool(made) or (Path(resolve(data_dir)) / ABOUT).is_file()


def expect_laboratory(p: Parameters) -> None:
    """Raise NothingToRun if the data are no laboratory's, which is all that the simulated reader
    knows.
    """
    if not is_laboratory(p.data_dir):
        found = f"data_dir: found {p.data_dir}, which is no laboratory"
        raise NothingToRun(f"{found}, expected one: the simulated reader knows nothing else")


@kept_until_changed(lambda data_dir: [Path(resolve(data_dir))] if data_dir else [])
def _find_laboratory(data_dir: str) -> Callable:
    """What makes the data sets of the laboratory in a folder, as records; the same object for the
    same folder, so that its readers share what they have met.
    """
    from ircot_laboratory.make import ABOUT, hash_generator, make_dataset

    if not data_dir:
        return make_dataset
    about = read_description(Path(resolve(data_dir)) / ABOUT, "it is needed whole")
    if not about:
        expected = "expected a laboratory, which is all that the simulated reader knows"
        remedy = "set another model, or leave data_dir out"
        raise UserError(f"data_dir: found no {ABOUT} in {data_dir}, {expected}; {remedy}")
    world = {name: about[name] for name in ("seed", "size", "questions")}
    if about["generator"] != hash_generator():
        expected = "expected one of this version, which knows its facts; make it again"
        options = [f"--{name} {value}" for name, value in world.items()]
        options += ["--downloads"] if about["downloads"] else []
        command = f"ircotlib laboratory {data_dir} {' '.join(options)}"
        raise UserError(f"data_dir: found a laboratory of other programs, {expected}: {command}")
    return partial(make_dataset, **world)
