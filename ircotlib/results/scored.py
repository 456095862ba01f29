"""Scores by question, of runs and of files of other programs: lm-eval, Inspect and JSON lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pydantic import Field

from ircotlib.data import excerpt, parse_json, read_jsonl
from ircotlib.datasets.official import Record, Text, check
from ircotlib.errors import DataError, UserError
from ircotlib.experiment.runs import (
    find_folders,
    name_model,
    read_about,
    read_predictions,
    share_measure,
)

SCORE = "score"  # what JSON lines call it
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # Inspect: correct, partial, incorrect, none
ASKED = ("question", "query", "input", "text", "problem")  # fields of lm-eval's documents


@dataclass(frozen=True)
class Scored:
    """The scores of one system on questions of a data set ("": not known). `table`: by question id,
    its `score`, the `question` and the `answer`, which are "" where they are not known.
    """

    name: str
    dataset: str
    metric: str
    table: pd.DataFrame


def read_scored(sources: Iterable[Path | str], metric: str = "") -> list[Scored]:
    """The scores in folders of runs, or that hold some; lm-eval's samples_*.jsonl; Inspect's logs
    in JSON; and JSON lines with `id` and `score`. `metric`: by which; "": that by which the runs of
    a data set are compared, and the first one of other files. Several scores of a question, such as
    those of demonstration sets or epochs, become their mean.
    """
    read = []
    folders = []
    for source in map(Path, sources):
        if source.is_dir():
            samples = sorted(source.rglob("samples_*.jsonl"))
            found = find_folders(source)
            if not found and not samples:
                expected = "expected runs, or lm-eval's samples_*.jsonl"
                raise UserError(f"{source}: found neither, {expected}")
            folders += found
            read += [scored for path in samples for scored in read_lm_eval(path, metric)]
        elif source.suffix == ".json":
            read.append(read_inspect(source, metric))
        else:
            read += read_jsonl_scores(source, metric)
    return number_alike([*read_run_scores(dict.fromkeys(folders), metric), *read])


def read_run_scores(folders: Iterable[Path], metric: str) -> Iterator[Scored]:
    """The test runs in these folders. Those of one system, setting and model on other questions of
    the same data set are one.
    """
    abouts = {folder: read_about(folder) for folder in folders}
    abouts = {folder: about for folder, about in abouts.items() if about["part"] == "test"}
    if not abouts:
        return
    rows = pd.DataFrame([{k: a[k] for k in ("dataset", "metric")} for a in abouts.values()])
    models = {name_model(about["parameters"]) for about in abouts.values()}
    groups = {}
    for (folder, about), own in zip(abouts.items(), share_measure(rows), strict=True):
        table = read_predictions(folder, metric or own)
        measure = table["metric"].iloc[0]
        table = table.assign(score=table[measure]).set_index("id")
        unknown = table["question"] == "[" + table.index + "]"
        table = table.assign(question=table["question"].mask(unknown, ""))
        setting = {k: v for k, v in about["setting"].items() if k != "demonstration_set"}
        named = [about["system"], *(f"{k} {v}" for k, v in setting.items())]
        named += [Path(name_model(about["parameters"])).name] if len(models) > 1 else []
        key = about["dataset"], " · ".join(named), about["shown"], measure
        groups.setdefault(key, []).append((about, table[["score", "question", "answer"]]))
    for (dataset, name, shown, measure), members in groups.items():
        name += f" · shown {shown}" if shown else ""
        sets = {about["setting"].get("demonstration_set") for about, _ in members}
        ids = [set(table.index) for _, table in members]
        if len(sets) == len(members) or len(set.union(*ids)) == sum(map(len, ids)):
            yield Scored(name, dataset, measure, _average(pd.concat([t for _, t in members])))
        else:  # the same questions, asked in other experiments
            for about, table in members:
                own = f"{name} · {about['experiment']}, {about['parameters']['profile']}"
                yield Scored(own, dataset, measure, _average(table))


def _average(table: pd.DataFrame) -> pd.DataFrame:
    """The mean score of each question; questions without one are left out."""
    groups = table.dropna(subset="score").groupby(level=0, sort=False)
    return groups.agg({"score": "mean", "question": "first", "answer": "first"})


def read_jsonl_scores(path: Path, metric: str) -> Iterator[Scored]:
    """The scores in a file of JSON lines, lm-eval's or plain ones."""
    first = next(read_jsonl(path), None)
    if first is None:
        raise DataError(f"{path}: found nothing, expected JSON lines with id and score")
    if "doc_id" in first:
        yield from read_lm_eval(path, metric)
        return
    rows = []
    for number, row in enumerate(read_jsonl(path), start=1):
        where = f"{path}, line {number}"
        if "id" not in row:
            raise DataError(f"{where}: found only {excerpt(', '.join(row))}, expected id and score")
        answer = str(row.get("prediction", ""))
        rows.append(
            (str(row["id"]), _read(row, metric or SCORE, where), row.get("question"), answer)
        )
    yield Scored(path.stem, "", metric or SCORE, _table(rows))


