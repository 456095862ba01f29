"""StrategyQA, and KILT's tasks and pages: small files, and a real sample."""

import json
from dataclasses import replace

import pytest

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset, score
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.searchain import read_pages
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, one_verdict

PROVENANCE = [{"wikipedia_id": "12", "title": "Anarchism", "start_paragraph_id": 1}]
OUTPUT = [
    {"answer": "Jane Austen", "provenance": PROVENANCE},
    {"answer": "Austen"},
    {"answer": "Jane Austen"},
    {"provenance": PROVENANCE},
]
SLOT = {"id": "1", "input": "Emma [SEP] author", "output": OUTPUT, "meta": {}}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_slot_is_asked_as_a_question_and_its_answers_counted_once(tmp_path):
    path = write_lines(tmp_path / "zsre.jsonl", SLOT, SLOT | {"id": "2"})
    (first, context), (second, _) = find_dataset("zsre").read(path)
    answers = ("Jane Austen", "Austen")
    assert first == Question("1", "What is the author of Emma?", answers, (), "zsre")
    assert context == () and second.id == "2"


def test_a_line_without_an_answer_is_named(tmp_path):
    path = write_lines(tmp_path / "zsre.jsonl", SLOT | {"output": [{}]})
    no_answer = ":1: found no answer in output: is it a test set"
    with pytest.raises(DataError, match=f"^{path}{no_answer}"):
        list(find_dataset("zsre").read(path))


def test_pages_are_cut_into_passages_of_100_words_without_heads(tmp_path):
    words = [f"w{number}" for number in range(150)]
    text = ["Anarchism", " ".join(words), "Section::::History.", "BULLET::::- one two"]
    page = {
        "_id": "12",
        "wikipedia_id": "12",
        "wikipedia_title": "Anarchism",
        "text": [f"{line}\n" for line in text],
    }
    path = write_lines(tmp_path / "kilt.json", page, page | {"_id": "13"})
    first, second, third, _ = read_pages(path)
    assert (first.id, second.id, third.id) == ("12-0", "12-1", "13-0")
    assert first.title == "Anarchism" and first.text == " ".join(words[:100])
    assert second.text == " ".join([*words[100:], "-", "one", "two"])


def test_pages_beside_the_questions_are_a_corpus_and_none_is_an_error(tmp_path):
    (tmp_path / "zsre").mkdir()
    write_lines(tmp_path / "zsre/structured_zeroshot-dev-kilt.jsonl", SLOT)
    absent = "looked for kilt_knowledgesource.json in .*; put "
    with pytest.raises(FileNotFoundError, match=absent):
        read_dataset("zsre", tmp_path)
    page = {"_id": "12", "wikipedia_title": "Emma", "text": ["Emma", "Short."]}
    for place in ("kilt_knowledgesource.json", "kilt/kilt_knowledgesource.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        write_lines(tmp_path / place, page | {"wikipedia_title": place})
        [question], corpus = read_dataset("zsre", tmp_path)
        assert question.answers[0] == "Jane Austen"
        assert [(p.id, p.title, p.text) for p in corpus] == [("12-0", place, "Short.")]


def test_a_claim_is_asked_as_a_question_and_a_question_as_it_is(tmp_path):
    line = {"id": "7", "input": "Emma is a novel.", "output": [{"answer": "SUPPORTS"}]}
    path = write_lines(tmp_path / "kilt.jsonl", line)
    [(claim, _)] = find_dataset("fever").read(path)
    assert claim.text == "Is it true that Emma is a novel (SUPPORTS or REFUTES)?"
    assert (claim.answers, claim.dataset) == (("SUPPORTS",), "fever")
    [(question, _)] = find_dataset("eli5").read(path)
    assert (question.text, question.dataset) == ("Emma is a novel.", "eli5")


def test_strategyqa_has_verdicts_and_the_paragraphs_of_its_first_annotator(tmp_path):
    steps = [
        [[["Emma-1", "Jane Austen-2"]]],
        ["operation"],
        [["Emma-1"], "no_evidence"],
    ]
    record = {
        "qid": "a",
        "question": "Is Emma a poem?",
        "answer": False,
        "evidence": [steps, [[[["Persuasion-1"]]]]],
    }
    path = tmp_path / "strategyqa_train.json"
    path.write_text(json.dumps([record]))
    beside = tmp_path / "strategyqa_train_paragraphs.json"
    paragraphs = {"Emma-1": {"title": "Emma", "para_index": 1, "content": "A novel. "}}
    beside.write_text(json.dumps(paragraphs))
    with pytest.raises(DataError, match=f"^{beside}: found no 'Jane Austen-2', evid"):
        list(read_dataset("strategyqa", tmp_path)[1])
    paragraphs["2"] = {"title": "Jane Austen", "para_index": 2, "content": "A writer."}
    beside.write_text(json.dumps(paragraphs))
    [question], corpus = read_dataset("strategyqa", tmp_path)
    assert question.text == "Is Emma a poem? (Yes or No)"
    assert question.answers == ("No",)
    assert question.gold == ("Emma-1", "Jane Austen-2")
    paragraph, _ = corpus
    found = (paragraph.id, paragraph.title, paragraph.text)
    assert found == ("Emma-1", "Emma", "A novel.")
    [(without, _)] = find_dataset("strategyqa").read_with_corpus(path, ())
    assert without == replace(question, gold=())  # KILT's pages have other ids
    right = score(question, Prediction("No."))
    assert (right["cover_em"], right["accuracy"], right["recall"]) == (1, 1, 0)
    # where no answer could be read, the whole text is scored
    assert score(question, Prediction("", reading="No.")) == right
    assert score(question, Prediction("", fault="x", reading="I say no.")) == right


def test_the_real_sample_of_strategyqa(shared):
    read = find_dataset("strategyqa").read(shared / "strategyqa/dev_229.json")
    questions = [question for question, _ in read]
    assert sum(question.answers == ("Yes",) for question in questions) == 107
    assert sum(bool(question.gold) for question in questions) == 227


def test_an_answer_is_covered_by_words_not_by_letters_and_two_verdicts_are_none():
    assert cover_em("I do not know.", ["no"]) == cover_em("", ["the"]) == 0
    assert cover_em("It was Jane Austen who wrote it", ["Austen", "Brontë"]) == 1
    assert cover_em("Jane, then Austen", ["Jane Austen"]) == 0
    both = ("Yes", "No")
    assert one_verdict("So the answer is: No.", ["No"], both) == 1
    for wrong in ("Yes and no.", "Who knows?", "Yes."):
        assert one_verdict(wrong, ["No"], both) == 0
