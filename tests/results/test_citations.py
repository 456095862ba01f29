"""References: fragments to judge, read from a run; the box that shows them; a judge."""

import json
from dataclasses import asdict

import pytest
from written import rewrite

from ircot_laboratory.judge.laboratory_facts import judge_reference as judge_statement
from ircot_laboratory.make import make_laboratory
from ircot_laboratory.world.records import Entity
from ircotlib.annotate import box as annotate_box
from ircotlib.data import Node, Paragraph, Question
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.results import citations
from ircotlib.results.citations import accuracy_of_marks, make_item, read_references
from ircotlib.results.factuality import Item
from ircotlib.systems import all_systems

BORN, CAPITAL = "Edvard Grieg was born in Norway [1].", "Its capital, Oslo [2][3],"
REST = "is old. So the answer is Oslo."
UNKNOWN = "Grieg [7] was born in Norway [1]."  # a mark of a passage that is not there
PASSAGES = {1: "p", 2: "q", 3: "r"}


@pytest.mark.parametrize(
    ("final", "marked", "rest"),
    [
        (f"{BORN} {CAPITAL} {REST}", [BORN, CAPITAL], REST),
        ("It is so [1, 2]. It is Oslo [3].", ["It is so [1, 2].", "It is Oslo [3]."], ""),
        (UNKNOWN, [UNKNOWN], ""),
        ("Grieg was Norwegian [7].", [], "Grieg was Norwegian [7]."),
        (REST, [], REST),
    ],
)
def test_a_final_content_is_cut_after_its_marks(final, marked, rest):
    assert citations.cut_after_marks(final, PASSAGES) == (marked, rest)


@pytest.mark.parametrize(
    ("fragment", "verdict"),
    [
        ("Ada Moss was born in Varn [1].", "true"),
        ("Ada Moss was born in Varn [2].", "false"),  # another page
        ("Ada Moss was born in Lund [1].", "false"),
        ("So it is well [1].", "unsure"),
    ],
)
def test_a_mark_is_in_its_place_if_its_page_states_the_fragment(fragment, verdict):
    class Facts:
        def judge_reference(self, statement, titles):
            born = {"Ada Moss": Entity("Ada Moss", "person", "x", {"birthplace": "Varn"})}
            return judge_statement(statement, titles, born)

    question = Question("q", "Who?", ("a",), (), "hotpotqa")
    pages = Paragraph("1", "[1] Ada Moss", ""), Paragraph("2", "[2] Varn", "")
    item = Item("i", "hotpotqa", "SearChain", question, (fragment,), pages, (), 1)
    assert citations.judge_reference(item, 0, Facts()) == verdict


@pytest.fixture
def parameters(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=600, questions=20)
    changes = {"data_dir": str(folder), "dev": 0, "test": 4, "judged": 3, "distractors": []}
    changes |= {"model": "data/models/mini-causal", "style": "codex", "context_tokens": 400}
    return read_parameters("mini", changes | {"datasets": ["hotpotqa"]})


@pytest.fixture
def marked_run(parameters):
    """A run of SearChain with new final contents, because the model that ran it marks nothing."""
    opened, system = open_setup(parameters, "hotpotqa", "11_searchain"), all_systems()["SearChain"]
    run_system(opened, system)
    path = Run(opened, system, "test", {}).folder / "predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 4 and not any("[1]" in row["reading"] for row in rows)
    for row, question in zip(rows[:-1], opened.test, strict=False):
        ids = enumerate(question.gold, 1)
        nodes = [Node(f"Query {n}?", "x", 1, n, passage=id, mark=n) for n, id in ids]
        row |= {"reading": "It is so [1]. And so [2]. So the answer is x."}
        row |= {"nodes": [asdict(node) for node in nodes]}
    rewrite(path.parent, path.name, "".join(json.dumps(row) + "\n" for row in rows))
    return opened


def test_references_of_a_run_are_read_with_their_passages(parameters, marked_run):
    items = read_references(parameters)
    by_id = {question.id: question for question in marked_run.test}
    assert 2 <= len(items) <= 3  # of three questions drawn, those that were marked
    for item in items:
        assert item.sentences == ("It is so [1].", "And so [2].", "So the answer is x.")
        assert item.facts == 2 and item.question == by_id[item.question.id]
        assert [p.id for p in item.retrieved] == list(item.question.gold)
        assert [p.title[:4] for p in item.retrieved] == ["[1] ", "[2] "]
    assert len({item.id for item in items}) == len(items)
    assert [item.id for item in read_references(parameters)] == [item.id for item in items]


def test_the_box_shows_them(parameters, marked_run, monkeypatch, tmp_path):
    displayed = []
    monkeypatch.setattr(annotate_box, "display", displayed.append)
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    annotate_box.references_box(parameters, "ada", tmp_path)
    [box] = displayed
    assert box.items == read_references(parameters) and box.bar.max == 2 * len(box.items)
    # the number is a word that fragment and passage share
    assert "It is so [1]." in box.page.page and "<b>[<mark>1</mark>] " in box.page.page
    for key in "tfu":
        box.press(key)
    [row] = accuracy_of_marks(box.items, {"ada": box.judged}).to_dict("records")
    named = {"dataset": "hotpotqa", "system": "SearChain", "judged_by": "ada"}
    assert row == named | {"AMP": pytest.approx(1 / 3), "marks": 3, "unsure": 1}
    annotate_box.references_box(parameters.change(seed=1), "ada", tmp_path)
    assert "--only 11_searchain" in displayed[1].data
    monkeypatch.setenv("IRCOT_BATCH", "1")
    annotate_box.references_box(parameters, "ada", tmp_path)
    assert len(displayed) == 2


def test_nobody_has_judged():
    class Corpus:
        def find(self, id):
            return Paragraph(id, id.upper(), "text")

    question = Question("q", "Where?", ("Oslo",), (), "hotpotqa")
    nodes = [Node("Where?", "Oslo", 1, 1, passage="p", mark=1)]
    item = make_item("SearChain", question, "Oslo [1].", nodes, Corpus())
    assert item.sentences == ("Oslo [1].",) and item.facts == 1
    assert make_item("SearChain", question, "Oslo.", nodes, Corpus()) is None
    assert accuracy_of_marks([item], {"ada": {}}).empty
    others = {"ada": {("another", 0): "true"}, "bob": {(item.id, 0): "true"}}
    assert list(accuracy_of_marks([item], others)["judged_by"]) == ["bob"]
