"""Makes data/real_chains.csv.gz: what the sentences of a real model's IRCoT bring,
without their texts.

python -m docs.real_chains FOLDER

FOLDER: of IRCoT's released program with Llama-3.1-8B, 500 questions of HotpotQA, K = 2,
whose file of chains has the titles after each step; above it, gold_titles.json by
question (github.com/xindili-cmu/anlp-project-multihop, commit df0d575, Apache-2.0).
A row is a sentence after which the program retrieves, while a gold page is missing.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd

from ircotlib.data import parse_json, read_text
from ircotlib.files import SHIPPED, writing

KEPT = SHIPPED / "data" / "real_chains.csv.gz"
CHAINS = "*_chains.txt"
QUESTION = re.compile(r"(?m)^(?=[0-9a-f]{24}$)")  # begins with its id
TITLES, EXIT, IDS = "A: [", "A: Exit? ", 'A: ["pid_'
IN_BRACKETS = re.compile(r" *\([^()]*\)$")  # "Emma (novel)"


def read_steps(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    """The titles that a question has been collected before each step, and the chain at
    its end, which is as long as all sentences so far.
    """
    titles: list[str] = []
    for line in lines:
        if line.startswith(IDS):  # the steps are over
            return
        if line.startswith(TITLES):
            titles = json.loads(line.removeprefix("A: "))
        elif not line.startswith(EXIT):
            yield titles, line.removeprefix("A: ")


def read_sentences(lines: list[str]) -> Iterator[tuple[list[str], str, list[str]]]:
    """Each sentence after which the program retrieves, between the titles that the
    question has been collected before and after it.
    """
    chain = ""
    for (before, whole), (after, _) in pairwise(read_steps(lines)):
        yield before, whole[len(chain) :], after
        chain = whole


def count_sentences(lines: list[str], gold: list[str]) -> Iterator[tuple]:
    """Of each sentence while a gold page is missing: its number, from 1, whether it
    names the title of a missing page, and whether it brings a missing page.
    """
    for number, (before, sentence, after) in enumerate(read_sentences(lines), 1):
        missing = {title for title in gold if title not in before}
        if missing:
            names = any(is_named(title, sentence) for title in missing)
            yield number, int(names), int(not missing.isdisjoint(after))


def is_named(title: str, sentence: str) -> bool:
    """Whether a sentence has a title, apart from case, marks and what is in brackets.

    >>> is_named("What Are Girls Made Of? (song)", 'It is "What are girls made of".')
    True
    """
    plain = [
        re.sub(r"[^\w ]", "", text.casefold())
        for text in (IN_BRACKETS.sub("", title), sentence)
    ]
    return plain[0] in plain[1]


def read_chains(folder: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Of each question: its id and text, the gold titles, the lines of its chain."""
    [path] = Path(folder).glob(CHAINS)
    golds = parse_json((path.parents[1] / "gold_titles.json").read_bytes(), str(path))
    for block in QUESTION.split(read_text(path))[1:]:
        id, text, *lines = block.splitlines()
        yield id, text, golds[id]["gold_titles"], lines


def write_kept(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, compressed: of the same table, the same bytes."""
    with writing(path) as new:
        how = {"method": "gzip", "mtime": 0}
        table.to_csv(new, index=False, lineterminator="\n", compression=how)


def main(folder: str) -> None:
    rows = []
    for id, _, gold, lines in read_chains(folder):
        rows += [(id, *row) for row in count_sentences(lines, gold)]
    table = pd.DataFrame(rows, columns=["id", "step", "names", "brings"])
    write_kept(KEPT, table)


if __name__ == "__main__":
    main(*sys.argv[1:])
