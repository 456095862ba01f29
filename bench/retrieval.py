"""The benchmark behind the claims about retrieval: python -m bench.retrieval [--sizes
10000 100000]. Writes figures/retrieval_scale.csv.

The embedded index, bm25s (scores of titles and texts added) and, if its address is in
IRCOT_ELASTICSEARCH, Elasticsearch answer the same queries on the same paragraphs (words
by Zipf's law), each in a process of its own. Elasticsearch's CPU seconds leave out its
server: only its wall seconds can be compared.
"""

import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from operator import eq
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from bench import timed
from ircotlib.data import Paragraph
from ircotlib.options import new_parser
from ircotlib.results.figures import save_figure

WORDS, EXPONENT = 200_000, 1.07  # of the vocabulary; of Zipf's law
LENGTH, TITLE, QUERY = 60, 3, 12  # words of a text, of a title, of a query
K, QUERIES = 15, 500
ELASTICSEARCH = os.environ.get("IRCOT_ELASTICSEARCH", "")


def write_paragraphs(count: int) -> Iterator[Paragraph]:
    """Paragraphs of pseudo-words; a longer corpus begins with the shorter one."""
    chance = np.random.default_rng(0)
    shares = np.arange(1, WORDS + 1) ** -EXPONENT
    shares = (shares / shares.sum()).cumsum()
    for number in range(count):
        ranks = np.searchsorted(shares, chance.random(LENGTH + TITLE)).tolist()
        words = [f"w{rank:x}" for rank in ranks]
        yield Paragraph(f"p{number}", " ".join(words[:TITLE]), " ".join(words[TITLE:]))


def write_queries(paragraphs: list[Paragraph]) -> list[str]:
    """Queries of words of one paragraph each."""
    chance = np.random.default_rng(1)
    places = chance.integers(len(paragraphs), size=QUERIES).tolist()
    texts = [paragraphs[place].text.split() for place in places]
    return [" ".join(chance.choice(words, QUERY, replace=False)) for words in texts]


def open_ours(
    paragraphs: list[Paragraph], folder: Path, retriever: str = "embedded"
) -> Callable:
    """The search of a retriever of this library."""
    from ircotlib.retrieval import open_retriever
    from ircotlib.retrieval.corpus import write_corpus

    corpus = write_corpus(folder / "corpus", paragraphs)
    index = open_retriever(corpus, folder / "index", retriever)
    return lambda query: [paragraph.id for paragraph, _ in index.search(query, K)]


def open_bm25s(paragraphs: list[Paragraph], folder: Path) -> Callable:
    """The search of bm25s."""
    import bm25s

    indexes = [bm25s.BM25(k1=1.2, b=0.75) for _ in range(2)]
    for index, field in zip(indexes, ("title", "text"), strict=True):
        texts = [getattr(paragraph, field) for paragraph in paragraphs]
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        index.save(folder / field)

    def search(query: str) -> list[str]:
        words = query.split()
        scores = sum(index.get_scores(words) for index in indexes)
        best = np.argsort(-scores, kind="stable")[:K]
        return [paragraphs[place].id for place in best]

    return search


OPENERS = {"embedded": open_ours, "bm25s": open_bm25s}
if ELASTICSEARCH:
    OPENERS["Elasticsearch"] = partial(open_ours, retriever=ELASTICSEARCH)


def measure(name: str, size: int) -> dict:
    """The time and space that building and searching take, in this process."""
    paragraphs = list(write_paragraphs(size))
    queries = write_queries(paragraphs)
    with TemporaryDirectory() as folder:
        search, *built = timed(lambda: OPENERS[name](paragraphs, Path(folder)))
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        disk = sum(path.stat().st_size for path in files)
        found, *searched = timed(lambda: [search(query) for query in queries])
    return {
        "paragraphs": size,
        "index": name,
        "build, wall s": built[0],
        "build, CPU s": built[1],
        "on disk, MB": disk / 1e6,
        "search, wall ms": 1e3 * searched[0] / QUERIES,
        "search, CPU ms": 1e3 * searched[1] / QUERIES,
        "peak, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "found": found,
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    rows, found = [], {}
    for size in options.sizes:
        for name in OPENERS:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                row = process.submit(measure, name, size).result()
            found[name] = [hits[:1] for hits in row.pop("found")]
            equal = map(eq, found[name], found["embedded"])
            row["first hit as embedded, %"] = 100 * sum(equal) / QUERIES
            rows.append(row)
            print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False), flush=True)
    save_figure(None, pd.DataFrame(rows).round(3), "retrieval_scale")


if __name__ == "__main__":
    main()
