"""What real models wrote, scored: folders of IRCoT's released program
(github.com/StonyBrookNLP/ircot), and files of answers; and what the papers claim, tested on it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import pandas as pd

from ircotlib.data import excerpt, parse_json, read_lines, read_text
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import DataError, UserError
from ircotlib.files.paths import ROOT
from ircotlib.papers.claims import decide, print_differences
from ircotlib.papers.ircot import ALL, SYSTEMS
from ircotlib.results.statistics import compare_scores, holm

PREDICTIONS = "prediction__*_to_*__*.json"
NAMED = re.compile(r"prediction__(.+)_to_(.+?)__(.+)\.json")
PREFIXES = {"ircot_qa": "IRCoT QA", "oner_qa": "OneR QA", "nor_qa": "NoR QA"}
MODEL = re.compile(r'"(?:model_name|engine)":\s*"([^"]+)"')  # in a configuration
ABOUT = ["dataset", "system", "model", "split"]  # of questions that were answered together


def import_outputs(
    *sources: Path | str, data_dir: str = "", dataset: str = "", system: str = "", model: str = ""
) -> tuple[pd.DataFrame, list[str]]:
    """The scores of real outputs, a row for each question, and what was left out, a line each.

    `sources`: folders of IRCoT's released program, or that hold some; and files that have an answer
    for each question id: JSON, HotpotQA's official {"answer": ...}, or JSON lines with id and
    prediction. `data_dir`: your official files, whose gold answers count where they have the
    question, else those beside the predictions. `dataset`, `system`, `model`: of files, which do
    not say it; `system` is by default the file's name. Raises UserError if nothing can be scored,
    or the same was read twice.
    """
    tables, notes, golds = [], [], {}
    for source in map(Path, sources):
        for path in sorted(source.rglob(PREDICTIONS)) if source.is_dir() else [source]:
            try:
                if NAMED.fullmatch(path.name):
                    about, beside = describe_folder(path)
                else:
                    about = [dataset, system or path.stem, model or "not stated", ""]
                    beside = {}
                if (name := about[0]) not in golds:
                    golds[name] = dict(read_golds(name, data_dir)) if data_dir else {}
                answers = read_answers(path)
                table = score_answers(name, answers, beside | golds[name])
            except (DataError, OSError) as error:
                notes.append(f"{error}: left out")
                continue
            tables.append(table.assign(**dict(zip(ABOUT, about, strict=True))))
            if fewer := len(answers) - len(table):
                notes.append(f"{path}: {fewer} questions have no gold answer: left out")
            if thought := sum("</think>" in answer for answer in answers.values()):
                notes.append(f"{path}: {thought} answers have thoughts, which are scored, too")
    if not sum(map(len, tables)):
        expected = (
            f"expected {PREDICTIONS} in folders, or a file of answers by id, and gold answers"
        )
        raise UserError(f"{' '.join(map(str, sources))}: found no outputs, {expected}; {notes}")
    scores = pd.concat(tables, ignore_index=True)
    if len(twice := scores[scores.duplicated([*ABOUT, "id"])]):
        found = ", ".join(twice[ABOUT].iloc[0])
        raise UserError(f"found two outputs of {found} on the same questions: import one")
    places = {"profile": "imported", "demonstrations": scores["dataset"], "demonstration_set": 0}
    return scores.assign(**places), notes


def has_outputs(source: Path) -> bool:
    """Whether a folder or file holds outputs that can be imported, and not questions."""
    if source.is_dir():
        return any(source.rglob(PREDICTIONS))
    if source.suffix == ".jsonl" and source.is_file():
        with source.open(encoding="utf-8", errors="replace") as file:
            return '"prediction"' in file.readline()
    return source.suffix == ".json" and source.is_file()


def describe_folder(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """What a folder of IRCoT's program says of its predictions (ABOUT), by the names of files and
    folder and in its configuration, and the gold answers beside them.
    """
    _, dataset, split = NAMED.fullmatch(path.name).groups()
    named = path.parent.name
    prefix = next((prefix for prefix in PREFIXES if named.startswith(f"{prefix}_")), "")
    if not prefix:  # the others predict titles
        raise DataError(f"{path.parent}: expected a name that begins with {', '.join(PREFIXES)}")
    config = "".join(map(read_text, sorted(path.parent.glob(f"config__*_{split}.jsonnet"))))
    [*models] = MODEL.findall(config)
    golds = path.with_name(path.name.replace("prediction", "ground_truth", 1))
    golds = parse_json(golds.read_bytes(), str(golds), "an object") if golds.exists() else {}
    about = [dataset, PREFIXES[prefix], (models or ["not stated"])[0], split]
    return about, {id: gold if isinstance(gold, list) else [gold] for id, gold in golds.items()}


def read_answers(path: Path) -> dict[str, str]:
    """The answers in a file by question id. Raises DataError, in one line, for anything else."""
    if path.suffix == ".jsonl":
        rows = [row for row, _ in read_lines(path)]
        pairs = [(row.get("id"), row.get("prediction")) for row in rows if isinstance(row, dict)]
    else:
        parse_json(path.read_bytes(), str(path), "one JSON object")
        pairs = json.loads(read_text(path), object_pairs_hook=tuple)
        pairs = dict(pairs).get("answer", pairs) if isinstance(pairs, tuple) else ()
    answers = {}
    for id, said in pairs:
        said = " ".join(said) if isinstance(said, list) else said
        if not isinstance(said, str) or id is None or str(id) in answers:
            again = " again" if str(id) in answers else ""
            found = f"found the id {id!r}{again} with {excerpt(said)}"
            raise DataError(f"{path}: {found}, expected one answer for each id, a text")
        answers[str(id)] = said
    if not answers:
        raise DataError(f"{path}: found no answers, expected one for each question id")
    return answers


def read_golds(dataset: str, data_dir: str) -> Iterator[tuple[str, list[str]]]:
    """The gold answers by question id of the user's data set."""
    record = find_dataset(dataset)
    for question, _ in record.read(find_questions(record, ROOT / data_dir)):
        yield question.id, [*question.answers]


