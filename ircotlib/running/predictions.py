"""The predictions of a run: their file, and the table of them with their questions and scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from ircotlib import program
from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.errors import DataError
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.program import Outcome, Step, unknown
from ircotlib.retrieval.corpus import Corpus
from ircotlib.running.folder import AGAIN, columns_of, read_about
from ircotlib.running.setup import open_dataset

WRITTEN = ("answer", "thoughts", "reading", "nodes", "fault", "trace")  # by `row_of`, as they are


def read_predictions(folder: Path) -> pd.DataFrame:
    """The questions of a run, one row each: question, gold `answers`, the ids of paragraphs
    `collected`, `gold_found` and `gold_missed`, the fields WRITTEN of its line of
    predictions.jsonl, the scores of scores.csv, whether the answer is `right`, and the columns that
    describe the run (`columns_of`).

    Raises DataError, in one line, for a folder that is incomplete or was made from other data.
    """
    about, folder = read_about(folder), Path(folder)
    lines = read_lines(folder, about, ("paragraphs", *WRITTEN))
    scores, run = read_scores(folder, about), columns_of(about)
    questions = _read_questions(folder, about, lines)
    if missing := [id for id in lines if id not in scores]:
        problem = f"found no row of the question {missing[0]!r}, which predictions.jsonl has"
        raise DataError(f"{folder / 'scores.csv'}: {problem}, expected {len(lines)} rows; {AGAIN}")
    return pd.DataFrame([_row(questions[id], lines[id], scores[id], run) for id in lines])


def read_lines(folder: Path, about: Mapping, names: Sequence[str]) -> dict[str, dict]:
    """The fields `names` of each line of a run's predictions.jsonl, by question id. Raises
    ValueError, in one line, if the file is missing, damaged or incomplete.
    """
    path = folder / "predictions.jsonl"
    expected = f"expected {about['questions']} questions as in run.json"
    try:
        rows = {row["id"]: {name: row[name] for name in names} for row in read_jsonl(path)}
    except FileNotFoundError:
        raise DataError(f"{path}: found no such file, {expected}; {AGAIN}") from None
    except (ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        problem = f"found a line that is damaged or cut off ({reason})"
        raise DataError(f"{path}: {problem}, {expected}; {AGAIN}") from None
    if len(rows) != about["questions"]:
        raise DataError(f"{path}: found {len(rows)} questions, {expected}; {AGAIN}")
    return rows


def read_scores(folder: Path, about: Mapping) -> dict[str, dict]:
    """The kind and the scores of each question of a run, by question id. Raises DataError, in one
    line, if they cannot be read.
    """
    path, expected = folder / "scores.csv", f"expected a table of id, kind and {about['metric']}"
    try:
        table = pd.read_csv(path, dtype={"id": str, "kind": str}).set_index("id")
        table["kind"] = table["kind"].fillna("")
        table[about["metric"]].astype(float)
    except FileNotFoundError:
        raise DataError(f"{path}: found no such file, {expected}; {AGAIN}") from None
    except (ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: found no such table ({reason}), {expected}; {AGAIN}") from None
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
        problem = f"found the question {unknown[0]!r}, which {about['dataset']} does not have"
        expected = f"expected one of data_dir {p.data_dir!r}, which has changed since the run"
        raise DataError(f"{folder}: {problem}, {expected}; {AGAIN}")
    return questions


def _row(question: Question, line: Mapping, scores: dict, run: Mapping) -> dict:
    collected = tuple(line["paragraphs"])
    row = {"id": question.id, "question": question.text, "answers": question.answers}
    row |= {name: line[name] for name in WRITTEN} | {"collected": collected}
    row |= {"gold_found": tuple(id for id in question.gold if id in collected)}
    row |= {"gold_missed": tuple(id for id in question.gold if id not in collected)}
    return row | scores | {"kind": question.kind} | run | {"right": not scores[run["metric"]] < 1}


def find_paragraph(id: str, question: Question, corpus: Corpus) -> Paragraph:
    """A paragraph of a prediction: the question's main passage, which the corpus may lack, or one
    of the corpus.
    """
    main = question.passage
    return main if main and main.id == id else corpus.find(id)


def row_of(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: the system's prediction, and its trace without prompts."""
    row = {field.name: getattr(outcome.result, field.name) for field in fields(outcome.result)}
    row["paragraphs"] = [paragraph.id for paragraph in outcome.result.paragraphs]
    row["nodes"] = [asdict(node) for node in outcome.result.nodes]
    return {"id": id, **row, "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    """One step of a trace, without its prompt; `runs.replay` restores prompts."""
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
            drawn = [text._asdict() for text in step.reply]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}
    raise unknown(step.request)
