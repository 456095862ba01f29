"""Pooled corpora, samples of questions, finding files; with the real samples if present."""

import json
from collections import Counter

import pytest

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions, read_dataset
from ircotlib.datasets.pooled import make_paragraph, pool, sample_dev_test

GRAVITY, MACK = ["Lost Gravity", ["It is by Mack Rides."]], ["Mack Rides", ["It is German."]]
RECORD = {"_id": "5a", "question": "In what country?", "answer": "Germany", "type": "bridge"}
RECORD["supporting_facts"] = [["Mack Rides", 0], ["Lost Gravity", 0]]
RECORD["context"] = [["Walibi", ["It is a park."]], GRAVITY, MACK]


def write(folder, records):
    """Write records as HotpotQA's official file."""
    path = folder / "hotpot_dev_distractor_v1.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_ids_of_paragraphs_follow_their_content():
    title = "Lost Gravity (coaster)"
    paragraph = make_paragraph(title, "Text.")
    assert paragraph == Paragraph("lost-gravity-coaster-adb54a29", title, "Text.")
    others = (title, "Other."), ("Lost Gravity coaster", "Text."), ("!?", "Text.")
    assert len({paragraph.id, *(make_paragraph(*other).id for other in others)}) == 4


def test_pool_keeps_each_title_and_text_once_in_first_seen_order():
    a, b, c, b2 = (make_paragraph(*pair) for pair in ("Ax", "Bx", "Cz", "By"))
    assert pool([(a, b), (b, c, a), (), (b2, c)]) == [a, b, c, b2]
    assert pool(iter([])) == []


def make_questions(count):
    return [Question(f"q{number}", "?", ("a",), (), "musique") for number in range(count)]


@pytest.mark.parametrize(
    ("count", "sizes"), [(1000, (100, 500)), (599, (100, 499)), (210, (42, 168)), (4, (0, 4))]
)
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
    path = write(tmp_path, [RECORD])
    dataset = find_dataset("hotpotqa")
    assert find_questions(dataset, tmp_path) == path
    (tmp_path / "hotpotqa").mkdir()
    nearer = write(tmp_path / "hotpotqa", [RECORD])
    assert find_questions(dataset, str(tmp_path)) == nearer


# of each real sample: the numbers of questions, paragraphs and kinds; id, answer and titles of gold
# of its first, tenth and last question; the ids of its first, tenth and last paragraph
WIKI_KINDS = "compositional 256 comparison 155 inference 74 bridge_comparison 172"
SAMPLES = {
    "hotpotqa": (498, 4909, "bridge 382 comparison 116"),
    "2wikimultihopqa": (657, 4311, WIKI_KINDS),
    "musique": (210, 3298, "2hop 155 3hop1 28 3hop2 4 4hop1 18 4hop2 1 4hop3 4"),
}
QUESTIONS = """
5abe953b5542993f32c2a170|superhero roles as the Marvel Comics|The Newcomers (film)|\
Chris Evans (actor)
5a85c3225542992a431d1b95|middle order batsman|2000 ICC KnockOut Trophy|Marlon Samuels
5a7ea14655429930675135ab|Oneida Limited|Pierrepont Noyes|Oneida Community
100c512a0bde11eba7f7acde48001122|Cork|Charles Mathew|James Charles Mathew
ce98e6620bd911eba7f7acde48001122|Rome|Alessandro Ruspoli, 2nd Prince of Cerveteri|Francesco Maria \
Marescotti Ruspoli, 1st Prince of Cerveteri
6d1b9cfc08b611ebbd88ac1f6bf848b6|Jackass Mail|Three Little Sew and Sews|Jackass Mail|Del Lord|\
Norman Z. McLeod
2hop__574419_270105|Stanley|Mountrail County Courthouse|Van Hook Township, Mountrail County, North \
Dakota
2hop__135653_669373|Charles University|Mach's principle|Vinko Dvořák
2hop__27650_27628|Vitor Constâncio|European Central Bank|European Central Bank
""".strip().splitlines()
IDS = """
vaada-poda-nanbargal-e4879aa3 dan-kavanagh-bc0f10d2 pierrepont-noyes-9b88977c
anthony-robinson-unitarian-33bff9be charles-james-footballer-821ca765 del-lord-c34de60a
port-blair-4860bf62 rochester-community-schools-michigan-253ae68a european-central-bank-d56264d6
""".split()


@pytest.mark.parametrize(("number", "name"), enumerate(SAMPLES))
def test_the_real_samples(shared, number, name):
    questions, corpus = read_dataset(name, shared)
    titles = {paragraph.id: paragraph.title for paragraph in corpus}
    kinds = Counter(question.kind for question in questions)
    listed = SAMPLES[name][2].split()
    assert (len(questions), len(corpus)) == SAMPLES[name][:2] and len(titles) == len(corpus)
    assert kinds == dict(zip(listed[::2], map(int, listed[1::2]), strict=True))
    three = slice(3 * number, 3 * number + 3)
    for question, expected in zip(questions[:10:9] + questions[-1:], QUESTIONS[three], strict=True):
        gold = [titles[id] for id in question.gold]
        assert "|".join([question.id, question.answers[0], *gold]) == expected
    assert [corpus[0].id, corpus[9].id, corpus[-1].id] == IDS[three]
    assert all(question.gold for question in questions)


def test_what_only_the_real_samples_show(shared):
    hotpotqa, _ = read_dataset("hotpotqa", shared)
    # records whose _id is null
    assert sum(question.id.startswith("hotpotqa-") for question in hotpotqa) == 78
    musique, corpus = read_dataset("musique", shared)
    assert sum(len(question.answers) > 1 for question in musique) == 62
    # of 3298 paragraphs: titles repeat with other texts
    assert len({paragraph.title for paragraph in corpus}) == 2866
    assert sorted({len(question.gold) for question in musique}) == [2, 3, 4]
