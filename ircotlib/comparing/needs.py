"""What runs need of files: official data and prompts. It is checked before any of them is played,
because what comes before a missing file has been paid for.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ircotlib.datasets import Dataset, find_dataset
from ircotlib.datasets.corpora import find_files, full_corpus_folder
from ircotlib.datasets.files import OWN_CONTEXTS, find_questions
from ircotlib.errors import UserError
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import ROOT
from ircotlib.parameters import GOLD, Parameters
from ircotlib.prompting.prompt import render_demonstration
from ircotlib.running.laboratory import data_folder, laboratory_datasets, open_gold_reader
from ircotlib.running.run import Run
from ircotlib.systems import System
from ircotlib.systems.readers import READER


def check_data(p: Parameters, dataset: Dataset) -> None:
    """Raise UserError if a data set lacks its official files, or those of its corpus, unless this
    was already made.
    """
    if not p.data_dir:
        if dataset.name not in (known := laboratory_datasets()):
            found = f"data_dir: found none, and no {dataset.name} in the laboratory"
            raise UserError(f"{found}, which has {', '.join(known)}; set data_dir, or leave it out")
        return
    full = dataset.full_corpus
    if p.corpus == "full" and full is None:
        found = f"found no full one of {dataset.name}, expected corpus=pooled"
        raise UserError(f"corpus: {found}: {OWN_CONTEXTS}")
    try:
        path = find_questions(dataset, ROOT / p.data_dir)
        if p.corpus == "pooled" and dataset.read_paragraphs:
            _begin_corpus(dataset.name, path)
        if p.corpus == "full" and not full_corpus_folder(full, p.data_dir).is_dir():
            find_files(full, p.data_dir)
    except FileNotFoundError as error:
        raise UserError(str(error)) from None


@kept_until_changed(lambda name, path: [path, path.parent, path.parent.parent])
def _begin_corpus(name: str, path: Path) -> None:
    """Read the first paragraph beside a file of questions, which finds all files."""
    next(iter(find_dataset(name).read_paragraphs(path)), None)


def check_gold(runs: Sequence[Run]) -> None:
    """Raise UserError if the gold reader, where it is the model, cannot play a run."""
    played = [run for run in runs if run.bench.parameters.model == GOLD]
    for bench in {id(run.bench): run.bench for run in played}.values():
        systems = {run.system.name: run.system for run in played if run.bench is bench}
        path = find_questions(bench.dataset, ROOT / data_folder(bench.parameters.data_dir))
        for question, _ in bench.scored_as.read(path):
            for system in systems.values():
                open_gold_reader().check(question, system)


def check_prompts(runs: Sequence[Run]) -> None:
    """Raise UserError if a prompt file that runs need is missing, or if on one bench some systems
    show examples and others, for want of M (IRCoT §4.1), none.
    """
    bare, showing = {}, {}  # a system of each kind, by bench
    for run, stage, owner, m in prompts_of(runs):
        bench, name = run.bench, run.system.name
        try:
            _, shown = bench.examples(stage, m, 0, owner)
        except FileNotFoundError as error:
            raise UserError(f"{name} on {bench.dataset.name}: {error}") from None
        if run.system.shows_sets and bench.style.demonstrated and not bench.demonstrated:
            bare[id(bench)] = name
        elif shown and owner is run.system:
            showing[id(bench)] = name
    for bench in bare.keys() & showing.keys():
        found = f"found [], so that {bare[bench]} shows no demonstration, and {showing[bench]}"
        expected = "has examples: set distractors=[1], or compare one kind of systems at a time"
        raise UserError(f"distractors: {found} {expected}")


class Written(NamedTuple):
    """A stage whose prompts a run writes; `owner`: the run's system, or the reader."""

    run: Run
    stage: str
    owner: System
    m: int | None


def prompts_of(runs: Sequence[Run]) -> Iterator[Written]:
    """The stages whose prompts runs write, once for each bench, system and M."""
    by_what = {(id(run.bench), run.system.name, run.setting.get("m")): run for run in runs}
    for run in by_what.values():
        bench = run.bench
        m = run.setting.get("m", bench.default_m) if bench.demonstrated else bench.default_m
        yield from (Written(run, stage, run.system, m) for stage in run.system.stages)
        if run.system.reads:
            yield Written(run, bench.parameters.reader, READER, m)
        if bench.dataset.name == "iirc":
            yield Written(run, "titles", READER, m)


def find_crowded(runs: Sequence[Run], count_tokens: Callable[[str], int]) -> list[str]:
    """The systems and stages that have examples of which their window holds none."""
    crowded = []
    for run, stage, owner, m in prompts_of(runs):
        template, shown = run.bench.examples(stage, m, 0, owner)
        room = run.bench.window - run.bench.longest(owner) - count_tokens(template.text)
        if shown and count_tokens(render_demonstration(shown[-1], template)) > room:
            crowded.append(f"{run.system.name} ({stage})")
    return [*dict.fromkeys(crowded)]
