"""Writes real outputs as runs of the profile `imported`, and says what is odd about them."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.datasets import QuestionContext, all_datasets, drop, find_dataset
from ircotlib.datasets.imported import write_imported
from ircotlib.datasets.scoring import score
from ircotlib.errors import UserError
from ircotlib.experiment.runs import Run, installed, row_of, write_run
from ircotlib.experiment.setup import Setup
from ircotlib.files.paths import DATA, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.program import Outcome, Retrieve, Step
from ircotlib.results.imports.official import PREDICTIONS, read_official
from ircotlib.results.imports.outputs import (
    FLASHRAG,
    NOT_STATED,
    Output,
    Outputs,
    read_flashrag,
    read_json_lines,
)
from ircotlib.results.imports.questions import (
    UserData,
    collect_pages,
    match_questions,
    read_user_data,
)
from ircotlib.systems import System, all_systems

UNKNOWN = float("nan")
PROFILE = "imported"
FEWEST = 8  # prompts; the same reply to fewer may be chance


class Imported(NamedTuple):
    """`runs`: the folders that were written. `notes`: what is odd about them, one a line."""

    runs: list[Path]
    notes: list[str]


def import_outputs(
    *sources: Path | str,
    data_dir: str = "",
    dataset: str = "own",
    system: str = "",
    model: str = "",
) -> Imported:
    """Bring real outputs in as runs: folders of IRCoT's released program, or that hold some;
    FlashRAG's intermediate_data.json; JSON lines (`read_json_lines`). The same outputs replace
    their earlier runs.

    `data_dir`: your official files, for texts, aliases and gold paragraphs; without it the golds
    beside the outputs count. `dataset`, `system`, `model`: of files that do not say it; by default
    the system has the name of the file. Raises UserError if there are no outputs, or two are alike.
    """
    named = {"dataset": dataset, "system": system, "model": model or NOT_STATED}
    several, notes = [], []
    for outputs in (read for source in sources for read in read_outputs(Path(source), **named)):
        if outputs.dataset in all_datasets():
            several.append(drop_repeats(outputs))
        else:
            expected = f"expected one of {', '.join(all_datasets())}: left out"
            notes.append(f"{outputs.source}: found the data set {outputs.dataset}, {expected}")
    if not several:
        expected = f"expected {PREDICTIONS} in folders, {FLASHRAG}, or JSON lines with predictions"
        raise UserError(f"{' '.join(map(str, sources))}: found no outputs, {expected}")
    asked, data = {}, {}
    for name in dict.fromkeys(outputs.dataset for outputs in several):
        of_one = [outputs for outputs in several if outputs.dataset == name]
        data[name] = read_user_data(name, data_dir)
        asked[name], odd = match_questions(name, of_one, data[name])
        notes += odd
    several = [with_answered(outputs, asked[outputs.dataset], data) for outputs in several]
    several = [outputs for outputs in several if outputs.outputs]
    if not any(asked.values()):
        raise UserError(f"{'; '.join(notes)}; expected yours in data_dir")
    folder = write_questions(several, asked, data)
    runs = {}
    for outputs in several:
        alike = (o for o in several if (o.split, o.model) == (outputs.split, outputs.model))
        run = run_of(outputs, folder, list(dict.fromkeys(o.dataset for o in alike)))
        if run.folder in runs:
            found = f"{runs[run.folder].source} and {outputs.source}: found the same run twice"
            raise UserError(f"{found}, expected other questions, systems or settings; import one")
        runs[run.folder] = outputs
        notes += [f"{name_source(outputs)}: {note}" for note in find_odd(outputs, several)]
        write_outputs(run, outputs, {id: q for id, (q, _) in asked[outputs.dataset].items()})
    return Imported([*runs], notes)


def has_outputs(source: Path) -> bool:
    """Whether a folder or file holds outputs that can be imported, and not questions."""
    if source.is_dir():
        return any(any(source.rglob(pattern)) for pattern in (PREDICTIONS, FLASHRAG))
    if not source.is_file() or source.suffix != ".jsonl":
        return source.is_file() and source.name == FLASHRAG
    with source.open(encoding="utf-8", errors="replace") as file:
        return '"prediction"' in file.readline()


def read_outputs(source: Path, **named: str) -> Iterator[Outputs]:
    """All outputs in a folder or file. `named`: what files do not say."""
    folders = sorted({path.parent for path in source.rglob(PREDICTIONS)})
    for folder in folders:
        yield from read_official(folder)
    files = sorted(source.rglob(FLASHRAG)) if source.is_dir() else [source]
    for path in files:
        is_flashrag = path.suffix == ".json"
        read = read_flashrag if is_flashrag else read_json_lines
        stem = path.absolute().parent.name if is_flashrag else path.stem
        outputs = list(read(path))
        yield Outputs(path, **named | {"system": named["system"] or stem}, outputs=outputs)


def drop_repeats(outputs: Outputs) -> Outputs:
    """The outputs with each question once: its first one."""
    counts = Counter(output.id for output in outputs.outputs)
    if not (twice := [id for id, count in counts.items() if count > 1]):
        return outputs
    first = {output.id: output for output in reversed(outputs.outputs)}
    note = f"{len(twice)} ids occur more than once, such as {twice[0]}: the first one counts"
    kept = [first[id] for id in counts]
    return replace(outputs, outputs=kept, notes=[*outputs.notes, note])


def with_answered(
    outputs: Outputs, asked: Mapping[str, QuestionContext], data: Mapping[str, UserData]
) -> Outputs:
    """The outputs to known questions, with the user's paragraphs where they name these."""
    find = data[outputs.dataset].find_page

    def place(step: Step) -> Step:
        is_search = isinstance(step.request, Retrieve)
        return replace(step, reply=tuple(map(find, step.reply))) if is_search else step

    kept = []
    for output in (output for output in outputs.outputs if output.id in asked):
        pages = None if output.paragraphs is None else tuple(map(find, output.paragraphs))
        kept.append(replace(output, paragraphs=pages, trace=tuple(map(place, output.trace))))
    return replace(outputs, outputs=kept)


