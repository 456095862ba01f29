"""What real models wrote, scored: folders of IRCoT's released program
(github.com/StonyBrookNLP/ircot), and the scores that are kept of some.
"""

import re
from pathlib import Path

import pandas as pd

from ircotlib.data import parse_json, read_text
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import DataError, UserError
from ircotlib.files import SHIPPED
from ircotlib.models.thoughts import split_thoughts
from ircotlib.results.runs import in_order

KEPT = SHIPPED / "data" / "real_outputs.csv.gz"  # docs/real_outputs.py makes it
PREDICTIONS = "prediction__*_to_*__*.json"
NAMED = re.compile(r"prediction__(.+)_to_(.+?)__(.+)\.json")
PREFIXES = {"ircot_qa_": "IRCoT QA", "oner_qa_": "OneR QA", "nor_qa_": "NoR QA"}
MODEL = re.compile(r'"(?:model_name|engine)":\s*"([^"]+)"')  # in a configuration
TOGETHER = ["dataset", "system", "model", "split"]  # of questions answered together


def import_outputs(*folders: Path | str) -> tuple[pd.DataFrame, list[str]]:
    """The scores of real outputs, a row for each question, by the gold answers beside
    them, and what was left out, a line each. `folders`: of IRCoT's released program, or
    that hold some. Raises UserError if nothing is scored.
    """
    tables, notes = [], []
    for folder in folders:
        for path in sorted(Path(folder).rglob(PREDICTIONS)):
            try:
                scores, notes_of_path = score_predictions(path)
            except (DataError, OSError) as error:
                notes.append(f"{error}: left out")
                continue
            notes += notes_of_path
            if len(scores):
                tables.append(scores)
    if not tables:
        message = (
            "found no outputs that can be scored, expected gold answers and "
            f"{PREDICTIONS} in folders"
        )
        raise UserError("; ".join([message, *notes]))
    return refuse_repeated(pd.concat(tables, ignore_index=True)), notes


def read_outputs(folder: Path | str = "") -> tuple[pd.DataFrame, list[str]]:
    """The kept scores, and those of a folder (`import_outputs`) with its notes."""
    scores = pd.read_csv(KEPT, dtype={"id": str})
    notes: list[str] = []
    if folder:
        imported, notes = import_outputs(folder)
        scores = pd.concat([scores, imported])
    scores["model"] = scores["model"].str.rpartition("/")[2]
    return refuse_repeated(scores), notes


def refuse_repeated(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores, in the order of data sets. Raises UserError if a question has two."""
    repeated = scores[scores.duplicated(["dataset", "system", "model", "id"])]
    if len(repeated):
        names = ", ".join(repeated[TOGETHER].iloc[0])
        raise UserError(
            f"found two outputs of {names} on the same questions: import one"
        )
    return in_order(scores, "dataset", all_datasets())


def score_predictions(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """The scores of a file of predictions, and notes on what is odd in it."""
    names, golds = describe_folder(path)
    measures = find_dataset(names[0]).scores
    answers = read_answers(path)
    known = [id for id in answers if any(map(str.strip, golds.get(id, ())))]
    scores = pd.DataFrame({"id": known, "answer": [answers[id] for id in known]})
    for name, measure in measures.items():
        scores[name] = [measure(answers[id], golds[id]) for id in known]
    scores = scores.assign(**dict(zip(TOGETHER, names)), metric=next(iter(measures)))
    notes = []
    if fewer := len(answers) - len(known):
        notes.append(f"{path}: {fewer} questions have no gold answer: left out")
    if thought := sum(split_thoughts(text)[0] != "" for text in answers.values()):
        notes.append(f"{path}: {thought} answers have thoughts, which are scored, too")
    return scores, notes


def describe_folder(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """What a folder of IRCoT's program says of its predictions (TOGETHER), by the names
    of files and folder and in its configuration, and the gold answers beside them.
    """
    named = NAMED.fullmatch(path.name)
    folder = path.parent
    systems = [
        name for prefix, name in PREFIXES.items() if folder.name.startswith(prefix)
    ]
    if not named or not systems:  # the other folders predict titles
        raise DataError(f"{folder}: the name must begin with {', '.join(PREFIXES)}")
    _, dataset, split = named.groups()
    configs = sorted(folder.glob(f"config__*_{split}.jsonnet"))
    models = MODEL.findall("".join(map(read_text, configs)))
    names = [dataset, *systems, models[0] if models else "not stated", split]
    beside = path.with_name(path.name.replace("prediction", "ground_truth", 1))
    if not beside.exists():
        return names, {}
    golds = dict(_pairs(beside))
    return names, {
        id: gold if isinstance(gold, list) else [gold] for id, gold in golds.items()
    }


def _pairs(path: Path) -> tuple:
    """The items of a JSON object as they stand, also repeated ones."""
    pairs = parse_json(path.read_bytes(), str(path), tuple)
    return pairs if isinstance(pairs, tuple) else ()


def read_answers(path: Path) -> dict[str, str]:
    """The answers in a file of predictions by question id. Raises DataError, in one
    line, for anything else.
    """
    answers: dict[str, str] = {}
    for id, answer in _pairs(path):
        if isinstance(answer, list):
            answer = " ".join(map(str, answer))
        if not isinstance(answer, str) or id in answers:
            again = " again" if id in answers else ""
            raise DataError(
                f"{path}: found the id {id!r}{again} with {answer!r:.60}, expected one "
                "answer for each id, a text"
            )
        answers[id] = answer
    if not answers:
        raise DataError(f"{path}: found no answers, expected one for each question id")
    return answers
