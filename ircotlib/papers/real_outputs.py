"""What real models wrote, scored: folders of IRCoT's released program
(github.com/StonyBrookNLP/ircot), and files of answers; and what the papers claim,
tested on it.
"""

import re
from pathlib import Path

import pandas as pd

from ircotlib.data import parse_json, read_lines, read_text
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import DataError, UserError
from ircotlib.files import ROOT
from ircotlib.models.choices import split_thoughts
from ircotlib.papers.claims import compare_claims, decide, print_differences
from ircotlib.papers.ircot import ALL
from ircotlib.results.runs import in_order
from ircotlib.results.statistics import holm

PREDICTIONS = "prediction__*_to_*__*.json"
NAMED = re.compile(r"prediction__(.+)_to_(.+?)__(.+)\.json")
PREFIXES = {"ircot_qa_": "IRCoT QA", "oner_qa_": "OneR QA", "nor_qa_": "NoR QA"}
MODEL = re.compile(r'"(?:model_name|engine)":\s*"([^"]+)"')  # in a configuration
# of questions that were answered together
ABOUT = ["dataset", "system", "model", "split"]


def import_outputs(
    *sources: Path | str,
    data_dir: str = "",
    dataset: str = "",
    system: str = "",
    model: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """The scores of real outputs, a row for each question, and what was left out, a
    line each.

    `sources`: folders of IRCoT's released program, or that hold some; and files that
    have an answer for each question id: JSON, HotpotQA's official {"answer": ...}, or
    JSON lines with id and prediction. `data_dir`: your official files, whose gold
    answers count where they have the question, else those beside the predictions.
    `dataset`, `system`, `model`: of files, which do not say it; `system` is by default
    the file's name. Raises UserError if nothing is scored.
    """
    tables, notes, official = [], [], {}
    folders = [Path(source) for source in sources]
    found = [
        sorted(each.rglob(PREDICTIONS)) if each.is_dir() else [each] for each in folders
    ]
    for path in sum(found, []):
        about, golds = [dataset, system or path.stem, model or "not stated", ""], {}
        try:
            if NAMED.fullmatch(path.name):
                about, golds = describe_folder(path)
            record = find_dataset(about[0])
            if data_dir and record.name not in official:
                questions = record.read(find_questions(record, ROOT / data_dir))
                official[record.name] = {q.id: q.answers for q, _ in questions}
            answers = read_answers(path)
        except (DataError, OSError) as error:
            notes.append(f"{error}: left out")
            continue
        golds |= official.get(record.name, {})
        known = [id for id in answers if any(map(str.strip, golds.get(id, ())))]
        scores = pd.DataFrame({"id": known, "answer": [answers[id] for id in known]})
        for name, measure in record.scores.items():
            scores[name] = [measure(answers[id], golds[id]) for id in known]
        named = dict(zip(ABOUT, about, strict=True)) | {
            "metric": next(iter(record.scores))
        }
        tables.append(scores.assign(**named))
        if fewer := len(answers) - len(known):
            notes.append(f"{path}: {fewer} questions have no gold answer: left out")
        if thought := sum(
            split_thoughts(answer)[0] != "" for answer in answers.values()
        ):
            notes.append(
                f"{path}: {thought} answers have thoughts, which are scored, too"
            )
    if not sum(map(len, tables)):
        expected = (
            f"expected {PREDICTIONS} in folders, or files of answers, and gold answers"
        )
        raise UserError(
            "; ".join([f"found no outputs that can be scored, {expected}", *notes])
        )
    table = pd.concat([scores for scores in tables if len(scores)], ignore_index=True)
    if len(twice := table[table.duplicated([*ABOUT, "id"])]):
        found = ", ".join(twice[ABOUT].iloc[0])
        raise UserError(
            f"found two outputs of {found} on the same questions: import one"
        )
    table = table.assign(
        profile="imported", demonstrations=table["dataset"], demonstration_set=0
    )
    return in_order(table, "dataset", all_datasets()), notes


def describe_folder(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """What a folder of IRCoT's program says of its predictions (ABOUT), by the names of
    files and folder and in its configuration, and the gold answers beside them.
    """
    _, dataset, split = NAMED.fullmatch(path.name).groups()
    systems = [
        name for prefix, name in PREFIXES.items() if path.parent.name.startswith(prefix)
    ]
    if not systems:  # the others predict titles
        raise DataError(
            f"{path.parent}: the name must begin with {', '.join(PREFIXES)}"
        )
    config = "".join(
        map(read_text, sorted(path.parent.glob(f"config__*_{split}.jsonnet")))
    )
    model = next(iter(MODEL.findall(config)), "not stated")
    golds = path.with_name(path.name.replace("prediction", "ground_truth", 1))
    golds = parse_json(golds.read_bytes(), str(golds)) if golds.exists() else {}
    golds = {
        id: gold if isinstance(gold, list) else [gold] for id, gold in golds.items()
    }
    return [dataset, *systems, model, split], golds


def read_answers(path: Path) -> dict[str, str]:
    """The answers in a file by question id. Raises DataError, in one line, for anything
    else.
    """
    if path.suffix == ".jsonl":
        pairs = [(row.get("id"), row.get("prediction")) for row, _ in read_lines(path)]
    else:
        # as they stand, also repeated
        pairs = parse_json(path.read_bytes(), str(path), tuple)
        pairs = dict(pairs).get("answer", pairs) if isinstance(pairs, tuple) else ()
    answers = {}
    for id, said in pairs:
        said = " ".join(said) if isinstance(said, list) else said
        if not isinstance(said, str) or id is None or str(id) in answers:
            again = " again" if str(id) in answers else ""
            found = f"found the id {id!r}{again} with {said!r:.60}"
            raise DataError(f"{path}: {found}, expected one answer for each id, a text")
        answers[str(id)] = said
    if not answers:
        raise DataError(f"{path}: found no answers, expected one for each question id")
    return answers


def judge_outputs(scores: pd.DataFrame, metric: str = "f1") -> pd.DataFrame:
    """IRCoT's claims about answers (§5, App. E) on each data set: on all questions, and
    by `split`. `p_holm`, corrected for all of one name, decides. `paper`: differences
    of F1 (Table 4).
    """
    if len(models := scores["model"].unique()) > 1:
        raise UserError(
            f"found outputs of {', '.join(models)}, expected those of one model"
        )
    every = pd.concat([scores.assign(split=ALL), scores]).assign(metric=metric)
    table = compare_claims(every, ["split", "dataset"])
    table["p_holm"] = table.groupby("split")["p"].transform(holm)
    table["verdict"] = decide(table["p_holm"], table["mean"], table["equal"])
    named = zip(table["claim"], table["dataset"], strict=True)
    table["paper"] = [print_differences("ircot", "Table 4", *of) for of in named]
    columns = [
        "split",
        "dataset",
        "claim",
        "metric",
        "n",
        "difference",
        "low",
        "high",
        "p",
    ]
    return table.rename(columns={"mean": "difference"})[
        [*columns, "p_holm", "verdict", "paper"]
    ]
