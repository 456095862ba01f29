"""IIRC: its official files by small ones in the same format, and runs on a bench with them, main
passages and pages included.
"""

import json
import re
import tracemalloc
from dataclasses import replace
from itertools import islice

import pytest

from ircotlib import experiment
from ircotlib.calls import Calls
from ircotlib.data import Question, read_jsonl, write_jsonl
from ircotlib.datasets.iirc import page_lines, page_paragraph, read_articles, read_iirc
from ircotlib.datasets.load import load
from ircotlib.experiment import Bench, program_of, run_system
from ircotlib.metrics import answer_f1, exact_match
from ircotlib.paths import MODELS, PROMPTS
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.systems.iirc import read_titles

PASSAGE = "Fišer studied in Zagreb, at the academy and at the Mozarteum. "
FOUNDED = "The academy was founded in 1829 as the school of the Musikverein, in the old town."
MOVED = "In 2014 the academy moved to a new building that was made for it, not far away."
MOZARTEUM = (
    "The Mozarteum University is a school of music and the arts in Salzburg, founded in 1841."
)
ARTICLES = {
    "academy of music, zagreb": f'<a href="Zagreb">Zagreb</a> has it.\n\n{FOUNDED}\n<ul>\n<li>Staff &amp; us</li></ul>\n{MOVED}\n{FOUNDED}',
    "mozarteum": MOZARTEUM.replace("Salzburg", '<a href="Salzburg">Salzburg</a>').replace(
        "school", "<b>school</b>"
    ),
    "ábrahám": "Ábrahám is a name that people have, here and there &#8211; and in many countries of the world.",
    "nothing": "",
}


def question(**fields):
    spans = [{"text": "1829", "passage": "academy of music, zagreb", "start": 30, "end": 34}]
    context = [{"text": "Fišer studied in Zagreb", "passage": "main", "indices": [0, 23]},
               {"text": "founded in  1829\nas the school", "passage": "Academy of Music, Zagreb", "indices": [16, 45]}]  # fmt: skip
    record = {
        "qid": "q_1",
        "question": "When was the academy founded?",
        "question_links": ["Academy of Music, Zagreb"],
    }
    return record | {"answer": {"type": "span", "answer_spans": spans}, "context": context} | fields


def answer(kind, **fields):
    return {"answer": {"type": kind, **fields}}


def spans(*texts):
    return answer(
        "span",
        answer_spans=[{"text": text, "passage": "main", "start": 0, "end": 1} for text in texts],
    )


def write(folder, *questions, articles=ARTICLES):
    folder.mkdir(exist_ok=True)
    links = [{"target": "Mozarteum", "indices": [51, 60]}]
    passage = {
        "pid": "p_0",
        "title": "Ivana Fišer",
        "text": PASSAGE,
        "links": links,
        "questions": list(questions),
    }
    (folder / "dev.json").write_text(json.dumps([passage]))
    (folder / "context_articles.json").write_text(json.dumps(articles))
    return folder / "dev.json", folder / "context_articles.json"


def test_a_question_has_its_main_passage_and_its_gold_paragraph(tmp_path):
    questions, corpus = read_iirc(*write(tmp_path, question()))
    passage = page_paragraph("Ivana Fišer", PASSAGE.strip())
    gold = page_paragraph("academy of music, zagreb", FOUNDED)
    assert questions == [
        Question(
            "q_1", "When was the academy founded?", ("1829",), (gold.id,), "iirc", "span", passage
        )
    ]
    assert [(p.title, p.text) for p in corpus if p.id == gold.id] == [
        ("academy of music, zagreb", FOUNDED)
    ]


def test_questions_with_passages_survive_writing_and_reading(tmp_path):
    questions, _ = read_iirc(*write(tmp_path, question()))
    written = [*questions, Question("q", "Who?", ("he", "him"), ("p",), "mini")]
    write_jsonl(tmp_path / "questions.jsonl", written)
    assert list(read_jsonl(tmp_path / "questions.jsonl", Question)) == written
    (tmp_path / "questions.jsonl").write_text(
        (tmp_path / "questions.jsonl").read_text().replace('"text": "Fi', '"words": "Fi')
    )
    with pytest.raises(
        ValueError, match="questions.jsonl, line 1: expected one Question as a JSON object"
    ):
        list(read_jsonl(tmp_path / "questions.jsonl", Question))


