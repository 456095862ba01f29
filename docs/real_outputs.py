"""Makes data/real_outputs.csv.gz: the scores of real models' outputs, without their
texts.

python -m docs.real_outputs ADARAGUE PROBTREE

ADARAGUE: folders of IRCoT's released program with Llama-3.1-8B-Instruct, of the test
questions of its paper and of as many others (github.com/s-nlp/AdaRAGUE, commit 31c3428,
MIT). PROBTREE: a JSON file for each data set, {id: {"closed_book": answer, "open_book":
…, "from_sub_questions": …}}, of the trees of text-davinci-003
(github.com/THU-KEG/ProbTree, commit ce17f5f, MIT), on the same test questions, whose
gold answers are beside AdaRAGUE's predictions.
"""

import sys
from pathlib import Path

import pandas as pd

from docs.real_chains import write_kept
from ircotlib.data import parse_json
from ircotlib.datasets import find_dataset
from ircotlib.papers.real_outputs import KEPT, describe_folder, import_outputs

COLUMNS = ["dataset", "split", "model", "system", "id", "steps", "em", "f1", "cover_em"]
# what ProbTree retrieves: nothing; five paragraphs for the question and three for a
# sub-question, all read at once; three for a sub-question, whose answers are read
SYSTEMS = {
    "closed_book": "NoR QA",
    "open_book": "sub-questions, read at once",
    "from_sub_questions": "sub-questions, one by one",
}


def read_probtree(folder: Path, golds: dict[str, dict]) -> pd.DataFrame:
    """The scores of ProbTree's answers. `golds`: answers by data set and id."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        measures = find_dataset(path.stem).scores
        for id, answers in parse_json(path.read_bytes(), str(path)).items():
            for kind, system in SYSTEMS.items():
                row = {
                    "dataset": path.stem,
                    "split": "test_subsampled",
                    "model": "text-davinci-003",
                    "system": system,
                    "id": id,
                }
                for name, measure in measures.items():
                    row[name] = measure(answers[kind], golds[path.stem][id])
                rows.append(row)
    return pd.DataFrame(rows)


def main(adarague: str, probtree: str) -> None:
    scores, notes = import_outputs(Path(adarague))
    print(*notes, sep="\n")
    golds, steps = {}, {}
    for path in sorted(Path(adarague).rglob("prediction__*.json")):
        (dataset, *_), of_path = describe_folder(path)
        golds.setdefault(dataset, {}).update(of_path)
    for path in Path(adarague).rglob("ircot_qa_*/stepNum.json"):
        dataset = next(name for name in golds if f"_{name}_" in path.parent.name)
        for id, n in parse_json(path.read_bytes(), str(path)).items():
            steps[dataset, id] = n
    answers = scores[["dataset", "system", "id"]].itertuples(index=False)
    scores["steps"] = [
        steps.get((dataset, id)) if system == "IRCoT QA" else None
        for dataset, system, id in answers
    ]
    table = pd.concat([scores, read_probtree(Path(probtree), golds)])[COLUMNS]
    table = table.round(4).astype({"steps": "Int64", "em": int, "cover_em": int})
    write_kept(KEPT, table)


if __name__ == "__main__":
    main(*sys.argv[1:])
