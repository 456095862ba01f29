"""The predictions of a run: their file, and the table of them with their questions and scores."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

import pandas as pd

from ircotlib import program
from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.errors import DataError, UserError
from ircotlib.files.tables import Number, read_table
from ircotlib.program import Outcome, Step, unknown
from ircotlib.retrieval.corpus import Corpus
from ircotlib.running.backends import open_dataset
from ircotlib.running.run import RERUN, columns_of, parameters_of, read_about, read_file
from ircotlib.systems import RECALL

# the fields of `row_of` that are read as they are
WRITTEN = ("answer", "thoughts", "reading", "nodes", "fault", "trace")
SCORE = Number(0, 1, empty=float("nan"))  # empty: the question has no gold paragraphs
# empty: an imported run does not say
COUNTS = dict.fromkeys(("paragraphs", "steps"), Number(0, kind=int, empty=float("nan")))


def read_predictions(folder: Path, measure: str = "") -> pd.DataFrame:
    """The questions of a run, one row each: question, gold `answers`, the ids of paragraphs
    `collected`, `gold_found` and `gold_missed`, the fields WRITTEN of its line of
    predictions.jsonl, the scores of scores.csv, the columns that describe the run (`columns_of`),
    and whether the answer is `right`: its score by `metric` is 1. That is `measure`, if one is
    stated, as it must be to compare runs (`share_measure`), else the run's own.

    Raises DataError, in one line, for a folder that is damaged or was made from other data.
    """
    about = read_about(folder)
    lines = read_lines(folder, about)
    scores = read_scores(folder, about)
    run = columns_of(about)
    run |= {"metric": measure or run["metric"]}
    if run["metric"] not in (known := next(iter(scores.values()), run.values())):
        expected = f"expected one of {', '.join(known)}"
        raise UserError(f"{folder}: found the measure {measure!r}, {expected}")
    lacking = [name for name in WRITTEN if any(name not in line for line in lines.values())]
    if lacking:
        older = f"found predictions of an earlier version, without {', '.join(lacking)}"
        raise DataError(f"{folder}: {older}; {RERUN}")
    questions = read_questions(folder, about, lines)
    return pd.DataFrame([_row(questions[id], lines[id], scores[id], run) for id in lines])


def share_measure(runs: pd.DataFrame) -> pd.Series:
    """The measure by which runs are compared, one for each row: on a data set, that of all that
    answer, or its first if they differ; recall for those that only retrieve. `runs`: columns
    dataset and metric, which is their own measure.
    """
    own = runs["metric"].copy()
    answers = runs[runs["metric"] != RECALL]
    for dataset, metrics in answers.groupby("dataset")["metric"]:
        if metrics.nunique() > 1:
            own[metrics.index] = next(iter(find_dataset(dataset).scores))
    return own


def expect_one_measure(metrics: Iterable[str]) -> None:
    """Raise UserError if what is compared is not all scored by the same measure."""
    if len(found := sorted({*map(str, metrics)})) > 1:
        expected = "expected one measure for all that is compared, such as that of share_measure"
        raise UserError(f"found answers scored by {' and '.join(found)}, {expected}")


def read_lines(folder: Path, about: Mapping) -> dict[str, dict]:
    """The lines of a run's predictions.jsonl, as `row_of` made them, by question id."""
    lines = map(json.loads, read_file(folder, about, "predictions.jsonl").splitlines())
    return {line["id"]: line for line in lines}


def read_scores(folder: Path, about: Mapping) -> dict[str, dict]:
    """The rows of a run's scores.csv by question id: its id, kind and scores."""
    path = Path(folder) / "scores.csv"
    columns = {"id": None, "kind": None} | COUNTS
    content = read_file(folder, about, path.name)
    rows = read_table(path, columns, key=["id"], others=SCORE, content=content)
    return {row["id"]: row for row in rows}


def read_questions(folder: Path, about: Mapping, ids: Iterable[str]) -> dict[str, Question]:
    """The questions of a run by id, from its data set."""
    p = parameters_of(about)
    dev, test, _ = open_dataset(p, about["dataset"])
    questions = {question.id: question for question in (*dev, *test)}
    if unknown := [id for id in ids if id not in questions]:
        problem = f"found the question {unknown[0]!r}, which {about['dataset']} does not have"
        expected = f"expected one of data_dir {p.data_dir!r}, which has changed since the run"
        raise DataError(f"{folder}: {problem}, {expected}; {RERUN}")
    return questions


