"""Predictions as the data sets' official scorers read them: a JSON object, or a list of lines."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ircotlib.data import parse_json, read_jsonl
from ircotlib.datasets.kilt import VERDICTS
from ircotlib.datasets.pooled import digest, make_id
from ircotlib.metrics import cover_em

NOTHING = "[no answer]"  # KILT's scorer refuses an empty one


class OfficialAnswer(NamedTuple):
    """A question of a run. `record`: of the official file; {} where the format needs none.
    `collected`: the ids of the system's paragraphs, in order.
    """

    id: str
    record: Mapping
    answer: str
    collected: Sequence[str]


def as_hotpotqa(asked: Sequence[OfficialAnswer], others: Sequence[str]) -> dict:
    """HotpotQA's and 2WikiMultihopQA's: answers by id. `others`: supporting sentences ("sp") and
    evidence, which no system predicts: empty.
    """
    parts = {name: {each.id: [] for each in asked} for name in others}
    return {"answer": {each.id: each.answer for each in asked}} | parts


def as_musique(asked: Sequence[OfficialAnswer]) -> list:
    """MuSiQue's: support is what was collected of the question's own paragraphs, by their
    places in it.
    """
    rows = []
    for id, record, answer, collected in asked:
        own = [make_id(p["title"], p["paragraph_text"].strip()) for p in record["paragraphs"]]
        row = {"id": id, "predicted_answer": answer, "predicted_answerable": True}
        support = [number for number, paragraph in enumerate(own) if paragraph in collected]
        rows.append(row | {"predicted_support_idxs": support})
    return rows


def as_strategyqa(asked: Sequence[OfficialAnswer]) -> dict:
    """StrategyQA's: the verdict, null without one, and the paragraphs that were collected."""
    verdicts = {"Yes": True, "No": False, None: None}
    return {id: {"answer": verdicts[find_verdict(answer, ("Yes", "No"))], "paragraphs": collected}
            for id, _, answer, collected in asked}  # fmt: skip


def as_kilt(asked: Sequence[OfficialAnswer]) -> list:
    """KILT's: the answer, and the pages of the passages, whose ids are a page's and a number."""
    rows = []
    for id, record, answer, collected in asked:
        pages = dict.fromkeys(passage.rpartition("-")[0] for passage in collected)
        output = {"answer": answer.strip() or NOTHING}
        output |= {"provenance": [{"wikipedia_id": page} for page in pages]}
        rows.append({"id": id, "input": record["input"], "output": [output]})
    return rows


def as_fever(asked: Sequence[OfficialAnswer]) -> list:
    """KILT's of FEVER, or FEVER's own for its own file; without sentences as evidence."""
    labels = [find_verdict(each.answer, VERDICTS) or "NOT ENOUGH INFO" for each in asked]
    labelled = [*zip(asked, labels, strict=True)]
    if "claim" not in asked[0].record:
        return as_kilt([each._replace(answer=label) for each, label in labelled])
    rows = [{"id": each.record["id"], "predicted_label": label} for each, label in labelled]
    return [row | {"predicted_evidence": []} for row in rows]


def as_answers(asked: Sequence[OfficialAnswer]) -> dict:
    """That of IRCoT's released program: answers by id."""
    return {each.id: each.answer for each in asked}


# by data set: the field with the id in the official file, and what writes predictions
FORMATS = {
    "hotpotqa": ("_id", partial(as_hotpotqa, others=("sp",))),
    "2wikimultihopqa": ("_id", partial(as_hotpotqa, others=("sp", "evidence"))),
    "musique": ("id", as_musique),
    "strategyqa": ("qid", as_strategyqa),
    "fever": ("id", as_fever),
    **dict.fromkeys(("zsre", "trex", "eli5"), ("id", as_kilt)),
}


def find_verdict(answer: str, verdicts: Sequence[str]) -> str | None:
    """The only one of the verdicts in an answer, as `metrics.one_verdict` reads it; else None."""
    given = [verdict for verdict in verdicts if cover_em(answer, [verdict])]
    return given[0] if len(given) == 1 else None


def read_records(dataset: str, path: Path, field: str) -> dict[str, dict]:
    """The records of an official file, by id; one without gets the one that its question has."""
    is_list = path.suffix == ".json"
    rows = parse_json(path.read_bytes(), str(path), "one list") if is_list else read_jsonl(path)
    records = {}
    for row in rows:
        id = row.get(field) or f"{dataset}-{digest(row['question'], 16)}"
        records[str(id)] = row | {field: id}
    return records


def write(value: dict | list, is_list: bool = False) -> str:
    """The text of a file of predictions; of a gold file, which may be one JSON list."""
    if isinstance(value, dict) or is_list:
        return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in value)