@pytest.mark.parametrize(
    ("given", "answers"),
    [
        (spans(" Croatia "), ("Croatia",)),
        (spans("Cooksville, Illinois", "Malmö"), ('["Cooksville, Illinois", "Malmö"]',)),
        (answer("value", answer_value="53 ", answer_unit="years"), ("53", "53 years")),
        (answer("value", answer_value="53", answer_unit=""), ("53",)),
        (answer("value", answer_value="53"), ("53",)),
        (answer("binary", answer_value="yes"), ("yes",)),
    ],
)
def test_an_answer_of_each_type(tmp_path, given, answers):
    [found], _ = read_iirc(*write(tmp_path, question(**given)))
    assert (found.answers, found.kind) == (answers, given["answer"]["type"])
    assert all(
        exact_match(text, found.answers, "iirc") == answer_f1(text, found.answers, "iirc") == 1
        for text in answers
    )


def test_only_answerable_questions_are_read(tmp_path):
    paths = write(
        tmp_path, question(**answer("none")), question(qid="q_2"), question(**answer("bad"))
    )
    assert [found.id for found in read_iirc(*paths)[0]] == ["q_2"]


def test_a_question_without_id_gets_one_from_passage_and_text(tmp_path):
    first, again, other = read_iirc(
        *write(
            tmp_path, question(qid=None), question(qid=None), question(qid=None, question="Who?")
        )
    )[0]
    assert first.id == again.id != other.id
    assert re.fullmatch("iirc-[0-9a-f]{16}", first.id)


def context(*pairs):
    return {
        "context": [
            {"text": text, "passage": passage, "indices": [0, 1]} for text, passage in pairs
        ]
    }


def test_gold_is_one_paragraph_for_each_context(tmp_path):
    academy = "academy of music, zagreb"
    contexts = context(
        ("a school of music", "Mozarteum"),
        ("moved to new buildings", academy),
        ("2014", academy),
        (PASSAGE, "main"),
    )
    [found], _ = read_iirc(*write(tmp_path, question(**contexts)))
    assert found.gold == (
        page_paragraph("mozarteum", MOZARTEUM).id,
        page_paragraph(academy, MOVED).id,
    )


def test_gold_where_the_page_is_empty_or_the_main_passage_is_all(tmp_path):
    first, second = (
        question(**context(("some words", "Nothing"))),
        question(qid="q_2", **context((PASSAGE, "main"))),
    )
    questions, corpus = read_iirc(*write(tmp_path, first, second))
    corpus = {paragraph.id for paragraph in corpus}
    assert questions[0].gold == (page_paragraph("nothing", "some words").id,) and not corpus & set(
        questions[0].gold
    )
    assert questions[1].gold == (questions[1].passage.id,)


# The pages


def test_paragraphs_are_the_lines_of_over_ten_words(tmp_path):
    found = list(read_articles(write(tmp_path)[1]))
    assert {(p.title, p.text) for p in found} == {
        ("academy of music, zagreb", FOUNDED),
        ("academy of music, zagreb", MOVED),
        ("mozarteum", MOZARTEUM),
        (
            "ábrahám",
            "Ábrahám is a name that people have, here and there – and in many countries of the world.",
        ),
    }
    assert len({p.id for p in found}) == len(found) == 4  # a line that a page repeats counts once
    assert [p.title for p in found] == ["academy of music, zagreb"] * 2 + ["mozarteum", "ábrahám"]
    ten, eleven = " ".join("abcdefghij"), " ".join("abcdefghijk")
    assert [
        p.text for p in read_articles(write(tmp_path, articles={"T": f"{ten}\n {eleven} \n\n"})[1])
    ] == [eleven]


def test_the_place_of_a_paragraph_on_its_page_does_not_show(tmp_path):
    lines = [
        f"line {number} of a page has words enough to be a paragraph of its own"
        for number in range(40)
    ]
    there, back = (
        list(read_articles(write(tmp_path, articles={"page": "\n".join(order)})[1]))
        for order in (lines, lines[::-1])
    )
    assert there == back
    assert sorted(p.text for p in there) == sorted(lines) and [p.text for p in there] != lines


def test_a_title_that_comes_twice_counts_once(tmp_path):
    path = tmp_path / "context_articles.json"
    line = "{} is a line of a page with more than ten words in it"
    pages = [
        ("Malmö", line.format("one")),
        ("malmö", line.format("two")),
        ("Lund", line.format("one")),
        ("Lund", ""),
    ]
    path.write_text(
        "{" + ", ".join(f"{json.dumps(title)}: {json.dumps(text)}" for title, text in pages) + "}"
    )
    assert [(p.title, p.text) for p in read_articles(path)] == [
        ("malmö", pages[0][1]),
        ("lund", pages[2][1]),
    ]


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ('a <a href="x" title="b > c">d</a> e', ["a d e"]),
        (
            "R&amp;D &lt;b&gt; &eacute; &#233; &#x2013; AT&T &nosuch;",
            ["R&D <b> é é – AT&T &nosuch;"],
        ),
        ("<p>one</p>\n<ul>\n<li>two\n<li>three</ul>", ["one", "", "two", "three"]),
        ("<b>no <i>end", ["no end"]),
        ("a < b, c > d, 1 <2", ["a < b, c > d, 1 <2"]),
        ("a<!-- b\n c -->d<br/>e", ["ade"]),
        ("<style>p {}</style>a<script>if (1 < 2) b()</script>c", ["ac"]),
        ("a <![if x]> b <![endif]> <![CDATA[c]]>", ["a <![if x]> b <![endif]> <![CDATA[c]]>"]),
        ("</b></p>a", ["a"]),
        ("", [""]),
    ],
)
def test_html_as_text(html, lines):
    assert page_lines(html) == lines