def _row(question: Question, line: Mapping, scores: dict, run: Mapping) -> dict:
    collected = tuple(line["paragraphs"])
    row = {"id": question.id, "question": question.text, "answers": question.answers}
    row |= {name: line[name] for name in WRITTEN} | {"collected": collected}
    row |= {"gold_found": tuple(id for id in question.gold if id in collected)}
    row |= {"gold_missed": tuple(id for id in question.gold if id not in collected)}
    return row | scores | {"kind": question.kind} | run | {"right": not scores[run["metric"]] < 1}


def find_paragraph(id: str, question: Question, corpus: Corpus) -> Paragraph:
    """A paragraph of a prediction, or a gold one: the question's main passage, which the corpus may
    lack, or one of the corpus. A gold id that the corpus lacks (IIRC) stands for its paragraph.
    """
    if question.passage and question.passage.id == id:
        return question.passage
    try:
        return corpus.find(id)
    except KeyError:
        if id not in question.gold:
            raise
        return Paragraph(id, id, "")


def row_of(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: the system's prediction, and its trace without prompts."""
    row = {field.name: getattr(outcome.result, field.name) for field in fields(outcome.result)}
    row["paragraphs"] = [paragraph.id for paragraph in outcome.result.paragraphs]
    row["nodes"] = [asdict(node) for node in outcome.result.nodes]
    return {"id": id, **row, "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    """One step of a trace, without its prompt; `experiment.replay` restores prompts."""
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
            # from the seventh decimal on, they depend on the other rows of their batch
            means = [mean and round(mean, 2) for _, mean in step.reply]
            drawn = [
                {"text": text, "log_probability": mean}
                for (text, _), mean in zip(step.reply, means, strict=True)
            ]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}
    raise unknown(step.request)


def restore_outcomes(folder: Path, ids: Collection[str] | None = None) -> dict[str, Outcome]:
    """The outcomes of a run by question id, from its folder alone: without prompts. `ids`: only
    these questions.
    """
    about = read_about(folder)
    lines = read_lines(folder, about)
    if unknown := [id for id in ids or () if id not in lines]:
        expected = f"expected some of its {len(lines)} questions"
        raise UserError(f"{folder}: found no question {unknown[0]!r}, {expected}")
    lines = lines if ids is None else {id: lines[id] for id in ids}
    corpus = open_dataset(parameters_of(about), about["dataset"])[2].corpus
    outcomes = {}
    for id, question in read_questions(folder, about, lines).items():
        if line := lines.get(id):
            find = partial(find_paragraph, question=question, corpus=corpus)
            kept = {field.name: line[field.name] for field in fields(Prediction)}
            kept |= {"paragraphs": tuple(map(find, line["paragraphs"]))}
            kept |= {"thoughts": tuple(line["thoughts"])}
            kept |= {"nodes": tuple(Node(**node) for node in line["nodes"])}
            steps = tuple(restore_steps(line, find))
            outcomes[id] = Outcome(id, Prediction(**kept), steps)
    return outcomes


def restore_steps(line: Mapping, find: Callable[[str], Paragraph]) -> Iterator[Step]:
    """The steps in the trace of a line of predictions.jsonl, without their prompts. `find`: finds a
    paragraph by its id.
    """
    for step in line["trace"]:
        match step:
            case {"retrieve": query, "k": k, "found": ids}:
                request = program.Retrieve(query, k, step.get("titles"))
                reply = tuple(map(find, ids))
            case {"nearest title": title, "found": titles}:
                request, reply = program.NearestTitle(title), tuple(titles)
            case {"extract": query, "from": id}:
                request = program.Extract(query, find(id))
                reply = program.Extracted(step["text"], step["confidence"])
            case {"duplicate": query, "of": earlier, "score": reply}:
                request = program.Duplicate(query, tuple(earlier))
            case {"generate": reply, "stop": stop}:
                request = program.Generate("", stop)
            case {"sample": drawn, "temperature": temperature, "stop": stop}:
                reply = tuple(program.Sampled(**one) for one in drawn)
                request = program.Sample("", len(reply), temperature, stop)
        yield Step(request, reply, True, step.get("prompt_tokens", 0), step.get("tokens", 0))
