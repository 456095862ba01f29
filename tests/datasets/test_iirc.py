"""IIRC: small files in the official format, and runs of a setup with them."""

import json
import re

import pytest

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset, iirc, score
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.iirc import page_paragraph, read_articles, read_iirc
from ircotlib.errors import DataError
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.files import PROMPTS
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems

PASSAGE = "Fišer studied in Zagreb, at the academy and at the Mozarteum. "
FOUNDED = (
    "The academy was founded in 1829 as the school of the Musikverein, in the town."
)
MOVED = "In 2014 the academy moved to a new building that was made for it, not far off."
MOZARTEUM = "The Mozarteum is a school of music and the arts in Salzburg since 1841."
ABRAHAM = "Ábrahám is a name that people have, here and there – and in many countries."
ARTICLES = {
    "academy of music, zagreb": '<a href="Zagreb">Zagreb</a> has it.\n\n'
    f"{FOUNDED}\n<ul>\n<li>Staff &amp; us</li></ul>\n{MOVED}\n{FOUNDED}",
    "mozarteum": MOZARTEUM.replace("Salzburg", '<a href="Salzburg">Salzburg</a>'),
    "ábrahám": ABRAHAM.replace("–", "&#8211;"),
    "nothing": "",
}


def question(**fields):
    snippet = ("founded in  1829\nas the school", "Academy of Music, Zagreb")
    record = {
        "qid": "q_1",
        "question": "When was the academy founded?",
        **spans("1829"),
        **context(("Fišer studied in Zagreb", "main"), snippet),
    }
    return record | fields


def context(*pairs):
    return {"context": [{"text": text, "passage": page} for text, page in pairs]}


def answer(kind, **fields):
    return {"answer": {"type": kind, **fields}}


def spans(*texts):
    return answer("span", answer_spans=[{"text": text} for text in texts])


def write(folder, *questions, articles=ARTICLES):
    folder.mkdir(exist_ok=True)
    passage = {"title": "Ivana Fišer", "text": PASSAGE, "questions": questions}
    (folder / "dev.json").write_text(json.dumps([passage]))
    (folder / "context_articles.json").write_text(json.dumps(articles))
    return folder / "dev.json"


def read(path, released=False):
    """The questions of a file; none of them has a context."""
    examples = read_iirc(path, released)
    assert all(context == () for _, context in examples)
    return [question for question, _ in examples]


def test_a_question_has_its_main_passage_and_its_gold_paragraph(tmp_path):
    questions = read(write(tmp_path, question()))
    passage = page_paragraph("Ivana Fišer", PASSAGE.strip())
    gold = page_paragraph("academy of music, zagreb", FOUNDED)
    asked = "q_1", "When was the academy founded?", ("1829",), (gold.id,)
    assert questions == [Question(*asked, "iirc", "span", passage)]
    assert gold in list(read_articles(tmp_path / "context_articles.json"))


YEARS = answer("value", answer_value="53 ", answer_unit="years")
TOWNS = spans("Cook, Ill.", "MalmÃ¶")
ANSWERS = [  # and as the released program takes it
    (spans(" Croatia "), ("Croatia",), ("Croatia",)),
    (spans(" “Łódź” of the ﬁlm "), ("“Łódź” of the ﬁlm",), ('"Łódź" of the film',)),
    (TOWNS, ('["Cook, Ill.", "MalmÃ¶"]',), ('["Cook, Ill.", "Malmö"]',)),
    (YEARS, ("53", "53 years"), ("53",)),
    (answer("binary", answer_value="yes"), ("yes",), ("yes",)),
]


@pytest.mark.parametrize(("given", "answers", "released"), ANSWERS)
def test_an_answer_of_each_type(tmp_path, given, answers, released):
    path = write(tmp_path, question(**given))
    [asked], [other] = read(path), read(path, released=True)
    assert (asked.answers, asked.kind) == (answers, given["answer"]["type"])
    assert other.answers == released
    assert {iirc.exact_match(each, answers) for each in answers} == {1}
    assert iirc.f1(answers[0], answers) == 1


SCORED = [  # answers, a prediction, exact match and F1; both as in the released program
    (["“Łódź” of the film"], '"Łódź” of the ﬁlm', (0, 0.33), (1, 1)),
    (["Malmö, Sweden", "Lund"], '["Malmö, Sweden", "Lund"]', (1, 1), (0, 0.56)),
    (["Malmö", "Lund"], "[Lund, Malmö]", (1, 1), (1, 1)),
    # one answer with brackets
    (["Salem, Mass. [sic]"], "Salem, Mass.", (0, 0.8), (0, 0.8)),
    (["[Salem, Mass.]"], "Salem Mass", (1, 1), (1, 1)),
    (['["Salem", "Mass"]'], "Salem", (0, 0.67), (0, 0.67)),
]


@pytest.mark.parametrize(("answers", "prediction", "scores", "released_scores"), SCORED)
def test_a_prediction_is_scored(tmp_path, answers, prediction, scores, released_scores):
    write(tmp_path, question(**spans(*answers)))
    for released, expected in ((False, scores), (True, released_scores)):
        [[asked], _] = read_dataset("iirc", tmp_path, released=released)
        scored = score(asked, Prediction(prediction), find_dataset("iirc", released))
        assert (scored["em"], scored["f1"]) == expected


