"""What the sentences of a real model's IRCoT bring, and what they find as queries, kept
without their texts. This makes data/real_chains.csv.gz and data/real_queries.csv:

python -m ircot_studies.real_chains FOLDER RAW

FOLDER: of IRCoT's released program with Llama-3.1-8B, 500 questions of HotpotQA, K = 2,
whose file of chains has the titles after each step; above it, gold_titles.json by
question (github.com/xindili-cmu/anlp-project-multihop, commit df0d575, Apache-2.0).
RAW: the raw files of the profile sample; chains whose gold pages are not all in its
corpus have no queries. A row is a sentence after which the program retrieves, while a
gold page is missing.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircot_studies.real_outputs import write_kept
from ircotlib.backends import Searcher
from ircotlib.data import read_text
from ircotlib.experiment.setup import open_setup
from ircotlib.files import SHIPPED, write_table
from ircotlib.parameters import read_parameters
from ircotlib.systems.rewrites import AFTER_QUESTION, AFTER_THOUGHTS, ALONE, QUERIES

CHAINS = SHIPPED / "data" / "real_chains.csv.gz"
KEPT_QUERIES = SHIPPED / "data" / "real_queries.csv"
QUESTION = re.compile(r"(?m)^(?=[0-9a-f]{24}$)")  # begins with its id
TITLES, EXIT, IDS = "A: [", "A: Exit? ", 'A: ["pid_'
IN_BRACKETS = re.compile(r" *\([^()]*\)$")  # "Emma (novel)"
FORMS = (ALONE, AFTER_QUESTION, AFTER_THOUGHTS)  # of a query, by IRCoT's rewrites
K = 2  # of the chains


class Chain(NamedTuple):
    id: str
    text: str  # of the question
    gold: list[str]  # titles
    lines: list[str]


def read_chains(folder: str) -> Iterator[Chain]:
    [path] = Path(folder).glob("*_chains.txt")
    golds = json.loads(read_text(path.parents[1] / "gold_titles.json"))
    for block in QUESTION.split(read_text(path))[1:]:
        id, text, *lines = block.splitlines()
        yield Chain(id, text, golds[id]["gold_titles"], lines)


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


def count_sentences(chain: Chain) -> Iterator[tuple[str, int, int, int]]:
    """Of each sentence while a gold page is missing: the question, its number, from 1,
    whether it names the title of a missing page, and whether it brings a missing page.
    """
    sentences = enumerate(read_sentences(chain.lines), 1)
    for number, (before, sentence, after) in sentences:
        missing = {*chain.gold} - {*before}
        if missing:
            names = any(is_named(title, sentence) for title in missing)
            brings = not missing.isdisjoint(after)
            yield chain.id, number, int(names), int(brings)


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


def try_queries(chain: Chain, searcher: Searcher) -> Iterator[dict[str, object]]:
    """Of each sentence while a gold page is missing, by the form of its query: whether
    the first K have a missing one.
    """
    thoughts: list[str] = []
    for number, (before, sentence, _) in enumerate(read_sentences(chain.lines), 1):
        thoughts.append(sentence.strip())
        missing = {*chain.gold} - {*before}
        if not missing or not all(thoughts):
            continue
        row: dict[str, object] = {"id": chain.id, "step": number}
        for form in FORMS:
            pages = searcher.search(QUERIES[form](chain.text, thoughts), K)
            row[form] = int(any(page.title in missing for page, _ in pages))
        yield row


def main(folder: str, raw: str) -> None:
    chains = [*read_chains(folder)]
    rows = [row for chain in chains for row in count_sentences(chain)]
    columns = ["id", "step", "names", "brings"]
    write_kept(CHAINS, pd.DataFrame(rows, columns=columns))
    p = read_parameters("sample", {"data_dir": raw})
    searcher = open_setup(p, "hotpotqa", "real", with_model=False).retriever
    titles = {paragraph.title for paragraph in searcher.corpus}
    whole = [chain for chain in chains if titles.issuperset(chain.gold)]
    queries = [row for chain in whole for row in try_queries(chain, searcher)]
    write_table(KEPT_QUERIES, pd.DataFrame(queries))


if __name__ == "__main__":
    main(*sys.argv[1:])
