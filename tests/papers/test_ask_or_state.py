"""Ask or state?: each query and reader worked by hand, and the numbers on real text."""

import gzip
from functools import partial

import pandas as pd
import pytest

from bench.real_anchor import FIXED, count_found
from docs import real_chains
from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets.own import CORPUS, write_own
from ircotlib.errors import UserError
from ircotlib.experiment.setup import open_dataset
from ircotlib.files import FIGURES, SHIPPED
from ircotlib.papers import ask_or_state, contrasts
from ircotlib.papers.ask_or_state import (
    ALONE,
    ANSWER,
    ASKS,
    CONTEXTS,
    FORMS,
    GUESSES,
    HOP,
    QUESTION,
    QUESTION_AND_ANSWER,
    RESOLVED,
    SENTENCE,
    STATES,
    UNRESOLVED,
    asks,
    asks_after,
    find_later_hops,
    finds_all,
    measure,
    state,
    states,
    states_or_guesses,
    write_queries,
)
from ircotlib.parameters import read_parameters

STEPS = (
    GoldStep("Who wrote Dusk?", "Ann Lee", ("dusk",)),
    GoldStep("Where was #1 born?", "Rome", ("ann",)),
    GoldStep("#2 >> mayor", "Bo Ray", ("rome",)),
)
ASKED = Question("1", "Who governs where Dusk's author was born?", ("Bo Ray",),
                 ("dusk", "ann", "rome"), "musique", steps=STEPS)  # fmt: skip
# as 2WikiMultihopQA's evidences become steps (datasets/hotpotqa.py)
EVIDENT = (
    GoldStep(
        question="What is the director of Dusk?",
        answer="Ann Lee Jr.",
        gold=("dusk",),
        sentence="The director of Dusk is Ann Lee Jr.",
    ),
    GoldStep("What is the father of #1?", "Ed Lee", ("ann",), sentence="…"),
)
OF_WIKI = Question("2", "Who is the father of Dusk's director?", ("Ed Lee",),
                   ("dusk", "ann"), "2wikimultihopqa", steps=EVIDENT)  # fmt: skip
FILLER = [Paragraph(f"x{n}", "", "") for n in range(20)]


def test_a_later_hop_names_an_earlier_answer_and_has_another_paragraph():
    assert list(find_later_hops(ASKED)) == [(1, 0), (2, 1)]
    same = GoldStep("When was #1 born?", "1990", ("dusk",))
    of_two = GoldStep("Who met #1 in #2?", "Bo", ("bo",))
    not_yet = GoldStep("Who met #9?", "Bo", ("bo",))
    steps = (*STEPS[:2], same, of_two, not_yet)
    hops = list(find_later_hops(Question("1", "?", (), (), "musique", steps=steps)))
    assert hops == [(1, 0), (3, 1)]  # of two answers, the last named


def test_the_six_forms_of_a_query():
    assert write_queries(ASKED, 1, 0) == {
        RESOLVED: "Where was Ann Lee born?",
        SENTENCE: "Who wrote Dusk: Ann Lee",
        ANSWER: "Ann Lee",
        QUESTION_AND_ANSWER: f"{ASKED.text} Ann Lee",
        UNRESOLVED: "Where was Who wrote Dusk born?",
        ALONE: ASKED.text,
    }
    of_third = write_queries(ASKED, 2, 1)
    assert tuple(of_third) == FORMS
    assert of_third[RESOLVED] == "Rome >> mayor"
    assert of_third[SENTENCE] == "Where was Ann Lee born: Rome"
    assert of_third[UNRESOLVED] == "Where was Who wrote Dusk born >> mayor"