def test_only_answerable_questions_are_read_and_all_get_ids(tmp_path):
    unanswered = [question(**answer(kind)) for kind in ("none", "bad")]
    nameless = question(qid=None)
    asked = [nameless, *unanswered, nameless, nameless | {"question": "Who?"}]
    first, again, other = (each.id for each in read(write(tmp_path, *asked)))
    assert first == again != other and re.fullmatch("iirc-[0-9a-f]{16}", first)


def test_gold_is_one_paragraph_for_each_context(tmp_path):
    academy = "academy of music, zagreb"
    moved = [("moved to new buildings", academy), ("2014", academy)]
    contexts = context(("a school of music", "Mozarteum"), *moved, (PASSAGE, "main"))
    [asked] = read(write(tmp_path, question(**contexts)))
    expected = page_paragraph("mozarteum", MOZARTEUM), page_paragraph(academy, MOVED)
    assert asked.gold == tuple(paragraph.id for paragraph in expected)
    # where the page is empty, or the main passage is all
    first = question(**context(("some words", "Nothing")))
    second = question(qid="q_2", **context((PASSAGE, "main")))
    questions = read(write(tmp_path, first, second))
    corpus = read_articles(tmp_path / "context_articles.json")
    [gold] = questions[0].gold
    assert gold == page_paragraph("nothing", "some words").id
    assert gold not in [paragraph.id for paragraph in corpus]
    assert questions[1].gold == (questions[1].passage.id,)


def test_paragraphs_are_the_lines_of_over_ten_words(tmp_path):
    paragraphs = list(read_articles(write(tmp_path)))
    academy = "academy of music, zagreb"
    # a repeated line counts once
    assert sorted(p.text for p in paragraphs[:2]) == [MOVED, FOUNDED]
    assert [p.text for p in paragraphs[2:]] == [MOZARTEUM, ABRAHAM]
    assert [p.title for p in paragraphs] == [academy] * 2 + ["mozarteum", "ábrahám"]
    assert len({p.id for p in paragraphs}) == 4
    ten, eleven = " ".join("abcdefghij"), " ".join("abcdefghijk")
    pages = {"Malmö": f"{ten}\n {eleven} \n\n", "malmö": MOVED, "Lund": eleven}
    path = write(tmp_path, articles=pages)
    # of equal titles the first page counts
    assert [(p.title, p.text) for p in read_articles(path)] == [
        ("malmö", eleven),
        ("lund", eleven),
    ]


HTML = [
    ('a <a href="x" title="b">d</a> e', "a d e"),
    ("R&amp;D &lt;b&gt; &eacute; &#x2013; AT&T &nosuch;", "R&D <b> é – AT&T &nosuch;"),
    ("<p>one</p>\n<ul>\n<li>two < 3\n<li>three</ul>", "two < 3"),
    ("</b></p>a<b>no <i>end<br/>", "ano end"),
]


@pytest.mark.parametrize(("html", "text"), HTML)
def test_html_as_text(tmp_path, html, text):
    more = " and so on, for more than ten words in one line"
    write(tmp_path, articles={"t": html.replace("< 3", f"< 3{more}") + more})
    texts = [page.text for page in read_articles(tmp_path / "dev.json")]
    assert f"{text}{more}" in texts


def test_missing_pages_and_files_of_another_kind_are_named(tmp_path):
    path = write(tmp_path, question(**spans(" ")))
    no_text = "record 1: found no text in a span answer"
    with pytest.raises(DataError, match=f"^{path}, {no_text}"):
        read_iirc(path)
    write(tmp_path, question(**context(("x", "Zadar"), ("x", "Split"))))
    no_page = "found no page 'split' in context_articles.json"
    with pytest.raises(DataError, match=f"^{path}: {no_page}"):
        read_iirc(path)
    pages = tmp_path / "context_articles.json"
    for content in ("[]", "[1]", '{"a": 5}'):
        pages.write_text(content)
        with pytest.raises(DataError, match=f"^{pages}[:,] .*dictionary|valid string"):
            list(read_articles(pages))


@pytest.mark.parametrize("style", ["flan_t5", "codex"])
def test_titles_are_asked_for_as_by_the_authors(shared, tmp_path, monkeypatch, style):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path)
    write(tmp_path / "iirc", question())
    changes = {
        "data_dir": str(tmp_path),
        "dev": 0,
        "test": 1,
        "style": style,
        "model": "data/models/mini-large",
        "context_tokens": None,
        "distractors": [1],
        "demonstrations": str(shared / "ircot_prompts"),
        "most_demonstrations": 15,
    }
    setup = open_setup(read_parameters("mini", changes), "iirc", "04_ircot")
    shown = {"k": 2, "m": 2, "demonstration_set": 1}
    program = Run(setup, all_systems()["IRCoT"], "test", shown).program
    path = shared / f"ircot_prompts/iirc/no_context_open_llm_retrieval_{style}.txt"
    blocks = [block.split("\n", 1) for block in path.read_text().split("\n\n\n")]
    ids = json.loads((PROMPTS / "demonstration_sets.json").read_text())["iirc"][1]
    bodies = [body for id in ids for head, body in blocks if f'"{id}"' in head]
    instruction = "Answer the following question.\n" if style == "flan_t5" else ""
    text = next(program(setup.test[0])).prompt.split("\n\n\n")
    assert len(bodies) == 15 and text[:-1] == bodies[16 - len(text) :] and len(text) > 5
    assert text[-1] == (
        f"Wikipedia Title: Ivana Fišer\n{PASSAGE.strip()}\n\nQ: {instruction}"
        "The question is: 'When was the academy founded?'. Generate titles of 3 "
        "Wikipedia pages that have relevant information to answer this question.\nA:"
    )
