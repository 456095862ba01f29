"""The folder of a run: how it is written and removed, found, and read as tables.

    run.json           what the run is, its parameters, versions, counts and seconds
    predictions.jsonl  a line per question: the prediction, and steps without prompts
    scores.csv         a row per question

A folder is written beside its place and renamed, and run.json is removed first: no kill
leaves a run that seems complete.
"""

import json
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError

from ircotlib import program
from ircotlib.data import Paragraph, Question, read_jsonl, write_jsonl
from ircotlib.datasets import find_dataset
from ircotlib.errors import DataError
from ircotlib.experiment.setup import open_corpus
from ircotlib.files import DATA, locked, write_table, writing
from ircotlib.parameters import Parameters, grid_names, read_parameters
from ircotlib.program import Outcome, Step
from ircotlib.retrieval.corpus import Corpus
from ircotlib.systems import RECALL

PARTIAL = ".partial"  # ends the name of a folder that is being written
AGAIN = "run its notebook again: cached calls cost nothing"


class _Named(BaseModel, extra="allow"):
    """Parameters that stand in every table."""

    profile: str
    model: str
    style: str
    reader: str


class _About(BaseModel, extra="allow"):
    """What a run.json must have to be one."""

    experiment: str
    dataset: str
    shown: str | None
    grid_of: str
    part: str
    system: str
    setting: dict[str, Any]
    metric: str
    counts: dict[str, dict[str, int]]
    parameters: _Named


def write_run(
    folder: Path, predictions: Iterable[dict], scores: pd.DataFrame, about: dict
) -> None:
    """Write a run beside an earlier one, then replace that. `about`: its run.json."""
    experiment = folder.parents[1]
    partial = Path(f"{experiment}{PARTIAL}")
    with locked(Path(f"{experiment}.lock")):
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        with writing(partial / "predictions.jsonl") as new:  # a full disk names it
            write_jsonl(new, predictions)
        write_table(partial / "scores.csv", scores)
        text = json.dumps(about, indent=1) + "\n"
        with writing(partial / "run.json") as new:
            new.write_text(text, encoding="utf-8")
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_run(folder)
        partial.rename(folder)


def remove_run(folder: Path) -> None:
    """Remove a run; first its run.json, without which it is none."""
    (folder / "run.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def remove_others(kept: Collection[Path]) -> None:
    """Remove the runs of the same systems on the same questions but for these."""
    for parent, system in {(each.parent, system_of(each)) for each in kept}:
        with locked(Path(f"{parent.parent}.lock")):
            for folder in parent.glob("*"):
                if system_of(folder) == system and folder not in kept:
                    remove_run(folder)


def system_of(folder: Path) -> str:
    """The system of a run, as it is in the folder's name (`Run.folder`)."""
    return folder.name.split(" ")[0]


def prediction_line(outcome: Outcome) -> dict:
    """One line of predictions.jsonl: a prediction, and its trace without prompts."""
    prediction = outcome.result
    row = {field.name: getattr(prediction, field.name) for field in fields(prediction)}
    row["paragraphs"] = [paragraph.id for paragraph in prediction.paragraphs]
    row["nodes"] = [asdict(node) for node in prediction.nodes]
    return {"id": outcome.id, **row, "trace": [step_line(s) for s in outcome.trace]}


def step_line(step: Step) -> dict:
    tokens = {"prompt_tokens": step.prompt_tokens, "tokens": step.tokens}
    match step.request:
        case program.Retrieve(query, k, titles):
            within = {} if titles is None else {"titles": titles}
            ids = [paragraph.id for paragraph in step.reply]
            return {"retrieve": query, "k": k, **within, "found": ids}
        case program.NearestTitle(title):
            return {"nearest title": title, "found": step.reply}
        case program.Extract(query, paragraph):
            return {"extract": query, "from": paragraph.id, **step.reply._asdict()}
        case program.Duplicate(query, earlier):
            return {"duplicate": query, "of": earlier, "score": step.reply}
        case program.Generate(stop=stop):
            return {"generate": step.reply, "stop": stop, **tokens}
        case program.Sample(stop=stop, temperature=temperature):
            # after the sixth decimal, means depend on the other rows of their batch
            drawn = [
                {"text": text, "log_probability": mean and round(mean, 2)}
                for text, mean in step.reply
            ]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}
    raise TypeError(f"unknown request {step.request!r}")


def find_folders(folder: Path = DATA / "runs") -> list[Path]:
    """The folders of all finished runs below a folder, sorted."""
    found = [path.parent for path in Path(folder).rglob("run.json")]
    return sorted(path for path in found if not path.name.endswith(PARTIAL))


