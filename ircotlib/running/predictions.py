"""The predictions of a run, with their questions and scores, and why answers are wrong."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from ircotlib.data import Question, read_jsonl
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.program import (
    Duplicate,
    Extract,
    Generate,
    NearestTitle,
    Outcome,
    Retrieve,
    Sample,
    Step,
    unknown,
)
from ircotlib.running.folder import AGAIN, columns_of, read_about
from ircotlib.running.setup import open_dataset
from ircotlib.text import normalise_answer

CAUSES = ("not retrieved", "not parsed / empty", "wrong conclusion", "retrieved, misread")
SAID = ("answer", "paragraphs", "thoughts", "reading")  # read from predictions.jsonl


def read_predictions(folder: Path) -> pd.DataFrame:
    """The questions of a run, one row each: question, gold `answers`, `answer`, `thoughts`,
    `reading`, the ids of paragraphs `collected`, `gold_found` and `gold_missed`, the scores of
    scores.csv, whether the answer is `right`, the `cause` if it is not (`cause_of`), and the
    columns that describe the run (`columns_of`).

    Raises ValueError, in one line, for a folder that is incomplete or was made from other data.
    """
    about, folder = read_about(folder), Path(folder)
    said, scores = read_lines(folder, about), read_scores(folder, about)
    questions, ran = _read_questions(folder, about, said), columns_of(about)
    if missing := [id for id in said if id not in scores]:
        found = f"found no row of the question {missing[0]!r}, which predictions.jsonl has"
        raise ValueError(f"{folder / 'scores.csv'}: {found}, expected {len(said)} rows; {AGAIN}")
    return pd.DataFrame([_row(questions[id], said[id], scores[id], ran) for id in said])


def read_lines(folder: Path, about: Mapping, names: Sequence[str] = SAID) -> dict[str, dict]:
    """The fields `names` of each line of a run's predictions.jsonl, by question id. Raises
    ValueError, in one line, if the file is missing, damaged or incomplete.
    """
    path = folder / "predictions.jsonl"
    expected = f"expected {about['questions']} questions as in run.json"
    try:
        rows = {row["id"]: {name: row[name] for name in names} for row in read_jsonl(path)}
    except FileNotFoundError:
        raise ValueError(f"{path}: found no such file, {expected}; {AGAIN}") from None
    except (ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        found = f"found a line that is damaged or cut off ({reason})"
        raise ValueError(f"{path}: {found}, {expected}; {AGAIN}") from None
    if len(rows) != about["questions"]:
        raise ValueError(f"{path}: found {len(rows)} questions, {expected}; {AGAIN}")
    return rows


def read_scores(folder: Path, about: Mapping) -> dict[str, dict]:
    """The kind and the scores of each question of a run, by question id. Raises ValueError, in one
    line, if they cannot be read.
    """
    path, expected = folder / "scores.csv", f"expected a table of id, kind and {about['metric']}"
    try:
        table = pd.read_csv(path, dtype={"id": str, "kind": str}).set_index("id")
        table["kind"] = table["kind"].fillna("")
        table[about["metric"]].astype(float)
    except FileNotFoundError:
        raise ValueError(f"{path}: found no such file, {expected}; {AGAIN}") from None
    except (ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: found no such table ({reason}), {expected}; {AGAIN}") from None
    return table[~table.index.duplicated()].to_dict("index")


def parameters_of(about: Mapping) -> Parameters:
    """The parameters of a run, from its run.json, checked again."""
    return read_parameters(about["parameters"]["profile"], about["parameters"])


def _read_questions(folder: Path, about: Mapping, ids: Iterable[str]) -> dict[str, Question]:
    """The questions of a run by id, from its data set."""
    p = parameters_of(about)
    dev, test, _ = open_dataset(p, about["dataset"])
    questions = {question.id: question for question in (*dev, *test)}
    if unknown := [id for id in ids if id not in questions]:
        found = f"found the question {unknown[0]!r}, which {about['dataset']} does not have"
        expected = f"expected one of data_dir {p.data_dir!r}, which has changed since the run"
        raise ValueError(f"{folder}: {found}, {expected}; {AGAIN}")
    return questions


def _row(question: Question, said: Mapping, scores: dict, ran: Mapping) -> dict:
    found = set(said["paragraphs"])
    row = {"id": question.id, "question": question.text, "kind": question.kind}
    row |= {"answers": question.answers, "answer": said["answer"]}
    row |= {"thoughts": tuple(said["thoughts"]), "reading": said["reading"]}
    row |= {"collected": tuple(said["paragraphs"])}
    row |= {"gold_found": tuple(id for id in question.gold if id in found)}
    row |= {"gold_missed": tuple(id for id in question.gold if id not in found)}
    row |= scores | {"kind": question.kind} | ran | {"right": not scores[ran["metric"]] < 1}
    return row | {"cause": cause_of(row)}


def cause_of(row: Mapping) -> str:
    """Why the answer of a row of `read_predictions` is wrong, that is, why its measure is below 1:
    the first of four rules that applies, in the order in which a system works (ours). "" for a
    right answer.

    - "not retrieved": a gold paragraph is missing from those collected. This holds for every error
      of a system that retrieves nothing, and for none on a question without gold paragraphs.
    - "not parsed / empty": the answer is empty, or it is the whole text that was written, because
      that text names no answer. The latter does not apply to a direct reader, which writes nothing
      but the answer.
    - "wrong conclusion": the words of a gold answer are in the chain (thoughts and reading), after
      the scorer's normalisation, but the final answer is another. Comparisons are often of this
      kind, because their chains name both candidates.
    - "retrieved, misread": the chain holds no gold answer, though all gold paragraphs were there.
    """
    if row["right"]:
        return ""
    if row["gold_missed"]:
        return "not retrieved"
    written = row["reading"] or " ".join(row["thoughts"])
    direct = bool(row["reading"]) and row["reader"] == "direct"
    if not normalise_answer(row["answer"]) or (row["answer"] == written and not direct):
        return "not parsed / empty"
    chain = " ".join([*row["thoughts"], row["reading"]])
    concluded = any(_stands_in(answer, chain) for answer in row["answers"])
    return "wrong conclusion" if concluded else "retrieved, misread"


def _stands_in(answer: str, chain: str) -> bool:
    """Whether a chain has the words of an answer, or of each span of a JSON list (IIRC)."""
    try:
        spans = json.loads(answer)
    except (ValueError, RecursionError):
        spans = answer
    spans = spans if isinstance(spans, list) else [answer]
    words = f" {normalise_answer(chain)} "
    return all(f" {normalise_answer(str(span))} " in words for span in spans)


def row_of(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: the system's prediction, and its trace without prompts."""
    row = {one.name: getattr(outcome.result, one.name) for one in fields(outcome.result)}
    row["paragraphs"] = [paragraph.id for paragraph in outcome.result.paragraphs]
    row["nodes"] = [asdict(node) for node in outcome.result.nodes]
    return {"id": id, **row, "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    """One step of a trace, without its prompt; `runs.replay` restores prompts."""
    tokens = {"prompt_tokens": step.prompt_tokens, "tokens": step.tokens}
    match step.request:
        case Retrieve(query, k, titles):
            within = {} if titles is None else {"titles": titles}
            found = [paragraph.id for paragraph in step.reply]
            return {"retrieve": query, "k": k, **within, "found": found}
        case NearestTitle(title):
            return {"nearest title": title, "found": step.reply}
        case Extract(query, paragraph):
            return {"extract": query, "from": paragraph.id, **step.reply._asdict()}
        case Duplicate(query, earlier):
            return {"duplicate": query, "of": earlier, "score": step.reply}
        case Generate(stop=stop):
            return {"generate": step.reply, "stop": stop, **tokens}
        case Sample(stop=stop, temperature=temperature):
            drawn = [text._asdict() for text in step.reply]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}
    raise unknown(step.request)