def score_answers(
    dataset: str, answers: Mapping[str, str], golds: Mapping[str, list[str]]
) -> pd.DataFrame:
    """The scores of the answers that have a gold one, by all measures of the data set."""
    measures = find_dataset(dataset).scores
    rows = [
        {"id": id, "answer": answer}
        | {name: of(answer, golds[id]) for name, of in measures.items()}
        for id, answer in answers.items()
        if any(map(str.strip, golds.get(id, ())))
    ]
    return pd.DataFrame(rows).assign(metric=next(iter(measures)))


def judge_outputs(scores: pd.DataFrame, metric: str = "f1") -> pd.DataFrame:
    """IRCoT's claims about answers (§5, App. E), each on each data set: on all questions, and on
    those of each name (`split`). `p_holm` is corrected for the comparisons on questions of one
    name, and decides. `paper`: its differences of F1 (Table 4).
    """
    if len(models := scores["model"].unique()) > 1:
        raise UserError(f"found outputs of {', '.join(models)}, expected those of one model")
    tables = []
    for split in (ALL, *sorted(scores["split"].unique())):
        chosen = scores if split == ALL else scores[scores["split"] == split]
        sides = dict(iter(chosen.groupby("system")))
        pairs = [pair for pair in combinations(SYSTEMS[::-1], 2) if {*pair} <= sides.keys()]
        compared = {f"{a} > {b}": compare_scores(sides[a], sides[b], metric) for a, b in pairs}
        table = pd.concat([of.assign(claim=claim) for claim, of in compared.items()])
        table["p_holm"] = holm(table["p"].to_numpy()).to_numpy()
        table["verdict"] = decide(table["p_holm"], table["difference"], table["equal"])
        tables.append(table.assign(split=split))
    table = pd.concat(tables, ignore_index=True)
    named = zip(table["claim"], table["dataset"], strict=True)
    papers = [print_differences("ircot", "Table 4", *of) * (metric == "f1") for of in named]
    columns = ["split", "dataset", "claim", *table.columns[1:-4], "p_holm", "verdict", "paper"]
    return table.assign(paper=papers)[columns]