def read_about(folder: Path) -> dict:
    """Read run.json from a run's folder; DataError, in one line, if there is none."""
    path = Path(folder) / "run.json"
    try:
        return _About.model_validate_json(path.read_bytes()).model_dump()
    except (OSError, ValidationError):
        found = f"{path}: found no finished run of this version"
        raise DataError(f"{found}; {AGAIN}") from None


def read_scores(folder: Path) -> pd.DataFrame:
    """A run's scores.csv; recall is NaN for a question without gold paragraphs. Raises
    DataError.
    """
    path = Path(folder) / "scores.csv"
    kinds = {"id": str, "kind": str}  # as they stand: 007 and NA are ids
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
        table.drop(columns=[*kinds]).astype(float)
    except (ValueError, KeyError) as error:  # no table, or a score that is no number
        raise DataError(f"{path}: {error}; {AGAIN}") from None
    return table.fillna(dict.fromkeys(kinds, ""))


def parameters_of(about: Mapping) -> Parameters:
    """The parameters of a run, checked again, without those of other versions."""
    known = {*Parameters.model_fields, *grid_names()}
    given = about["parameters"].items()
    kept = {name: value for name, value in given if name in known}
    return read_parameters(kept["profile"], kept)


def open_questions(about: Mapping) -> tuple[dict[str, Question], Corpus]:
    """The questions of a run's data set by id, and the corpus, from its run.json."""
    dev, test, corpus = open_corpus(parameters_of(about), about["dataset"])
    return {question.id: question for question in (*dev, *test)}, corpus


def columns_of(about: Mapping) -> dict:
    """The columns that describe a run in its table of scores, from its run.json."""
    named = ("profile", "model", "style", "reader")
    return {
        **{name: about["parameters"][name] for name in named},
        "dataset": about["dataset"],
        "system": about["system"],
        "demonstrations": about["shown"] or about["dataset"],
        "metric": about["metric"],
        "demonstrations_shown": about.get("demonstrations_shown"),
        "k": None,
        "m": None,
        "demonstration_set": None,
        **about["setting"],
    }


def read_predictions(folder: Path, measure: str = "") -> pd.DataFrame:
    """The questions of a run, one row each: question, gold `answers`, the ids
    `collected`, `gold_found` and `gold_missed`, what was written, scores, the run's
    columns, and `right`: whether the score by `measure`, or its own, is 1, or None.
    """
    about = read_about(folder)
    metric = measure or about["metric"]
    run = columns_of(about) | {"metric": metric}
    scores = {row["id"]: row for row in read_scores(folder).to_dict("records")}
    questions, _ = open_questions(about)
    predictions = [*read_jsonl(Path(folder) / "predictions.jsonl")]
    if [written.get("id") for written in predictions] != [*scores]:
        raise DataError(f"{folder}: predictions.jsonl lacks or repeats lines; {AGAIN}")
    rows = []
    for written in predictions:
        id, collected = written["id"], written.pop("paragraphs")
        question = questions.get(id)
        if question is None or metric not in scores[id]:
            found = f"{folder}: the data lack question {id!r} or measure {metric!r}"
            raise DataError(f"{found}; {AGAIN}")
        score = scores[id][metric]
        rows.append(
            {
                "id": id,
                "question": question.text,
                "answers": question.answers,
                **written,
                "collected": tuple(collected),
                "gold_found": tuple(g for g in question.gold if g in collected),
                "gold_missed": tuple(g for g in question.gold if g not in collected),
                **scores[id],
                "kind": question.kind,
                **run,
                "right": None if pd.isna(score) else bool(score >= 1),
            }
        )
    if len(rows) != len(scores):
        raise DataError(f"{folder}: {len(rows)} predictions of {len(scores)}; {AGAIN}")
    return pd.DataFrame(rows)


def share_measure(runs: pd.DataFrame) -> pd.Series:
    """The measure of each row: on a data set, that of all that answer, or its first if
    they differ; recall for those that only retrieve.
    """
    shared = runs["metric"].copy()
    answers = runs[runs["metric"] != RECALL]
    for dataset, metrics in answers.groupby("dataset")["metric"]:
        if metrics.nunique() > 1:
            shared[metrics.index] = find_dataset(dataset).measure
    return shared


def find_paragraph(id: str, question: Question, corpus: Corpus) -> Paragraph:
    """A paragraph that was read, or gold; its text is "" if the corpus lacks it."""
    if question.passage and question.passage.id == id:
        return question.passage
    try:
        return corpus.find(id)
    except KeyError:
        if id not in question.gold:
            raise
        return Paragraph(id, id, "")
