"""The scores of what real models answered, kept in data/real_outputs.csv.gz without the
texts. To make the file of the outputs in some folders, and of no others:

python -m ircot_studies.real_outputs FOLDER…

A folder holds those of IRCoT's released program (github.com/StonyBrookNLP/ircot), with
the gold answers beside them. The folders after it may hold ProbTree's, on some of these
questions: a JSON file for each data set, {id: {"closed_book": answer, "open_book": …,
"from_sub_questions": …}}. Kept are those of Llama-3.1-8B-Instruct, for the test
questions of IRCoT's paper and for as many others (github.com/s-nlp/AdaRAGUE, commit
31c3428, MIT), and of ProbTree with text-davinci-003, for the same test questions
(github.com/THU-KEG/ProbTree, commit ce17f5f, MIT).
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from pydantic import RootModel

from ircot_studies.real_gains import SEARCHES
from ircotlib.data import parse_json, read_text
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.datasets.official import check
from ircotlib.errors import UserError
from ircotlib.files import SHIPPED, writing
from ircotlib.results.runs import in_order

KEPT = SHIPPED / "data" / "real_outputs.csv.gz"
COLUMNS = ["dataset", "split", "model", "system", "id", "steps", "em", "f1", "cover_em"]
PREDICTIONS = "*_qa_*/prediction__*.json"  # the other folders predict titles
SYSTEMS = {"ircot": "IRCoT QA", "oner": "OneR QA", "nor": "NoR QA"}  # by folder
MODEL = re.compile(r"""\b(?:model_name|engine)["']?:\s*["']([^"']+)""")  # of Jsonnet
# what ProbTree retrieves: nothing; five paragraphs for the question and three for a
# sub-question, all read at once; three for a sub-question, whose answers are read
PROBTREE = {
    "closed_book": "NoR QA",
    "open_book": "sub-questions, read at once",
    "from_sub_questions": "sub-questions, one by one",
}
ANSWERS = RootModel[dict[str, str]]  # by question
GOLDS = RootModel[dict[str, list[str]]]
TREES = RootModel[dict[str, dict[str, str | int]]]
Golds = Mapping[str, Sequence[str]]


def read_scores() -> pd.DataFrame:
    """The kept scores, a row for each answer, in the order of data sets. Models are
    named without their owners. `steps`: how many IRCoT took, where it is known.
    """
    scores = pd.read_csv(KEPT, dtype={"id": str})
    scores["model"] = scores["model"].str.rpartition("/")[2]
    return in_order(scores, "dataset", all_datasets())


def score(
    answers: Mapping[str, str], golds: Golds, dataset: str, **named: str
) -> pd.DataFrame:
    """The scores of answers by question, by all measures of the data set. `named`: what
    all rows say.
    """
    measures = find_dataset(dataset).scores
    rows = []
    for id, answer in answers.items():
        row: dict[str, object] = {"dataset": dataset, **named, "id": id, "steps": None}
        row |= {name: measure(answer, golds[id]) for name, measure in measures.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def score_predictions(path: Path, golds: Golds) -> pd.DataFrame:
    """The scores of a file of predictions of IRCoT's program. The names of the file and
    of its folder, and the configuration beside it, say what it is of.
    """
    answers = check(parse_json(path.read_bytes(), str(path)), ANSWERS, str(path)).root
    config = path.with_suffix(".jsonnet").name.replace("prediction", "config", 1)
    model, *_ = MODEL.findall(read_text(path.with_name(config)))
    system = SYSTEMS[path.parent.name.partition("_qa_")[0]]
    _, datasets, split = path.stem.split("__", 2)  # of demonstrations "_to_" questions
    dataset = datasets.rpartition("_to_")[2]
    table = score(answers, golds, dataset, split=split, model=model, system=system)
    steps = path.with_name("stepNum.json")
    if steps.exists() and system == "IRCoT QA":
        table["steps"] = table["id"].map(parse_json(steps.read_bytes(), str(steps)))
    return table


def score_trees(path: Path, golds: Golds) -> pd.DataFrame:
    """The scores of ProbTree's answers on a data set, in each of its ways."""
    named = {"split": "test_subsampled", "model": "text-davinci-003"}
    trees = check(parse_json(path.read_bytes(), str(path)), TREES, str(path)).root
    tables = []
    for kind, system in PROBTREE.items():
        answers = {id: str(each[kind]) for id, each in trees.items()}
        tables.append(score(answers, golds, path.stem, system=system, **named))
    return pd.concat(tables).sort_index(kind="stable")  # question by question


def write_kept(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, compressed: of the same table, the same bytes."""
    with writing(path) as new:
        how = {"method": "gzip", "mtime": 0}
        table.to_csv(new, index=False, lineterminator="\n", compression=how)


def main(*folders: str) -> None:
    golds: dict[str, list[str]] = {}
    predicted, trees = [], []
    for folder in map(Path, folders):
        for path in sorted(folder.rglob(PREDICTIONS)):
            beside = path.with_name(path.name.replace("prediction", "ground_truth", 1))
            found = parse_json(beside.read_bytes(), str(beside))
            golds |= check(found, GOLDS, str(beside)).root
            predicted.append(score_predictions(path, golds))
        for path in sorted(folder.glob("*.json")):
            trees.append(score_trees(path, golds))
    scores = in_order(pd.concat(predicted), "dataset", all_datasets())
    table = pd.concat([scores, *trees])[COLUMNS]
    searches = table.assign(search=table["system"].map(SEARCHES))
    if searches.duplicated(["dataset", "model", "search", "id"]).any():
        raise UserError(
            "found two outputs of a model on the same question that search alike, "
            "expected one: leave a folder out"
        )
    table = table.round(4).astype({"steps": "Int64", "em": int, "cover_em": int})
    write_kept(KEPT, table)


if __name__ == "__main__":
    main(*sys.argv[1:])
