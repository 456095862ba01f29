"""Makes data/real_queries.csv: what the sentences of a real model's IRCoT find, as
queries in every form that IRCoT's rewrites give them.

python -m docs.real_queries FOLDER RAW

FOLDER: as of docs/real_chains.py. RAW: the folder of the raw files of the profile
sample. Counted are chains whose gold pages are all among the paragraphs of its HotpotQA
questions. A row is a sentence after which the program retrieves while a gold page is
missing; by form, whether the first K = 2 of BM25 hold a missing one.
"""

import sys

import pandas as pd

from docs.real_chains import read_chains, read_sentences
from ircotlib.experiment.setup import open_dataset
from ircotlib.files import SHIPPED, write_table
from ircotlib.parameters import read_parameters
from ircotlib.systems.rewrites import AFTER_QUESTION, AFTER_THOUGHTS, ALONE, QUERIES

KEPT = SHIPPED / "data" / "real_queries.csv"
FORMS = (ALONE, AFTER_QUESTION, AFTER_THOUGHTS)
K = 2  # of the chains


def main(folder: str, raw: str) -> None:
    p = read_parameters("sample", {"data_dir": raw})
    *_, searcher = open_dataset(p, "hotpotqa")
    titles = {paragraph.title for paragraph in searcher.corpus}
    rows = []
    for id, text, gold, lines in read_chains(folder):
        thoughts: list[str] = []
        for number, (before, sentence, _) in enumerate(read_sentences(lines), 1):
            thoughts.append(sentence.strip())
            missing = {*gold} - {*before}
            if not titles.issuperset(gold) or not missing or not all(thoughts):
                continue
            found = {}
            for form in FORMS:
                pages = searcher.search(QUERIES[form](text, thoughts), K)
                found[form] = int(any(page.title in missing for page, _ in pages))
            rows.append({"id": id, "step": number, **found})
    write_table(KEPT, pd.DataFrame(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