def test_a_large_file_is_read_bit_by_bit(tmp_path):
    path = tmp_path / "context_articles.json"
    line = " ".join(f"word{number}" for number in range(100))
    text = json.dumps("\n".join(f"{line} {number}" for number in range(25)))
    with path.open("w") as file:
        for page in range(300):
            file.write(f'{"{" if page == 0 else ","}"page {page}": {text}')
        file.write("}")
    tracemalloc.start()
    count = sum(1 for _ in read_articles(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 300 * 25 and path.stat().st_size > 20 * peak
    path.write_bytes(path.read_bytes()[:-100])
    paragraphs = read_articles(path)
    assert len(list(islice(paragraphs, 299 * 25))) == 299 * 25
    with pytest.raises(
        ValueError,
        match=r"context_articles.json: this JSON cannot be read to its end \(.*\): the file is cut off",
    ):
        next(paragraphs)


BROKEN = [
    (
        {"answer": None},
        "question 1, field 'answer': expected a JSON object with a field 'type', found None",
    ),
    (
        answer("spam"),
        "question 1, field 'answer', field 'type': expected one of span, value, binary, none, found 'spam'",
    ),
    (
        answer("span"),
        "question 1, field 'answer', field 'answer_spans': expected a list, found only type",
    ),
    (spans(" "), "field 'answer_spans': expected at least one span with a text, found [' ']"),
    (
        answer("span", answer_spans=["x"]),
        "field 'answer_spans': expected a JSON object with a field 'text', found 'x'",
    ),
    (
        answer("value", answer_value=53),
        "field 'answer', field 'answer_value': expected a text, found 53",
    ),
    ({"question": 7}, "record 1, question 1, field 'question': expected a text, found 7"),
    ({"qid": 7}, "record 1, question 1, field 'qid': expected a text, found 7"),
    ({"context": {}}, "record 1, question 1, field 'context': expected a list, found {}"),
    (
        {"context": [{"text": "x"}]},
        "question 1, field 'context', field 'passage': expected a text, found only text",
    ),
    (
        {"context": [{"passage": "mozarteum"}]},
        "question 1, field 'context', field 'text': expected a text, found only passage",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BROKEN)
def test_a_record_out_of_format_is_named_with_its_field(tmp_path, fields, message):
    paths = write(tmp_path, question(**fields))
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_iirc(*paths)
    assert str(error.value).startswith(f"{paths[0]}, record 1")


def test_files_of_another_kind_are_named(tmp_path):
    paths = write(tmp_path, question(**context(("x", "Zadar"), ("x", "Split"))))
    with pytest.raises(
        ValueError,
        match=r"context_articles.json: expected a page 'split' \(2 are missing\), which .*dev.json refers to",
    ):
        read_iirc(*paths)
    paths[0].write_text('[{"title": "T", "text": "x"}]')
    with pytest.raises(
        ValueError,
        match="dev.json, record 1, field 'questions': expected a list, found only title, text",
    ):
        read_iirc(*paths)
    for content in ("[]", "{}", '["a"]', '"text"'):
        paths[1].write_text(content)
        with pytest.raises(
            ValueError, match="context_articles.json: expected one JSON object {title: HTML}"
        ):
            list(read_articles(paths[1]))
    for content in ("", '{"a": "b"', "\x00"):
        paths[1].write_text(content)
        with pytest.raises(
            ValueError, match="context_articles.json: this JSON cannot be read to its end"
        ):
            list(read_articles(paths[1]))
    paths[1].write_text('{"a": ["b"]}')
    with pytest.raises(
        ValueError, match=r"context_articles.json, page 'a': expected a text of HTML, found \['b'\]"
    ):
        list(read_articles(paths[1]))


# On a bench


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """The small files loaded, indexed, and the miniature model to answer."""
    pytest.importorskip("torch")
    from ircotlib.generation.local import load as load_model

    monkeypatch.setattr(experiment, "DATA", tmp_path)
    write(
        tmp_path / "iirc",
        question(),
        question(
            qid="q_2", question="Where is the Mozarteum?", **context(("Salzburg", "mozarteum"))
        ),
    )
    questions, paragraphs = load("iirc", tmp_path)
    retriever = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    with Calls(tmp_path / "calls.sqlite") as calls:
        yield Bench(
            "try",
            "iirc",
            questions[:1],
            questions,
            retriever,
            calls,
            load_model(MODELS / "mini-large"),
            "flan_t5",
            "direct",
        )


def test_loading_names_what_is_missing(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match="no questions of iirc: looked for dev.json in .*; get dev.json from https://allenai",
    ):
        load("iirc", tmp_path)
    _, articles = write(tmp_path / "iirc", question(), question())
    with pytest.raises(ValueError, match="found 2 questions with the id 'q_1'"):
        load("iirc", tmp_path)
    articles.unlink()
    with pytest.raises(
        FileNotFoundError,
        match="no pages of iirc: looked for .*context_articles.json; get .* from https",
    ):
        load("iirc", tmp_path)


@pytest.mark.parametrize(
    ("system", "setting"),
    [("OneR", {"k": 3}), ("OneR QA", {"k": 3}), ("IRCoT", {"k": 2}), ("IRCoT QA", {"k": 2})],
)
def test_runs_ask_for_titles_and_retrieve_within_their_pages(bench, tmp_path, system, setting):
    scores = run_system(bench, system, **setting)
    assert scores["recall"].between(0, 1).all() and (scores["paragraphs"] <= 15).all()
    (folder,) = (tmp_path / "runs/try/ircot/iirc/test").iterdir()
    assert folder.name.startswith(system.replace(" ", "-") + " mini-large")
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    for line, asked in zip(lines, bench.test, strict=True):
        wrote, *steps = line["trace"]
        mapped = [step for step in steps if "nearest title" in step]
        assert [step["nearest title"] for step in mapped] == read_titles(wrote["generate"])
        pages = list(dict.fromkeys(title for step in mapped for title in step["found"])) or None
        assert all(step.get("titles") == pages for step in steps if "retrieve" in step)
        assert any("retrieve" in step for step in steps)
        assert line["paragraphs"][0] == asked.passage.id
    counts = json.loads((folder / "run.json").read_text())["counts"]
    assert counts["NearestTitle"]["requests"] == sum(
        "nearest title" in step for line in lines for step in line["trace"]
    )
    assert run_system(bench, system, **setting).equals(scores)
    counts = json.loads((folder / "run.json").read_text())["counts"]
    assert [counts[kind]["computed"] for kind in ("Retrieve", "NearestTitle", "Generate")] == [
        0,
        0,
        0,
    ]


def test_nor_qa_reads_the_main_passage_and_asks_for_no_titles(bench):
    [asked] = bench.dev
    request = next(program_of(bench, "NoR QA")(asked))
    assert (
        request.prompt
        == f"Wikipedia Title: Ivana Fišer\n{PASSAGE.strip()}\n\nQ: Answer the following question.\n{asked.text}\nA:"
    )


@pytest.mark.parametrize(("system", "m"), [("OneR", None), ("IRCoT", 2)])
@pytest.mark.parametrize("style", ["flan_t5", "codex"])
def test_titles_are_asked_for_with_the_authors_demonstrations(shared, bench, system, m, style):
    folder = shared / "ircot_prompts"
    program = program_of(
        replace(bench, style=style, demonstrations=folder), system, k=2, m=m, demonstration_set=1
    )(bench.dev[0])
    blocks = [
        block.split("\n", 1)
        for block in (folder / f"iirc/no_context_open_llm_retrieval_{style}.txt")
        .read_text()
        .split("\n\n\n")
    ]
    ids = json.loads((PROMPTS / "demonstration_sets.json").read_text())["iirc"][1]
    shown = [body for id in ids for head, body in blocks if f'"{id}"' in head]
    instruction = "Answer the following question.\n" if style == "flan_t5" else ""
    text = next(program).prompt.split("\n\n\n")
    assert len(shown) == 15 and text[:-1] == shown[16 - len(text) :] and len(text) > 5
    assert text[-1] == (
        f"Wikipedia Title: Ivana Fišer\n{PASSAGE.strip()}\n\nQ: {instruction}The question is: 'When was the academy founded?'. "
        "Generate titles of 3 Wikipedia pages that have relevant information to answer this question.\nA:"
    )


def test_a_question_with_a_passage_needs_a_model(bench):
    without = replace(bench, model=None)
    with pytest.raises(ValueError, match="found no model on the bench of iirc"):
        program_of(without, "OneR", k=3)(bench.dev[0])
    plain = replace(bench.dev[0], passage=None)
    assert next(program_of(without, "OneR", k=3)(plain)).k == 3