def write_questions(several: Sequence[Outputs], asked: Mapping, data: Mapping) -> Path:
    """Write all questions into a folder that is named by their content; return it."""
    examples = {}
    for name, of_one in asked.items():
        own = [outputs for outputs in several if outputs.dataset == name]
        examples[name] = collect_pages(of_one, own, data[name])
    digest = hashlib.blake2b(repr(examples).encode("utf-8", "surrogatepass"), digest_size=4)
    folder = DATA / "imported" / digest.hexdigest()
    for name, of_one in examples.items():
        write_imported(folder, name, of_one)
    return folder


def run_of(outputs: Outputs, folder: Path, datasets: list[str]) -> Run:
    """The run that outputs become; its experiment has the name of their questions."""
    place = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    changes = {"data_dir": str(place), "model": outputs.model, "reader": outputs.reader}
    p = read_parameters(PROFILE, changes | {"datasets": datasets})
    shown = outputs.shown if outputs.shown in all_datasets() else None
    shown = shown and find_dataset(shown)
    bench = Setup(p, find_dataset(outputs.dataset), outputs.split or PROFILE, shown)
    system = all_systems().get(outputs.system) or System(outputs.system, program=None)
    return Run(bench, system, "test", dict(outputs.setting))


def write_outputs(run: Run, outputs: Outputs, asked: Mapping[str, Question]) -> None:
    """Write outputs as the folder of a run, which says where they come from."""
    rows, scores, counts = [], [], Counter()
    for output in outputs.outputs:
        result = prediction_of(output)
        rows.append(row_of(output.id, Outcome(output.id, result, output.trace)))
        scores.append(score_output(output, asked[output.id]))
        counts.update(type(step.request).__name__ for step in output.trace)
    about = run.identity | installed() | {"questions": len(rows), "seconds": 0.0}
    about |= {"counts": {kind: {"requests": n, "computed": 0} for kind, n in counts.items()}}
    told = {"from": name_source(outputs), "split": outputs.split, "traced": bool(counts)}
    about |= {"imported": told | {"notes": list(outputs.notes)}}
    table = pd.DataFrame(scores).astype({"paragraphs": "Int64", "steps": "Int64"})
    write_run(run.folder, rows, table, about)


def prediction_of(output: Output) -> Prediction:
    """What a system of the workbench would have returned."""
    pages = output.paragraphs or ()
    return Prediction(output.prediction, pages, output.thoughts, output.reading)


def score_output(output: Output, question: Question) -> dict:
    """A row of scores.csv: what is not known is empty. An empty prediction is scored as such."""
    scores = score(question, replace(prediction_of(output), reading=""))
    if output.paragraphs is None:
        scores |= {"recall": UNKNOWN, "paragraphs": None}
    scores |= {"steps": output.steps}
    return {"id": question.id, "kind": question.kind, **scores}


def name_source(outputs: Outputs) -> str:
    """A folder or file with the folder that it is in, which is often a repository's or a split."""
    return "/".join(outputs.source.absolute().parts[-2:])


def find_odd(outputs: Outputs, several: Sequence[Outputs]) -> Iterator[str]:
    """What is odd about outputs, a line each; also that they are those of an earlier source."""
    yield from outputs.notes
    golds = {output.id: output.answers for output in outputs.outputs}
    for name, measure in (("em", drop.exact_match), ("f1", drop.f1)):
        if name in outputs.committed and all(golds.values()):
            # IRCoT's released program scores all data sets as DROP does
            own = mean(measure(o.prediction, golds[o.id]) for o in outputs.outputs)
            if abs(own - outputs.committed[name]) > 0.00051:
                stated = f"its own file says {name} {outputs.committed[name]:.3f}"
                yield f"{stated}, its predictions and golds give {own:.3f}"
    if scored := [output.score for output in outputs.outputs if output.score is not None]:
        yield f"its own scores, which are not used, have the mean {mean(scored):.3f}"
    answers = {output.id: output.prediction for output in outputs.outputs}
    for other in several[: several.index(outputs)]:
        if other.dataset != outputs.dataset:
            continue
        theirs = {o.id: o.prediction for o in other.outputs if o.id in answers}
        if len(theirs) >= FEWEST and all(answers[id] == text for id, text in theirs.items()):
            if any(theirs.values()):
                yield f"all {len(theirs)} answers equal those of {name_source(other)}"
        if other.split == outputs.split and answers.keys() != {o.id for o in other.outputs}:
            shared = f"{len(theirs)} of {len(answers)} questions"
            yield f"shares {shared} with {name_source(other)}, whose questions have the same name"
