"""Measures how well the shipped extractive reader reads, and which threshold of its confidence best
separates paragraphs with the answer from others: python -m bench.reading, or make bench. Writes
figures/reader_confidence.*.

The queries ask for facts about entities that are not popular, in held-out worlds. Each is paired
with its gold paragraph, with another one (training.reader.draw_examples.OTHERS), and with the first
one that BM25 finds.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from ircotlib.data import Paragraph
from ircotlib.extraction.extractor import Extractor
from ircotlib.files.options import new_parser
from ircotlib.files.paths import MODELS
from ircotlib.program import Extract, Extracted
from ircotlib.results.figures import palette, panels
from ircotlib.results.figures.lines import draw_lines
from ircotlib.results.figures.panels import save_figure, subplots
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from training.reader.draw_examples import GOLD, OTHERS, Encyclopedia, ReaderExample
from training.reader.evaluate import auc, draw_reader_tests, f1_at, open_books

SEED, SIZE, FACTS = 21, 1200, 1200
CONFIDENCE = 1.5  # SearChain §4.1
TRIED = np.arange(-6, 9.01, 0.5)
FOUND = {True: "BM25's first, gold", False: "BM25's first, another"}
COLUMNS = ["pairs", "measure", "threshold", "value", "n"]


def read(reader: Extractor, pairs: Sequence[tuple[str, Paragraph]]) -> list[Extracted]:
    """What the reader extracts for each pair of query and paragraph, in their order."""
    requests = [Extract(query, paragraph) for query, paragraph in pairs]
    return [reader.decode(reply) for _, reply in sorted(reader.answer(requests))]


def paragraph_of(example: ReaderExample) -> Paragraph:
    """The paragraph of an example."""
    return Paragraph("", example.passage.title, example.passage.text)


def is_found(example: ReaderExample, extracted: Extracted) -> bool:
    """Whether the extracted text is the answer, ignoring case."""
    span = example.span
    return extracted.text.lower() == example.passage.text[span.start : span.end].lower()


def search(
    book: Encyclopedia, examples: Sequence[ReaderExample]
) -> list[tuple[str, Paragraph, bool]]:
    """For each query, the first paragraph that BM25 finds, and whether it is the gold one."""
    passages = [(t, passage) for t, page in book.world.pages.items() for passage in page]
    paragraphs = [Paragraph(f"{n}", t, one.text) for n, (t, one) in enumerate(passages)]
    with TemporaryDirectory() as folder:
        index = open_index(write_corpus(f"{folder}/corpus", paragraphs), f"{folder}/index")
        firsts = [(example, index.search(example.query, 1)[0][0]) for example in examples]
    return [(e.query, first, first.text == e.passage.text) for e, first in firsts]


def measure(reader: Extractor, books: Sequence[Encyclopedia], facts: int) -> pd.DataFrame:
    """A table with COLUMNS; values are shares, 0 to 1: of the answers found in gold paragraphs; how
    well each threshold of confidence separates paragraphs; and how many paragraphs of each kind are
    above CONFIDENCE.
    """
    examples = draw_reader_tests(books, facts, SEED)
    extracted = read(reader, [(example.query, paragraph_of(example)) for example in examples])
    kinds = np.array([example.kind for example in examples])
    confidence = np.array([reply.confidence for reply in extracted])
    gold = kinds == GOLD
    right = [is_found(e, f) for e, f in zip(examples, extracted, strict=True) if e.kind == GOLD]
    rows = [(GOLD, "answer found", None, np.mean(right), len(right))]
    rows += judge("gold and others", confidence, gold)
    rows += [share_above(kind, confidence[kinds == kind]) for kind in (GOLD, *OTHERS)]
    return pd.DataFrame([*rows, *measure_search(reader, books, examples)], columns=COLUMNS)


def measure_search(
    reader: Extractor, books: Sequence[Encyclopedia], examples: Sequence[ReaderExample]
) -> list[tuple]:
    """The same measures for the first paragraph that BM25 finds, which SearChain reads."""
    gold_examples = [example for example in examples if example.kind == GOLD]
    firsts = [
        first
        for book in books
        for first in search(book, [e for e in gold_examples if e.dataset == book.dataset])
    ]
    extracted = read(reader, [(query, paragraph) for query, paragraph, _ in firsts])
    confidence = np.array([reply.confidence for reply in extracted])
    gold = np.array([is_gold for *_, is_gold in firsts])
    rows = judge("BM25's first", confidence, gold)
    return rows + [
        share_above(name, confidence[gold == is_gold]) for is_gold, name in FOUND.items()
    ]


def judge(pairs: str, confidence: np.ndarray, gold: np.ndarray) -> list[tuple]:
    """Precision, recall and F1 of predicting that paragraphs have the answer if the confidence is
    above a threshold, for each threshold in TRIED; and the area under the ROC curve.
    """
    rows = [(pairs, "area under the curve", None, auc(confidence, gold), len(gold))]
    for threshold in TRIED:
        predicted = confidence > threshold
        hits = (predicted & gold).sum()
        for name, value in (
            ("precision", hits / predicted.sum() if predicted.any() else np.nan),
            ("recall", hits / gold.sum()),
            ("F1", f1_at(threshold, confidence, gold)),
        ):
            rows.append((pairs, name, threshold, value, len(gold)))
    return rows


def share_above(pairs: str, confidence: np.ndarray) -> tuple:
    """A row with the share of paragraphs whose confidence is above CONFIDENCE."""
    return pairs, "above", CONFIDENCE, (confidence > CONFIDENCE).mean(), len(confidence)


def draw(table: pd.DataFrame):
    """Precision, recall and F1 by threshold; shares above the paper's threshold by kind."""
    figure, (left, right) = subplots(1, 2, figsize=(panels.PAGE, 2.6))
    rows = table[table["pairs"] == "gold and others"]
    colors = dict(zip(["precision", "recall", "F1"], palette.LINES, strict=False))
    draw_lines(left, rows.assign(mean=rows["value"]), "threshold", "measure", colors)
    left.axvline(CONFIDENCE, color="black", linewidth=0.8)
    left.set(xlabel=f"confidence above (line: {CONFIDENCE}, SearChain §4.1)", ylabel="%")
    left.set_title("gold and other paragraphs")
    above = table[table["measure"] == "above"].iloc[::-1]
    right.barh(above["pairs"], above["value"], color=palette.BLUE)
    right.bar_label(right.containers[0], fmt="%.1f", padding=2, fontsize=7)
    right.set(xlabel=f"confidence above {CONFIDENCE}, %", xlim=(0, 118))
    right.grid(False, axis="y")
    return panels.finish(figure, "How sure the reader is of gold and of other paragraphs")


def main(folder: Path = MODELS / "mini-reader") -> None:
    table = measure(Extractor(folder), open_books(SEED, SIZE), FACTS)
    table["value"] = (100 * table["value"]).round(2)
    print(table[~table["measure"].isin(["precision", "recall", "F1"])].to_string(index=False))
    save_figure(draw(table), table, "reader_confidence")


if __name__ == "__main__":
    new_parser(__doc__).parse_args()
    main()
