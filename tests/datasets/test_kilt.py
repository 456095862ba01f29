"""StrategyQA, and KILT's tasks and pages: small files in the official formats, and real
samples.
"""

import json
from dataclasses import replace

import pytest

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset, score
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.searchain import (
    ask_claim,
    read_eli5,
    read_fever,
    read_pages,
    read_slots,
)
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, one_verdict, rouge_l

PROVENANCE = [{"wikipedia_id": "12", "title": "Anarchism", "start_paragraph_id": 1}]
OUTPUT = [{"answer": "Jane Austen", "provenance": PROVENANCE}, {"answer": "Austen"}]
OUTPUT += [{"answer": "Jane Austen"}, {"provenance": PROVENANCE}]
SLOT = {"id": "1", "input": "Emma [SEP] author", "output": OUTPUT, "meta": {}}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_slot_is_asked_as_a_question_and_its_answers_counted_once(tmp_path):
    path = write_lines(tmp_path / "zsre.jsonl", SLOT, SLOT | {"id": "2"})
    (first, context), (second, _) = read_slots(path, "zsre")
    asked = "What is the author of Emma?"
    assert (
        first == Question("1", asked, ("Jane Austen", "Austen"), (), "zsre")
        and context == ()
    )
    assert second.id == "2"


def test_an_input_without_a_relation_is_named(tmp_path):
    path = write_lines(tmp_path / "zsre.jsonl", SLOT | {"input": "Emma"})
    with pytest.raises(ValueError, match=f"^{path}:1, field input: [^\n]+$"):
        list(read_slots(path, "zsre"))


def test_pages_are_cut_into_passages_of_100_words_without_heads(tmp_path):
    words = [f"w{number}" for number in range(150)]
    text = [
        "Anarchism\n",
        f"{' '.join(words)}\n",
        "Section::::History.\n",
        "BULLET::::- one two\n",
    ]
    page = {
        "_id": "12",
        "wikipedia_id": "12",
        "wikipedia_title": "Anarchism",
        "text": text,
    }
    path = write_lines(
        tmp_path / "kilt_knowledgesource.json", page, page | {"_id": "13"}
    )
    first, second, third, _ = read_pages(path)
    assert (first.id, second.id, third.id) == ("12-0", "12-1", "13-0")
    assert first.title == "Anarchism" and first.text == " ".join(words[:100])
    assert second.text == " ".join([*words[100:], "-", "one", "two"])