def _read(row: Mapping, metric: str, where: str) -> float:
    """A number, or true or false, in a record."""
    if isinstance(value := row.get(metric), int | float):
        return float(value)
    scores = [name for name, other in row.items() if isinstance(other, int | float)]
    known = [name for name in scores if name not in ("id", "doc_id")]
    remedy = f"--metric names one of {', '.join(known)}" if known else "import answers first"
    raise DataError(f"{where}: found {metric} {excerpt(value)}, expected a number; {remedy}")


def _table(rows: Iterable[tuple]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["id", "score", "question", "answer"]).set_index("id")
    return _average(table.fillna({"question": "", "answer": ""}))


class _Sample(Record):
    doc_id: int | str
    doc: dict = {}
    filter: str = ""
    metrics: list[str] = []
    filtered_resps: list = []


def read_lm_eval(path: Path, metric: str) -> Iterator[Scored]:
    """The scores in lm-eval's samples_TASK_TIME.jsonl (--log_samples), for each of its filters."""
    by_filter = {}
    measure = metric
    for number, row in enumerate(read_jsonl(path), start=1):
        where = f"{path}, line {number}"
        sample = check(row, _Sample, where)
        measure = measure or next(iter(sample.metrics), "")
        score = _read(row, measure, where)
        asked = next((sample.doc[key] for key in ASKED if sample.doc.get(key)), sample.doc)
        asked = asked if isinstance(asked, str) else json.dumps(asked, sort_keys=True)
        answer = sample.filtered_resps[0] if sample.filtered_resps else ""
        of_one = (str(sample.doc_id), score, asked, str(answer))
        by_filter.setdefault(sample.filter, []).append(of_one)
    task = path.stem.removeprefix("samples_").rpartition("_20")[0] or path.stem
    for name, rows in by_filter.items():
        filtered = f" · {name}" if len(by_filter) > 1 else ""
        yield Scored(path.absolute().parent.name + filtered, task, measure, _table(rows))


class _Graded(Record):
    value: str | float | int | bool
    answer: str | None = None


class _InspectSample(Record):
    id: int | str
    input: str | list = ""
    scores: dict[str, dict] | None = None


class _Evaluated(Record):
    task: Text
    model: Text


class _Log(Record):
    eval: _Evaluated
    samples: list[_InspectSample] = Field(min_length=1)


def read_inspect(path: Path, metric: str) -> Scored:
    """The scores of one scorer in a log of Inspect, as JSON: the first, or the one that `metric`
    names. Grades are C 1, P 0.5, I and N 0, as in its accuracy.
    """
    value = parse_json(path.read_bytes(), str(path), "a log of Inspect (inspect log dump)")
    hint = "is it a log of Inspect, with samples, written by inspect log dump?"
    log = check(value, _Log, str(path), hint)
    metric = metric or next(iter(log.samples[0].scores or ()), SCORE)
    rows = []
    for number, sample in enumerate(log.samples, start=1):
        where = f"{path}, sample {number}"
        if metric not in (known := sample.scores or {}):
            found = f"found the scorers {', '.join(known) or 'none'}"
            raise DataError(f"{where}: {found}, expected {metric}; --metric names one")
        graded = check(
            known[metric], _Graded, where, "a scorer with several values has no one score"
        )
        score = GRADES.get(graded.value) if isinstance(graded.value, str) else float(graded.value)
        if score is None:
            expected = f"expected a number, or one of {', '.join(GRADES)}"
            raise DataError(f"{where}: found the value {graded.value!r}, {expected}")
        asked = sample.input if isinstance(sample.input, str) else json.dumps(sample.input)
        rows.append((str(sample.id), score, asked, graded.answer))
    return Scored(Path(log.eval.model).name, log.eval.task, metric, _table(rows))


def number_alike(scored: list[Scored]) -> list[Scored]:
    """The same, those of one name on a data set with a number."""
    apart, counts = [], {}
    for one in scored:
        n = counts[one.dataset, one.name] = counts.get((one.dataset, one.name), 0) + 1
        name = f"{one.name} ({n})" if n > 1 else one.name
        apart.append(Scored(name, one.dataset, one.metric, one.table))
    return apart
