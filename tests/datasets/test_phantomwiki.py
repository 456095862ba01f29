"""PhantomWiki: a small world in the package's format, damaged files, and a generated world."""

import json
import re
import shutil
from collections import Counter

import pytest

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.phantomwiki import (
    FACT,
    GOAL,
    STEPS,
    _steps,
    follow_query,
    read_phantomwiki,
)
from ircotlib.datasets.scoring import score
from ircotlib.errors import DataError
from ircotlib.results.causes import Attempt, weigh_gold

# Ann and Bob have Cy and Di; Cy and Eve have Flo and Gus
FACTS = """
Ann husband Bob, son Cy, daughter Di, friend Hal, job clerk
Bob wife Ann, son Cy, daughter Di, job health and safety adviser
Cy mother Ann, father Bob, sister Di, wife Eve, daughter Flo, son Gus, friend Hal, job cook
Di mother Ann, father Bob, brother Cy, job cook
Eve husband Cy, daughter Flo, son Gus, job nurse
Flo mother Eve, father Cy, brother Gus, job clerk
Gus mother Eve, father Cy, sister Flo, job cook
Hal friend Ann, friend Cy, job nurse
""".strip().splitlines()
WORLD = {name: {} for name in "Ann Bob Cy Di Eve Flo Gus Hal".split()}
for line in FACTS:
    person, _, listed = line.partition(" ")
    for fact in listed.split(", "):
        WORLD[person].setdefault(fact.split(" ", 1)[0], []).append(fact.split(" ", 1)[1])


def article(name):
    facts = [(fact, value) for fact, values in WORLD[name].items() for value in values]
    text = "".join(f"The {fact} of {name} is {value}.\n" for fact, value in facts)
    listed = [f'{fact}("{name}", "{value}").' for fact, value in facts]
    return {"title": name, "article": f"# {name}\n\n## Family\n{text}", "facts": listed}


COOKS = {"question": "Who is the parent of the person whose job is cook?", "difficulty": 2}
COOKS |= {"answer": ["Ann", "Bob", "Cy", "Eve"], "id": "7f", "type": 2}
COOKS["prolog"] = {"query": ["parent(Y_4, Y_2)", 'job(Y_4, "cook")'], "answer": "Y_2"}


def write(folder, questions, articles=None):
    articles = [article(name) for name in WORLD] if articles is None else articles
    (folder / "articles.json").write_text(json.dumps(articles))
    (folder / "questions.json").write_text(json.dumps(questions))
    return folder / "questions.json"


def test_a_question_and_its_articles_are_read(tmp_path):
    write(tmp_path, [COOKS, COOKS | {"id": "80"}, COOKS | {"question": "Who?", "difficulty": 1}])
    (first, second), paragraphs = read_dataset("phantomwiki", tmp_path)
    answers, gold = ('["Ann", "Bob", "Cy", "Eve"]',), ("Cy", "Di", "Gus")
    id = "phantomwiki-1672ec90729d07d6"  # the same however often a world is written
    text, kind = COOKS["question"], "difficulty 2"
    assert first == Question(id, text, answers, gold, "phantomwiki", kind)
    assert (second.text, second.kind) == ("Who?", "difficulty 1")
    text = "The friend of Hal is Ann. The friend of Hal is Cy. The job of Hal is nurse."
    assert [*paragraphs][-1] == Paragraph("Hal", "Hal", text)


COUNT = "aggregate_all(count, distinct({}), Count_1)"
QUERIES = [  # query, answers, whose articles are read
    (['job(Y_2, "nurse")'], "Eve Hal", "Eve Hal"),
    (['job("Bob", Y_2)'], "health_and_safety_adviser", "Bob"),
    (['mother("Gus", Y_2)'], "Eve", "Gus"),
    (['sibling("Di", Y_2)'], "Cy", "Di"),
    (['grandmother("Flo", Y_2)'], "Ann", "Flo Eve Cy"),  # at Eve is a dead end
    (['aunt("Flo", Y_2)'], "Di", "Flo Eve Cy"),
    (['niece("Di", Y_2)'], "Flo", "Di Cy"),
    (['mother_in_law("Eve", Y_2)'], "Ann", "Eve Cy"),
    (["job(Y_3, Y_2)", 'friend("Hal", Y_3)'], "clerk cook", "Hal Ann Cy"),
    ([COUNT.format('child("Ann", Y_1)')], "2", "Ann"),
    ([COUNT.format("child(Y_3, Y_1)"), 'child("Ann", Y_3)'], "0 2", "Ann Cy Di"),
    ([COUNT.format('great_grandchild("Ann", Y_1)')], "0", "Ann Cy Di Flo Gus"),
]


@pytest.mark.parametrize(("query", "answers", "read"), QUERIES)
def test_gold_are_the_articles_that_are_read_to_answer_a_query(query, answers, read):
    names, gold = follow_query(query, WORLD)
    assert names == {name.replace("_", " ") for name in answers.split()}
    assert set(gold) == set(read.split()) and len(set(gold)) == len(gold)