def test_pages_beside_the_questions_are_a_corpus_and_none_is_an_error(tmp_path):
    (tmp_path / "zsre").mkdir()
    write_lines(tmp_path / "zsre/structured_zeroshot-dev-kilt.jsonl", SLOT)
    with pytest.raises(
        FileNotFoundError, match="looked for kilt_knowledgesource.json in .*; get "
    ):
        read_dataset("zsre", tmp_path)
    page = {"_id": "12", "wikipedia_title": "Emma", "text": ["Emma", "Short."]}
    for place in ("kilt_knowledgesource.json", "kilt/kilt_knowledgesource.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        write_lines(tmp_path / place, page | {"wikipedia_title": place})
        [question], corpus = read_dataset("zsre", tmp_path)
        assert question.answers[0] == "Jane Austen"
        assert [(p.id, p.title, p.text) for p in corpus] == [("12-0", place, "Short.")]


def test_claims_of_both_formats_are_asked_alike(tmp_path):
    kilt = {"id": "7", "input": "Emma is a novel.", "output": [{"answer": "SUPPORTS"}]}
    claim = {"id": 7, "label": "SUPPORTS", "claim": "Emma is a novel.", "evidence": []}
    other = {
        "id": 8,
        "label": "NOT ENOUGH INFO",
        "claim": "Emma is long.",
        "evidence": [],
    }
    [(found, _)] = read_fever(write_lines(tmp_path / "kilt.jsonl", kilt))
    [(same, _)] = read_fever(write_lines(tmp_path / "fever.jsonl", claim, other))
    assert found == same and found.answers == ("SUPPORTS",)
    assert found.text == "Is it true that Emma is a novel (SUPPORTS or REFUTES)?"
    with pytest.raises(
        DataError, match="field label: Input should be 'SUPPORTS', .* 'MAYBE'"
    ):
        list(
            read_fever(
                write_lines(tmp_path / "wrong.jsonl", claim | {"label": "MAYBE"})
            )
        )


def test_strategyqa_has_verdicts_and_the_paragraphs_of_its_first_annotator(tmp_path):
    first = [
        [[["Emma-1", "Jane Austen-2"]]],
        ["operation"],
        [["Emma-1"], "no_evidence"],
    ]
    evidence = [first, [[[["Persuasion-1"]]]]]
    record = {
        "qid": "a",
        "question": "Is Emma a poem?",
        "answer": False,
        "evidence": evidence,
    }
    (tmp_path / "strategyqa_train.json").write_text(json.dumps([record]))
    paragraphs = {"Emma-1": {"title": "Emma", "para_index": 1, "content": "A novel. "}}
    (tmp_path / "strategyqa_train_paragraphs.json").write_text(json.dumps(paragraphs))
    lacking = "paragraphs.json: found no 'Jane Austen-2', expected"
    with pytest.raises(DataError, match=lacking):
        list(read_dataset("strategyqa", tmp_path)[1])
    paragraphs["2"] = {"title": "Jane Austen", "para_index": 2, "content": "A writer."}
    (tmp_path / "strategyqa_train_paragraphs.json").write_text(json.dumps(paragraphs))
    [question], corpus = read_dataset("strategyqa", tmp_path)
    assert question.text == "Is Emma a poem? (Yes or No)" and question.answers == (
        "No",
    )
    assert question.gold == ("Emma-1", "Jane Austen-2")
    paragraph, _ = corpus
    assert (paragraph.id, paragraph.title, paragraph.text) == (
        "Emma-1",
        "Emma",
        "A novel.",
    )
    path = tmp_path / "strategyqa_train.json"
    [(without, _)] = find_dataset("strategyqa").read_with_corpus(path, ())
    assert without == replace(question, gold=())  # KILT's pages have other ids
    for unread in (
        Prediction("", reading="No."),
        Prediction("", fault="x", reading="I say no."),
    ):
        # the whole text
        assert score(question, unread) == score(question, Prediction("No."))
    scores = score(question, Prediction("No."))
    assert scores["cover_em"] == scores["accuracy"] == 1 and scores["recall"] == 0


def test_real_samples_load_and_their_counts_hold(shared):
    questions, corpus = read_dataset("strategyqa", shared)
    corpus = list(corpus)
    assert (len(questions), len(corpus)) == (229, 998)
    assert sum(q.answers == ("Yes",) for q in questions) == 107
    known = {paragraph.id for paragraph in corpus}
    assert sum(set(q.gold) <= known and bool(q.gold) for q in questions) == 227
    fever = [q for q, _ in read_fever(shared / "fever" / "dev_300.jsonl")]
    assert (len(fever), sum(q.answers == ("SUPPORTS",) for q in fever)) == (214, 99)
    assert fever[0].text == ask_claim("Fox 2000 Pictures released the film Soul Food.")
    eli5 = [q for q, _ in read_eli5(shared / "eli5" / "alce_200.json")]
    assert len({q.id for q in eli5}) == len(eli5) == 200
    assert (
        find_dataset("eli5").scores["rouge_l"](eli5[0].answers[0], eli5[0].answers)
        > 0.999
    )


def test_an_answer_is_covered_by_words_not_by_letters_and_two_verdicts_are_none():
    assert cover_em("I do not know.", ["no"]) == cover_em("", ["the"]) == 0
    assert cover_em("It was Jane Austen who wrote it", ["Austen", "Brontë"]) == 1
    assert cover_em("Jane, then Austen", ["Jane Austen"]) == 0
    both = ("Yes", "No")
    assert one_verdict("So the answer is: No.", ["No"], both) == 1
    for wrong in ("Yes and no.", "Who knows?", "Yes."):
        assert one_verdict(wrong, ["No"], both) == 0


def test_rouge_l_is_the_f_of_the_longest_common_subsequence():
    assert rouge_l(
        "the cat sat on the mat", ["the cat lay on the mat"]
    ) == pytest.approx(0.8)
    assert rouge_l("", ["a"]) == rouge_l(" . ", ["a"]) == rouge_l("b", ["a", "."]) == 0
    assert rouge_l("c b a", ["a b c"]) == pytest.approx(1 / 3, abs=0.01)