def test_a_sentence_is_made_from_a_relation_or_from_evidences():
    assert state(ASKED, 2, ["x", "Oslo", "Cy"]) == "The mayor of Oslo is Cy."
    first = state(OF_WIKI, 0, ["Ann Lee Jr."])
    assert first == EVIDENT[0].sentence
    believed = state(OF_WIKI, 1, ["Cy", "Di"])
    assert believed == "The father of Cy is Di."
    nested = GoldStep("Where is #1?", "x", ("x",))
    steps = (GoldStep("Ada Moss >> father", "Al", ("p",)), nested)
    asked = Question("1", "?", (), (), "musique", steps=steps)
    assert write_queries(asked, 1, 0)[UNRESOLVED] == "Where is the father of Ada Moss?"
    # HotpotQA has sentences, and no sub-questions
    stated = Question("1", "?", (), (), "h", steps=(GoldStep("", "", sentence="S."),))
    assert state(stated, 0, [""]) == "S."


def follow(reader, found: dict[str, str], k: int = 1, question=ASKED, cap=15):
    """The queries of a reader; one in `found` gets the paragraph of that id first. And
    whether all gold paragraphs are kept.
    """
    queries = []

    def search(text):
        queries.append(text)
        return [Paragraph(found.get(text, f"no {len(queries)}"), "", ""), *FILLER]

    return queries, finds_all(question, reader, search, k, cap)


def test_who_asks_fills_in_an_answer_once_its_paragraph_was_found():
    asked = ["Who wrote Dusk?", "Where was Ann Lee born?", "Rome >> mayor"]
    found = dict(zip(asked, ASKED.gold, strict=True))
    assert follow(asks, found) == (asked, True)
    queries, all_found = follow(asks, {})
    nested = "Where was Who wrote Dusk born"
    assert queries == [asked[0], f"{nested}?", f"{nested} >> mayor"] and not all_found
    assert follow(asks_after, found)[0] == [ASKED.text, *asked]


def test_who_only_states_stops_where_nothing_was_read():
    assert follow(states, {}) == ([ASKED.text], False)
    first = "Who wrote Dusk: Ann Lee"
    assert follow(states, {ASKED.text: "dusk"}) == ([ASKED.text, first], False)
    second = "Where was Ann Lee born: Rome"
    found = {ASKED.text: "dusk", first: "ann", second: "rome"}
    queries, all_found = follow(states, found)
    assert queries == [ASKED.text, first, second, "The mayor of Rome is Bo Ray."]
    assert all_found


def test_a_guess_is_believed_until_the_end_and_is_no_right_answer():
    answers = ["Ann Lee", "Oslo"]
    reader = partial(states_or_guesses, draw=0, answers=answers)
    # nothing was read of Dusk: its guess must be Oslo, and stays when Dusk is found
    first = "Who wrote Dusk: Oslo"
    queries, _ = follow(reader, {first: "dusk"}, question=ASKED)
    assert queries[:2] == [ASKED.text, first]
    assert queries[2] in [f"Where was Oslo born: {answer}" for answer in answers]
    of_wiki, _ = follow(reader, {}, question=OF_WIKI)
    assert of_wiki[1].startswith("The director of Dusk is ")
    father = of_wiki[1].removeprefix("The director of Dusk is ").removesuffix(".")
    assert of_wiki[2].startswith(f"The father of {father} is ")


def test_guesses_depend_on_the_draw_the_question_and_the_step_alone():
    answers = [f"answer {n}" for n in range(1000)]
    readers = [partial(states_or_guesses, draw=n, answers=answers) for n in (0, 0, 1)]
    one, again, other = (follow(reader, {})[0] for reader in readers)
    assert one == again and one[1] != other[1]
    # with the first step read, the guess of the second stays
    read, _ = follow(readers[0], {ASKED.text: "dusk"})
    assert read[1] == "Who wrote Dusk: Ann Lee"
    assert read[2].partition(": ")[2] == one[2].partition(": ")[2]


def test_no_more_than_the_cap_is_kept():
    found = {"Who wrote Dusk?": "dusk", "Where was Ann Lee born?": "ann"}
    found["Rome >> mayor"] = "rome"
    assert follow(asks, found, k=8)[1]  # 1 + 7, 1, 1
    assert follow(asks, found, k=8, cap=10)[1]
    assert not follow(asks, found, k=8, cap=9)[1]  # the third is left out


