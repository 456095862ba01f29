"""The ceilings: what a reader that knows nothing by heart can ask and find."""

import pandas as pd
import pytest

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets.own import CORPUS, write_own
from ircotlib.errors import UserError
from ircotlib.experiment.setup import open_dataset
from ircotlib.files import FIGURES
from ircotlib.papers.steps import (
    QUESTION,
    SENTENCES,
    SUBQUESTIONS,
    find_gold,
    measure_ceilings,
)
from ircotlib.parameters import read_parameters

STEPS = (
    GoldStep("Who wrote Dusk?", "Ann Lee", ("dusk",)),
    GoldStep("Where was #1 born?", "Rome", ("ann",)),
    GoldStep("#2 >> mayor", "Bo Ray", ("rome",)),
)
ASKED = Question("1", "Who governs where Dusk's author was born?", ("Bo Ray",),
                 ("dusk", "ann", "rome"), "musique", steps=STEPS)  # fmt: skip
FILLER = [Paragraph(f"x{n}", "", "") for n in range(20)]


def follow(query: str, found: dict[str, str], k: int = 1, **how: bool):
    """The queries of a reader; one in `found` gets the paragraph of that id first."""
    queries = []

    def search(text, k):
        queries.append(text)
        return [Paragraph(found.get(text, f"no {len(queries)}"), "", ""), *FILLER][:k]

    return queries, find_gold(ASKED, search, k, query, **how)


def test_an_answer_enters_a_query_once_its_paragraph_was_found():
    asked = ["Who wrote Dusk?", "Where was Ann Lee born?", "Rome >> mayor"]
    queries, row = follow(SUBQUESTIONS, dict(zip(asked, ASKED.gold)))
    assert queries == asked
    assert row == {"found": 1.0, "recall": 1.0, "paragraphs": 3, "retrievals": 3}


def test_what_was_not_found_is_named_by_its_sub_question():
    queries, row = follow(SUBQUESTIONS, {})
    nested = "Where was Who wrote Dusk born"
    assert queries[1:] == [f"{nested}?", f"{nested} >> mayor"]
    assert row["recall"] == 0
    assert follow(SUBQUESTIONS, {}, stops=True)[0] == ["Who wrote Dusk?"]


def test_a_sentence_has_its_answer_only_if_it_was_found_or_is_known_by_heart():
    queries, _ = follow(SENTENCES, {ASKED.text: "dusk"})
    written = "Who wrote Dusk: Ann Lee"
    assert queries[:3] == [ASKED.text, written, "Where was Ann Lee born?"]
    queries, _ = follow(SENTENCES, {}, by_heart=True)
    later = ["Where was Ann Lee born: Rome", "Rome >> mayor: Bo Ray"]
    assert queries[1:] == [written, *later]


def test_the_question_alone_is_asked_once_and_no_more_than_the_cap_is_kept():
    assert follow(QUESTION, {ASKED.text: "rome"}, k=4)[1] == {
        "found": 0.0, "recall": pytest.approx(1 / 3), "paragraphs": 4, "retrievals": 1,
    }  # fmt: skip
    assert follow(SUBQUESTIONS, {}, k=15)[1]["paragraphs"] == 15  # IRCoT footnote 5


def test_what_can_be_found_in_musique(shared):
    p = read_parameters("sample", {"data_dir": str(shared), "datasets": ["musique"]})
    table = measure_ceilings(p)
    groups = table.groupby(["dataset", "retriever", "corpus", "query", "k"], sort=False)
    found = 100 * groups[["found", "recall"]].mean().round(4)
    kept = pd.read_csv(FIGURES / "sample_found.csv").set_index([*found.index.names])
    assert len(found) == 37 and table["id"].nunique() == 210
    pd.testing.assert_frame_equal(found, kept.loc[found.index, ["found", "recall"]])


def test_further_paragraphs_are_searched_unless_their_title_is_there(tmp_path):
    there = Paragraph("", "Bo", "Bo was born in Rome.")
    write_own(tmp_path / "a", [(Question("1", "Who?", ("Bo",), (), "own"), [there])])
    more = [Paragraph("", name, "Rome!") for name in ("Bo", "Al")]
    write_own(tmp_path / "b", more, CORPUS)
    folders = {"data_dir": str(tmp_path / "a"), "further": str(tmp_path / "b")}
    p = read_parameters("mini", folders)
    *_, retriever = open_dataset(p, "own")
    found = [page.text for page, _ in retriever.search("Rome", 3)]
    assert found == ["Rome!", there.text]
    with pytest.raises(UserError, match="expected pooled"):
        p.change(corpus="full")
