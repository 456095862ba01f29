"""References: fragments to judge, of a run; the form that shows them; a judge."""

import json
from dataclasses import asdict

import pytest

from ircot_laboratory.judge.laboratory_facts import judge_reference as judge_statement
from ircot_laboratory.make import make_laboratory
from ircot_laboratory.world.records import Entity
from ircotlib.annotate import box
from ircotlib.annotate import factuality as references
from ircotlib.annotate.factuality import Item, accuracy_of_marks, read_references
from ircotlib.data import Node, Paragraph, Question
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems

BORN, CAPITAL = "Edvard Grieg was born in Norway [1].", "Its capital, Oslo [2][3],"
REST = "is old. So the answer is Oslo."
UNKNOWN = "Grieg [7] was born in Norway [1]."  # a mark of a passage that is not there


@pytest.mark.parametrize(
    ("final", "marked", "rest"),
    [
        (f"{BORN} {CAPITAL} {REST}", [BORN, CAPITAL], REST),
        ("So [1, 2]. It is Oslo [3].", ["So [1, 2].", "It is Oslo [3]."], ""),
        (UNKNOWN, [UNKNOWN], ""),
        ("Grieg was Norwegian [7].", [], "Grieg was Norwegian [7]."),
        (REST, [], REST),
    ],
)
def test_a_final_content_is_cut_after_its_marks(final, marked, rest):
    assert references.cut_after_marks(final, {1, 2, 3}) == (marked, rest)


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
            ada = Entity("Ada Moss", "person", "x", {"birthplace": "Varn"})
            return judge_statement(statement, titles, {ada.name: ada})

    question = Question("q", "Who?", ("a",), (), "hotpotqa")
    pages = Paragraph("1", "[1] Ada Moss", ""), Paragraph("2", "[2] Varn", "")
    item = Item("i", "hotpotqa", "SearChain", question, (fragment,), pages, (), 1)
    assert references.judge_reference(item, 0, Facts()) == verdict


def test_references_of_a_run_are_read_with_their_passages_and_judged(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=600, questions=20)
    changes = {"dev": 0, "test": 4, "judged": 3, "distractors": [], "workers": 1}
    changes |= {"data_dir": str(folder), "datasets": ["hotpotqa"], "style": "codex"}
    changes |= {"model": "data/models/mini-causal", "context_tokens": 400}
    p = read_parameters("mini", changes)
    opened = open_setup(p, "hotpotqa", "05_searchain")
    system = all_systems()["SearChain"]
    run_system(opened, system)
    assert read_references(p) == []  # this model marks nothing
    path = Run(opened, system, "test", {}).folder / "predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, question in zip(rows[:-1], opened.test, strict=False):
        ids = enumerate(question.gold, 1)
        nodes = [Node(f"Query {n}?", "x", 1, n, passage=id, mark=n) for n, id in ids]
        row |= {"reading": "It is so [1]. And so [2]. So the answer is x."}
        row |= {"nodes": [asdict(node) for node in nodes]}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = read_references(p)
    by_id = {question.id: question for question in opened.test}
    # of three questions drawn
    assert 2 <= len({item.id for item in items}) == len(items) <= 3
    for item in items:
        assert item.sentences == ("It is so [1].", "And so [2].", "So the answer is x.")
        assert item.facts == 2 and item.question == by_id[item.question.id]
        assert [page.id for page in item.retrieved] == list(item.question.gold)
        assert [page.title[:4] for page in item.retrieved] == ["[1] ", "[2] "]
    assert read_references(p, systems=["ReAct"]) == []
    displayed = []
    monkeypatch.setattr(box, "display", displayed.append)
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    box.annotate_box(p, read_references)
    displayed[0].folder = tmp_path
    displayed[0].name.value = "ada"
    for key in "tfu":
        displayed[0].press(key)
    [row] = accuracy_of_marks(items, {"ada": displayed[0].read()}).to_dict("records")
    named = {"dataset": "hotpotqa", "system": "SearChain", "judged_by": "ada"}
    assert row == named | {"AMP": pytest.approx(1 / 3), "marks": 3, "unsure": 1}
    assert accuracy_of_marks(items, {"ada": {}}).empty
