"""What real models wrote, scored: folders of IRCoT's released program
(github.com/StonyBrookNLP/ircot), and the scores that are kept of some.
"""

import re
from pathlib import Path

import pandas as pd
from pydantic import RootModel

from ircotlib.data import parse_json, read_text
from ircotlib.datasets import all_datasets
from ircotlib.datasets.files import find_questions
from ircotlib.datasets.official import check
from ircotlib.errors import DataError, UserError
from ircotlib.files import ROOT, SHIPPED, resolve
from ircotlib.papers.real_gains import SEARCHES
from ircotlib.results.runs import in_order

KEPT = SHIPPED / "data" / "real_outputs.csv.gz"  # docs/real_outputs.py makes it
PREDICTIONS = "prediction__*_to_*__*.json"
NAMED = re.compile(r"prediction__(.+)_to_(.+?)__(.+)\.json")
PREFIXES = {"ircot_qa_": "IRCoT QA", "oner_qa_": "OneR QA", "nor_qa_": "NoR QA"}
MODEL = re.compile(r"""\b(?:model_name|engine)["']?:\s*["']([^"']+)""")  # of Jsonnet
CORPUS = re.compile(r"""corpus_name["']?\s*[:=]\s*["']([^"']+)""")
GOLDS = RootModel[dict[str, list[str]]]  # answers by question
TOGETHER = ["dataset", "system", "model", "split"]  # of questions answered together


def import_outputs(
    folder: Path | str, data_dir: str = ""
) -> tuple[pd.DataFrame, list[str]]:
    """The scores of real outputs, a row for each question, by the gold answers beside
    them, or else of the questions in `data_dir`; and what was left out or is odd, a
    line each. `folder`: of IRCoT's released program, or one that holds some. Raises
    UserError if nothing is scored.
    """
    tables, notes = [], []
    for path in sorted(Path(folder).rglob(PREDICTIONS)):
        try:
            scores, odd = score_predictions(path, data_dir)
        except (DataError, OSError) as error:
            notes.append(f"{error}: left out")
            continue
        tables.append(scores)
        notes += odd
    if not any(map(len, tables)):
        raise UserError(
            f"found no outputs that can be scored, expected gold answers and "
            f"{PREDICTIONS} in {'; '.join([str(folder), *notes[:1]])}"
        )
    return refuse_repeated(pd.concat(tables, ignore_index=True)), notes


def read_outputs(
    folder: Path | str = "", data_dir: str = ""
) -> tuple[pd.DataFrame, list[str]]:
    """The kept scores, and those of a folder (`import_outputs`) with its notes. Models
    are named without their owners, unless two would have one name.
    """
    scores = pd.read_csv(KEPT, dtype={"id": str})
    notes: list[str] = []
    if folder:
        imported, notes = import_outputs(folder, data_dir)
        scores = pd.concat([scores, imported])
    short = scores["model"].str.rpartition("/")[2]
    alone = scores["model"].groupby(short).transform("nunique") == 1
    scores["model"] = short.where(alone, scores["model"])
    return refuse_repeated(scores), notes


def refuse_repeated(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores, in the order of data sets. Raises UserError if a question has two of
    one model and one way to search.
    """
    searches = scores.assign(search=scores["system"].replace(SEARCHES))
    repeated = scores[searches.duplicated(["dataset", "search", "model", "id"])]
    if len(repeated):
        names = ", ".join(repeated[TOGETHER].iloc[0])
        raise UserError(
            f"found two outputs of {names} on the same questions: import one"
        )
    return in_order(scores, "dataset", all_datasets())


def score_predictions(path: Path, data_dir: str = "") -> tuple[pd.DataFrame, list[str]]:
    """The scores of a file of predictions, and notes on what is odd in it."""
    names, golds = describe_folder(path)
    dataset = all_datasets().get(names[0])
    if dataset is None or "f1" not in dataset.scores:
        raise DataError(
            f"{path}: found the data set {names[0]!r}, expected one whose answers have "
            "an F1, such as hotpotqa"
        )
    answers = read_answers(path)
    if not golds and data_dir:
        questions = dataset.read(find_questions(dataset, ROOT / resolve(data_dir)))
        golds = {question.id: [*question.answers] for question, _ in questions}
    known = [id for id in answers if any(map(str.strip, golds.get(id, ())))]
    scores = pd.DataFrame({"id": known, "answer": [answers[id] for id in known]})
    for name, measure in dataset.scores.items():
        scores[name] = [measure(answers[id], golds[id]) for id in known]
    scores = scores.assign(**dict(zip(TOGETHER, names)), metric=dataset.measure)
    notes = []
    if unscored := len(answers) - len(known):
        notes.append(
            f"{path}: {unscored} questions have no gold answer: left out; put it "
            "beside the file, or set data_dir"
        )
    if not path.name.startswith(f"prediction__{dataset.name}_to_"):
        notes.append(f"{path}: its demonstrations are of another data set")
    corpora = all_datasets().keys() & CORPUS.findall(read_config(path))
    for corpus in sorted(corpora - {dataset.name}):
        notes.append(f"{path}: its corpus is {corpus!r}")
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
    models = MODEL.findall(read_config(path))
    names = [dataset, *systems, *(models or ["not stated"])[:1], split]
    beside = path.with_name(path.name.replace("prediction", "ground_truth", 1))
    if not beside.exists():
        return names, {}
    golds = parse_json(beside.read_bytes(), str(beside))
    return names, check(golds, GOLDS, str(beside)).root


def read_config(path: Path) -> str:
    """The configuration beside a file of predictions, "" if there is none."""
    name = path.with_suffix(".jsonnet").name.replace("prediction", "config", 1)
    config = path.with_name(name)
    return read_text(config) if config.is_file() else ""


def read_answers(path: Path) -> dict[str, str]:
    """The answers in a file of predictions by question id. Raises DataError, in one
    line, for anything else.
    """
    # the items of a JSON object as they stand, also repeated ones
    pairs = parse_json(path.read_bytes(), str(path), tuple)
    answers: dict[str, str] = {}
    for id, answer in pairs if isinstance(pairs, tuple) else ():
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
