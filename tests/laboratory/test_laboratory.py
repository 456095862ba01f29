"""The laboratory: its files, demonstrations, and questions that need all paragraphs."""

import os
import subprocess
import sys
from hashlib import blake2b

import pytest
from solver import answer

from ircot_laboratory.make import (
    make_dataset,
    make_laboratory,
    write_all_demonstrations,
)
from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.questions.questions import DATASETS
from ircotlib.datasets import make_paragraph, sample_dev_test
from ircotlib.datasets.files import read_dataset
from ircotlib.files import PROMPTS
from ircotlib.prompting.demonstrations import demonstration_sets, read_demonstrations
from ircotlib.text import answer_from_chain

# a hash of all files of the default laboratory but laboratory.json
CONTENT = "e5d3593e61380d60"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A laboratory that has more pages than there are names of two words."""
    target = tmp_path_factory.mktemp("laboratory") / "8"
    return make_laboratory(target, seed=8, size=3000, questions=30)


@pytest.fixture(scope="module")
def loaded(folder):
    return {dataset: read(folder, dataset) for dataset in DATASETS}


def read(folder, dataset):
    questions, corpus = read_dataset(dataset, folder)
    return questions, {paragraph.id: paragraph for paragraph in corpus}


def files_of(folder):
    """The content of all files, by path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def shown(question, corpus):
    """The gold paragraphs and the main passage, each text once."""
    paragraphs = [corpus[id] for id in question.gold]
    paragraphs += [question.passage] if question.passage else []
    return list({paragraph.text: paragraph for paragraph in paragraphs}.values())


@pytest.mark.parametrize("dataset", DATASETS)
def test_loaders_give_back_questions_gold_and_the_pages_as_corpus(loaded, dataset):
    (questions, corpus), (world, riddles) = loaded[dataset], make_dataset(dataset)
    by_text = {riddle.text: riddle for riddle in riddles}
    assert list(map(len, sample_dev_test(questions))) == [100, 500]
    for question in questions:
        riddle = by_text[question.text]
        gold = gold_passages(world, riddle)
        assert question.answers[0] == riddle.answer
        assert {p.text for p in shown(question, corpus)} == {p.text for p in gold}
        if dataset == "iirc":
            assert question.passage.text == world.passage(*riddle.main).text
            assert question.kind == ("span" if riddle.kind == "span" else "value")
        else:
            ids = {make_paragraph(passage.title, passage.text).id for passage in gold}
            assert set(question.gold) == ids and question.kind == riddle.kind
    texts = {(p.title, p.text) for page in world.pages.values() for p in page}
    if dataset == "iirc":
        texts = {(title.lower(), text) for title, text in texts}
    assert {(paragraph.title, paragraph.text) for paragraph in corpus.values()} == texts


@pytest.mark.parametrize("laboratory", ["folder", "large"])
def test_questions_are_answered_by_all_their_paragraphs_and_not_by_fewer(
    laboratory, request
):
    for dataset in DATASETS:
        questions, corpus = read(request.getfixturevalue(laboratory), dataset)
        for question in questions[:150]:
            text, paragraphs = question.text, shown(question, corpus)
            assert answer(dataset, text, paragraphs) == question.answers[0], question
            for missing in paragraphs:
                fewer = [paragraph for paragraph in paragraphs if paragraph != missing]
                assert answer(dataset, text, fewer) is None, (question, missing)


def test_nothing_in_the_whole_corpus_gives_another_answer(loaded, large):
    questions, corpus = loaded["musique"]
    for question in questions[:5]:
        assert answer("musique", question.text, corpus.values()) == question.answers[0]
    # which has all pages, with any number of questions
    assert len(read(large, "iirc")[1]) > 3000


def test_the_same_bytes_again_by_the_command(folder, tmp_path):
    small, again = tmp_path / "small", tmp_path / "again"
    make_laboratory(small, seed=7, size=300, questions=40, downloads=True)
    options = "--seed=7", "--size=300", "--questions=40", "--downloads"
    command = [sys.executable, "-m", "ircotlib", "laboratory", str(again), *options]
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    assert files_of(small) == files_of(again)
    content = files_of(folder)
    assert len(content) == 1 + 6 + 66 + 7 + 1
    del content["laboratory.json"]
    whole = b"".join(f"{name}\n".encode() + text for name, text in content.items())
    assert blake2b(whole, digest_size=8).hexdigest() == CONTENT


def test_other_files_are_not_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("notes")
    with pytest.raises(ValueError, match="mine holds files that are no laboratory"):
        make_laboratory(tmp_path / "mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "notes"


def test_kept_demonstrations_are_what_the_generator_makes(tmp_path):
    made = [(dataset, make_dataset(dataset)) for dataset in DATASETS]
    written = write_all_demonstrations(tmp_path, made)
    assert files_of(PROMPTS / "laboratory") == files_of(tmp_path)
    assert len(written) == len(files_of(tmp_path))


@pytest.mark.parametrize("laboratory", ["folder", "large"])
def test_demonstrations_are_not_among_the_questions_and_show_what_they_need(
    laboratory, request
):
    folder = request.getfixturevalue(laboratory)
    for dataset in DATASETS:
        asked = {question.text for question in read_dataset(dataset, folder)[0]}
        prompts = folder / "prompts" / dataset
        chains = read_demonstrations(prompts / "no_context_cot_qa_flan_t5.txt")
        answers = {d.id: answer_from_chain(d.answer) for d in chains}
        paths = sorted(prompts.glob("*_qa_flan_t5.txt"))
        assert len(paths) == 8 and len(answers) == 20
        for path in paths:
            for shot in read_demonstrations(path):
                gold = answers[shot.id]
                assert shot.question not in asked
                assert "_direct_" not in path.name or shot.answer == gold
                expected = None if path.name.startswith("no_context") else gold
                assert answer(dataset, shot.question, shot.paragraphs) == expected
        name = "gold_with_{m}_distractors_context_cot_qa_flan_t5.txt"
        files = [read_demonstrations(prompts / name.format(m=m)) for m in (1, 2, 3)]
        for shots in zip(*files, strict=True):
            least, *more = [len(shot.paragraphs) for shot in shots]
            assert more == [least + 1, least + 2]


def test_three_fixed_sets_of_fifteen_with_all_kinds(folder):
    for dataset in DATASETS:
        path = folder / f"prompts/{dataset}/no_context_cot_qa_flan_t5.txt"
        examples = read_demonstrations(path)
        sets = demonstration_sets(examples, dataset, folder=folder / "prompts")
        assert [len({d.id for d in chosen}) for chosen in sets] == [15, 15, 15]
        assert len({tuple(d.id for d in chosen) for chosen in sets}) == 3