def test_all_answers_are_wanted_and_not_one_of_them(tmp_path):
    [(question, _)] = read_phantomwiki(write(tmp_path, [COOKS]))
    half = score(question, Prediction("Ann and Bob", (Paragraph("Cy", "Cy", ""),)))
    assert (half["f1"], half["em"], half["recall"]) == (pytest.approx(2 / 3), 0, 1 / 3)
    assert score(question, Prediction("Eve, Cy, Bob, Ann"))["em"] == 1
    assert "cover_em" not in find_dataset("phantomwiki").scores  # one name would cover
    written = [
        weigh_gold(Attempt(("It.",), text), question).written for text in ("Ann", "Ann Bob Cy Eve")
    ]
    assert written == [False, True]


def changed(record, **fields):
    return record | {name: value for name, value in fields.items()}


SON = article("Ann")
BROKEN = [
    (
        [changed(COOKS, answer=[])],
        None,
        "questions.json, record 1, field 'answer': expected a list of",
    ),
    (
        [changed(COOKS, difficulty="2")],
        None,
        "record 1, field 'difficulty': expected a whole number",
    ),
    (
        [COOKS, {"question": "Who?"}],
        None,
        "record 2, field 'answer': expected this field, found only",
    ),
    (
        [changed(COOKS, answer=["Ann"])],
        None,
        "'answer': expected ['Ann', 'Bob', 'Cy', 'Eve'], to wh",
    ),
    (
        [changed(COOKS, prolog={"query": ["?"]})],
        None,
        "'prolog': found '?', expected a goal such as",
    ),
    (
        [changed(COOKS, prolog={"query": ['son("Zoe", Y_2)']})],
        None,
        "'prolog': found the person 'Zoe'",
    ),
    (
        {"question": "Who?"},
        None,
        "questions.json: expected one JSON list of questions, found {'ques",
    ),
    ([COOKS], [SON, SON], "articles.json, record 2: expected every title once, found 'Ann' again"),
    (
        [COOKS],
        [changed(SON, facts=["son(Ann)"])],
        "record 1, field 'facts': expected a fact such as s",
    ),
    (
        [COOKS],
        [{"title": "Ann", "article": "# Ann"}],
        "articles.json, record 1, field 'facts': expected",
    ),
    ([COOKS], {}, "articles.json: expected one JSON list"),
]


@pytest.mark.parametrize(("questions", "articles", "message"), BROKEN)
def test_files_out_of_format_are_named_with_record_and_field(
    tmp_path, questions, articles, message
):
    path = write(tmp_path, questions, articles)
    with pytest.raises(DataError, match=re.escape(message)) as error:
        [*read_phantomwiki(path)]
    assert str(error.value).startswith(str(tmp_path)) and "\n" not in str(error.value)


def test_questions_without_articles_are_named(tmp_path):
    (tmp_path / "questions.json").write_text(json.dumps([COOKS]))
    with pytest.raises(
        FileNotFoundError, match="looked for articles.json in .*; get .* put it there"
    ):
        read_dataset("phantomwiki", tmp_path)


@pytest.mark.parametrize(
    ("file", "kinds"),
    [("questions.json", [24, 38, 29, 27, 8, 8, 5, 1]), ("questions_easy.json", [30, 60, 50])],
)
def test_a_generated_world(shared, tmp_path, file, kinds):
    """Reading compares the answers of all queries with what the articles' facts lead to."""
    for source, name in ((file, "questions.json"), ("articles.json", "articles.json")):
        shutil.copyfile(shared / "phantomwiki" / source, tmp_path / name)
    questions, paragraphs = read_dataset("phantomwiki", tmp_path)
    corpus = {paragraph.id: paragraph.text for paragraph in paragraphs}
    counted = Counter(question.kind for question in questions)
    assert counted == {f"difficulty {n}": count for n, count in enumerate(kinds, start=1)}
    words = sorted(len(text.split()) for text in corpus.values())
    assert (len(words), words[0], words[-1]) == (503, 46, 112)
    facts = {}
    for record in json.loads((tmp_path / "articles.json").read_bytes()):
        for fact in map(FACT.fullmatch, record["facts"]):
            facts.setdefault(fact[2], {}).setdefault(fact[1], []).append(fact[3])
    rows = json.loads((tmp_path / "questions.json").read_bytes())
    for question, row in zip(questions, rows, strict=True):
        gold = {name: facts[name] for name in question.gold}
        assert follow_query(row["prolog"]["query"], gold)[0] == set(row["answer"])  # they suffice
        relations = [GOAL.search(goal)[1] for goal in row["prolog"]["query"]]
        steps = sum(len(_steps(relation)) for relation in relations)
        if not row["is_aggregation_question"]:
            assert steps == row["difficulty"]  # so relations are as long as the package counts
    assert len(STEPS) == 37