def rows_of(found: dict[tuple, list]) -> pd.DataFrame:
    """Rows by unit, query and K: a list of pairs, a question's id and what is found."""
    rows = [
        (*unit_query, id, True, k, value)
        for (*unit_query, k), pairs in found.items()
        for id, value in pairs
    ]
    columns = ["unit", "query", "id", "natural", "k", "found"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(dataset="musique", retriever="BM25", corpus=CONTEXTS)


def test_hops_count_alike_in_a_share_and_questions_in_a_difference():
    hops = [("a", 1), ("a", 1), ("a", 1), ("b", 0)]
    shares = contrasts.summarise(rows_of({(HOP, RESOLVED, 1): hops}))
    assert shares[["n", "mean"]].to_numpy().tolist() == [[4, 75]]
    assert 0 <= shares["low"][0] < 75 < shares["high"][0] <= 100
    # as many questions as hops: the exact interval of a share
    one_each = contrasts.summarise(rows_of({(HOP, ALONE, 1): [("a", 0), ("b", 0)]}))
    low, high = one_each[["low", "high"]].to_numpy()[0]
    assert low == 0 and high == pytest.approx(100 * (1 - 0.025**0.5), abs=0.01)
    by_question = contrasts.by_question(
        rows_of({(HOP, RESOLVED, 1): hops}), HOP, RESOLVED, 1
    )
    assert by_question.to_dict() == {"a": 100, "b": 0}


def test_the_finding_concludes_only_what_tests_show():
    p = read_parameters("sample")

    def conclude(asking: int, stating: int, k4: int) -> str:
        found = {}
        for each in contrasts.CONTRASTS:
            for query, k in ((each.first, each.k), (each.second, each.second_k)):
                value = asking if query in (RESOLVED, ASKS, GUESSES) else stating
                value = k4 if k == 4 and value == stating else value
                pairs = [(f"q{n}", value) for n in range(20)]
                found[each.unit, query, k] = pairs
        rows = rows_of(found)
        shares, tests = contrasts.summarise(rows), contrasts.compare(rows)
        assert len(tests) == len(contrasts.CONTRASTS)
        assert "20 questions with 20 later hops" in contrasts.describe_data(shares, p)
        return contrasts.say_finding(shares, tests)

    clear = conclude(asking=1, stating=0, k4=0)
    assert "first four for 100% of later hops" in clear
    assert clear.endswith("works as a query when it asks (names or guesses what is "
                          "missing), not when it states.")  # fmt: skip
    assert "MuSiQue only with few paragraphs" in conclude(asking=1, stating=0, k4=1)
    assert conclude(asking=0, stating=0, k4=0).endswith("is not shown here.")


def test_contrasts_are_those_that_were_stated():
    stated = [each[1:5] for each in contrasts.CONTRASTS]
    assert stated[:6] == [
        (RESOLVED, 1, SENTENCE, 1),
        (RESOLVED, 4, SENTENCE, 4),
        (RESOLVED, 4, SENTENCE, 5),
        (GUESSES, 1, ASKS, 1),
        (GUESSES, 2, ASKS, 2),
        (GUESSES, 4, ASKS, 4),
    ]


# of an independent replay: percent by K
EXPECTED = {
    "musique": {
        RESOLVED: {1: 54.1, 2: 63.4, 4: 74.6, 8: 86.7, 15: 90.3},
        SENTENCE: {1: 5.4, 2: 21.5, 4: 36.6, 8: 56.6, 15: 73.5},
        ANSWER: {1: 35.5, 2: 51.6, 4: 65.9, 8: 83.5, 15: 87.8},
        QUESTION_AND_ANSWER: {1: 14.7, 2: 35.8, 4: 54.5, 8: 65.9, 15: 79.2},
        UNRESOLVED: {1: 5.4, 2: 12.9, 4: 18.6, 8: 28.3, 15: 36.6},
        ALONE: {1: 3.6, 2: 11.1, 4: 19.7, 8: 29.4, 15: 38.0},
        ASKS: {1: 31.0, 2: 46.2, 4: 61.0, 8: 61.0},
        STATES: {1: 0.5, 2: 17.6, 4: 30.0, 8: 48.1},
        GUESSES: {1: 19.0, 2: 36.5, 4: 52.1, 8: 60.8},
    },
    "2wikimultihopqa": {
        RESOLVED: {1: 88.5, 2: 97.9, 4: 99.5, 8: 99.8},
        SENTENCE: {1: 13.0, 2: 88.0, 4: 98.4, 8: 99.8},
        ANSWER: {1: 96.2, 2: 99.2, 4: 99.7, 8: 100},
        QUESTION_AND_ANSWER: {1: 8.7, 2: 68.9, 4: 96.4, 8: 99.2},
        UNRESOLVED: {1: 0.3, 2: 2.1, 4: 6.1, 8: 12.3},
        ALONE: {1: 0.0, 2: 4.6, 4: 10.5, 8: 17.9},
        ASKS: {1: 83.3, 2: 95.7, 4: 98.9, 8: 74.6},
        STATES: {1: 7.0, 2: 78.4, 4: 94.5, 8: 92.2},
        GUESSES: {1: 50.4, 2: 91.6, 4: 98.2, 8: 92.6},
    },
}
HOPS = {"musique": 279, "2wikimultihopqa": 608}
QUESTIONS = {"musique": 210, "2wikimultihopqa": 657}
DIFFERENCES = {  # by data set, first query, second and K
    ("musique", RESOLVED, 1): (49.9, 43.6, 56.3),
    ("musique", RESOLVED, 4): (40.4, 34.1, 46.8),
    ("2wikimultihopqa", RESOLVED, 1): (71.3, 67.3, 75.3),
    ("2wikimultihopqa", RESOLVED, 4): (1.2, -0.1, 2.6),
}


@pytest.mark.parametrize("dataset", EXPECTED)
def test_the_kept_shares_are_those_of_an_independent_replay(dataset):
    kept = pd.read_csv(FIGURES / "ask_or_state_sample.csv")
    kept = kept[kept["dataset"] == dataset].set_index(["query", "k"])
    for query, by_k in EXPECTED[dataset].items():
        for k, share in by_k.items():
            room = 1.5 if query == GUESSES else 0.2
            assert kept["mean"][query, k] == pytest.approx(share, abs=room), (query, k)
    assert kept["n"][RESOLVED, 1] == HOPS[dataset]
    assert kept["n"][ASKS, 1] == QUESTIONS[dataset]


def test_the_kept_contrasts_are_those_of_an_independent_replay():
    kept = pd.read_csv(FIGURES / "ask_or_state_contrasts_sample.csv")
    same_k = kept[(kept["k"] == kept["second_k"]) & (kept["second"] == SENTENCE)]
    same_k = same_k.set_index(["dataset", "first", "k"])
    ends = same_k[["difference", "low", "high"]]
    for name, expected in DIFFERENCES.items():
        assert ends.loc[name].tolist() == pytest.approx(expected, abs=0.2)
    guesses = kept[(kept["first"] == GUESSES) & (kept["second"] == ASKS)]
    of_musique = guesses[guesses["dataset"] == "musique"]["difference"]
    assert of_musique.tolist() == pytest.approx([-11.9, -9.7, -8.9], abs=1.5)
    of_wiki = guesses[guesses["dataset"] != "musique"]["difference"]
    assert of_wiki.tolist() == pytest.approx([-32.9, -4.2, -0.7], abs=1.5)


@pytest.fixture(scope="module")
def of_musique(shared):
    p = read_parameters("sample", {"data_dir": str(shared)})
    return measure(p.change(datasets=["hotpotqa", "musique"]))


def test_what_is_measured_on_musique_is_what_is_kept(of_musique):
    """And HotpotQA, which has no sub-questions, is left out."""
    shares = contrasts.summarise(of_musique)
    kept = pd.read_csv(FIGURES / "ask_or_state_sample.csv")
    kept = kept[kept["dataset"] == "musique"].reset_index(drop=True)
    pd.testing.assert_frame_equal(shares, kept)


def test_retrievers_and_corpora_are_compared_one_at_a_time(of_musique):
    few = of_musique[of_musique["k"] == 4]
    other = few.assign(retriever="hybrid", found=1.0)
    larger = few.assign(corpus=ask_or_state.FURTHER)
    table = contrasts.compare_retrievers(pd.concat([few, other, larger]))
    pairs = table[["unit", "first", "second"]].drop_duplicates().to_numpy().tolist()
    plain, more = f"BM25, {CONTEXTS}", f"BM25, {ask_or_state.FURTHER}"
    for unit in (HOP, QUESTION):
        assert [unit, plain, f"hybrid, {CONTEXTS}"] in pairs
        assert [unit, plain, more] in pairs
    assert len(pairs) == 4 == len(table)
    assert set(table[table["second"] == more]["difference"]) == {0}
    assert (table[table["second"] != more]["difference"] < 0).all()


def test_data_sets_without_sub_questions_are_an_error(shared):
    p = read_parameters("sample", {"data_dir": str(shared)})
    with pytest.raises(UserError, match="no sub-questions in hotpotqa"):
        measure(p.change(datasets=["hotpotqa"]))


def test_what_a_real_model_could_have_found(shared):
    p = read_parameters("sample", {"data_dir": str(shared)}).change(**FIXED)
    counted = count_found(p, pd.read_csv(FIGURES / "real_anchor.csv"))
    kept = pd.read_csv(SHIPPED / "data" / "real_found.csv")
    pd.testing.assert_frame_equal(counted, kept)


CHAIN = """
5a8c7595554299585d9e36b6
Who?
A: ["A"]
A: It is by Ann Lee.
A: Exit? No.
A: ["A", "B"]
A: It is by Ann Lee. She had a cat.
A: Exit? No.
A: ["A", "B", "Ann Lee (poet)"]
A: It is by Ann Lee. She had a cat. So the answer is: Bo.
A: ["pid___1", "pid___2"]
Q: Who?
"""


def test_a_sentence_of_a_real_chain_names_a_missing_page_and_brings_one():
    id, _, *lines = real_chains.QUESTION.split(CHAIN)[1].splitlines()
    assert id == "5a8c7595554299585d9e36b6"
    counted = real_chains.count_sentences(lines, ["A", "Ann Lee (poet)"])
    # the last sentence ends the chain: nothing is retrieved with it
    assert list(counted) == [(1, 1, 0), (2, 0, 1)]
    assert not list(real_chains.count_sentences(lines, ["A"]))  # none is missing


def test_real_chains_are_kept_as_they_are_counted(shared, tmp_path, monkeypatch):
    [folder] = (shared / "outputs" / "official_llama").glob("*count__2__*")
    monkeypatch.setattr(real_chains, "KEPT", tmp_path / "real_chains.csv.gz")
    real_chains.main(str(folder))
    kept = gzip.decompress((SHIPPED / "data" / "real_chains.csv.gz").read_bytes())
    assert gzip.decompress((tmp_path / "real_chains.csv.gz").read_bytes()) == kept


def test_in_real_chains_a_sentence_that_names_a_missing_page_brings_more():
    kept = pd.read_csv(SHIPPED / "data" / "real_chains.csv.gz")
    named = kept.groupby("names")["brings"]
    assert named.size().to_dict() == {1: 565, 0: 766}
    assert (100 * named.mean()).round(1).to_dict() == {1: 26.5, 0: 5.0}


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
