"""Pooled corpora, samples of questions, finding files; with real samples if there."""

from collections import Counter

import pytest

from ircotlib.data import Question
from ircotlib.datasets import find_dataset, make_paragraph, pool, sample_dev_test
from ircotlib.datasets.files import find_questions, read_dataset


def test_ids_of_paragraphs_follow_their_content():
    """And their titles, as `make_paragraph` shows."""
    title, other = "Lost Gravity (coaster)", "Lost Gravity coaster"
    pairs = [(title, "Text."), (title, "Other."), (other, "Text."), ("!?", "Text.")]
    assert len({make_paragraph(*pair).id for pair in pairs}) == 4


def test_pool_keeps_each_title_and_text_once_in_first_seen_order():
    a, b, c, b2 = (make_paragraph(*pair) for pair in ("Ax", "Bx", "Cz", "By"))
    assert pool([(a, b), (b, c, a), (), (b2, c)]) == [a, b, c, b2]
    assert pool(iter([])) == []


def make_questions(count):
    return [Question(f"q{n}", "?", ("a",), (), "musique") for n in range(count)]


SIZES = [(1000, (100, 500)), (599, (100, 499)), (210, (42, 168)), (4, (0, 4))]


@pytest.mark.parametrize(("count", "sizes"), SIZES)
def test_sizes_of_the_dev_and_test_sample(count, sizes):
    dev, test = sample_dev_test(make_questions(count))
    assert (len(dev), len(test)) == sizes
    assert len({question.id for question in dev + test}) == sum(sizes)


def test_the_sample_depends_on_the_seed_and_not_on_the_order_of_the_file():
    questions = make_questions(700)
    drawn = sample_dev_test(questions)
    assert drawn == sample_dev_test(reversed(questions), seed=0)
    assert drawn != sample_dev_test(questions, seed=1)
    assert drawn[0] != questions[:100]
    assert [question.id for question in drawn[0][:3]] == ["q84", "q180", "q41"]
    assert sample_dev_test(questions, dev=10, test=20)[0] == drawn[0][:10]


def test_files_are_found_by_official_name_in_either_folder(tmp_path):
    dataset = find_dataset("hotpotqa")
    (tmp_path / "hotpotqa").mkdir()
    for folder in (tmp_path, tmp_path / "hotpotqa"):  # the nearer one last
        (folder / dataset.files[0]).touch()
        assert find_questions(dataset, str(tmp_path)) == folder / dataset.files[0]


# the first question has this id and answer, and gold with these titles
SAMPLES = {
    "hotpotqa": """
498 questions: bridge 382, comparison 116
5abe953b5542993f32c2a170: superhero roles as the Marvel Comics
The Newcomers (film); Chris Evans (actor)
4909 paragraphs: vaada-poda-nanbargal-e4879aa3 to pierrepont-noyes-9b88977c
""",
    "2wikimultihopqa": """
657 questions: bridge_comparison 172, comparison 155, compositional 256, inference 74
100c512a0bde11eba7f7acde48001122: Cork
Charles Mathew; James Charles Mathew
4311 paragraphs: anthony-robinson-unitarian-33bff9be to del-lord-c34de60a
""",
    "musique": """
210 questions: 2hop 155, 3hop1 28, 3hop2 4, 4hop1 18, 4hop2 1, 4hop3 4
2hop__574419_270105: Stanley
Mountrail County Courthouse; Van Hook Township, Mountrail County, North Dakota
3298 paragraphs: port-blair-4860bf62 to european-central-bank-d56264d6
""",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_real_samples(shared, name):
    questions, corpus = read_dataset(name, shared)
    titles = {paragraph.id: paragraph.title for paragraph in corpus}
    assert len(titles) == len(corpus) and all(question.gold for question in questions)
    kinds = sorted(Counter(question.kind for question in questions).items())
    first = questions[0]
    assert (
        SAMPLES[name]
        == f"""
{len(questions)} questions: {", ".join(f"{kind} {count}" for kind, count in kinds)}
{first.id}: {first.answers[0]}
{"; ".join(titles[id] for id in first.gold)}
{len(corpus)} paragraphs: {corpus[0].id} to {corpus[-1].id}
"""
    )


def test_what_only_the_real_samples_show(shared):
    hotpotqa, _ = read_dataset("hotpotqa", shared)  # with 78 records whose _id is null
    assert sum(question.id.startswith("hotpotqa-") for question in hotpotqa) == 78
    musique, corpus = read_dataset("musique", shared)
    assert sum(len(question.answers) > 1 for question in musique) == 62
    # of 3298: titles repeat
    assert len({paragraph.title for paragraph in corpus}) == 2866
