"""Makes data/real_queries.csv: what the sentences of a real model's IRCoT find, as
queries in every form that IRCoT's rewrites give them.

python -m docs.real_queries FOLDER RAW

FOLDER: as of docs/real_chains.py. RAW: the folder of the raw files of the profile
sample. Counted are chains whose gold pages are all among the paragraphs of its HotpotQA
questions. A row is a sentence after which the program retrieves while a gold page is
missing; by form, whether the first K = 2 of BM25 hold a missing one.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from docs.real_chains import CHAINS, QUESTION, read_steps
from ircotlib.data import parse_json, read_text
from ircotlib.experiment.setup import open_setup
from ircotlib.files import SHIPPED, write_table
from ircotlib.parameters import read_parameters
from ircotlib.systems.rewrites import AFTER_QUESTION, AFTER_THOUGHTS, ALONE

KEPT = SHIPPED / "data" / "real_queries.csv"
K = 2  # of the chains


def write_queries(question: str, thoughts: Sequence[str]) -> dict[str, str]:
    """The query after these thoughts, by its form (ircotlib/systems/rewrites.py)."""
    return {
        ALONE: thoughts[-1],
        AFTER_QUESTION: f"{question} {thoughts[-1]}",
        AFTER_THOUGHTS: " ".join([question, *thoughts]),
    }


def main(folder: str, raw: str) -> None:
    [path] = Path(folder).glob(CHAINS)
    golds = parse_json((path.parents[1] / "gold_titles.json").read_bytes(), str(path))
    p = read_parameters("sample", {"data_dir": raw})
    searcher = open_setup(p, "hotpotqa", "wild", with_model=False).retriever
    titles = {paragraph.title for paragraph in searcher.corpus}
    rows = []
    for block in QUESTION.split(read_text(path))[1:]:
        id, text, *lines = block.splitlines()
        gold = {*golds[id]["gold_titles"]}
        steps, chain, thoughts = list(read_steps(lines)), "", []
        for number, ((before, whole), _) in enumerate(zip(steps, steps[1:]), 1):
            thoughts.append(whole[len(chain) :].strip())
            chain = whole
            missing = gold - {*before}
            if not gold <= titles or not missing or not all(thoughts):
                continue
            found = {}
            for form, query in write_queries(text, thoughts).items():
                pages = [page for page, _ in searcher.search(query, K)]
                found[form] = int(any(page.title in missing for page in pages))
            rows.append({"id": id, "step": number, **found})
    write_table(KEPT, pd.DataFrame(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
