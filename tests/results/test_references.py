"""References: final contents cut into fragments to judge, those of a run read from its folder, and
the box that shows them.
"""

import json
from dataclasses import asdict

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.annotate import box as annotate_box
from ircotlib.data import Node, Paragraph, Question
from ircotlib.parameters import read_parameters
from ircotlib.results.citations import accuracy_of_marks, fragments, make_item, read_references
from ircotlib.running import setup as bench
from ircotlib.running.experiment import run_system
from ircotlib.running.folder import run_folder
from ircotlib.running.setup import open_bench
from ircotlib.systems import all_systems

FINAL = (
    "Edvard Grieg was born in Norway [1]. Its capital, Oslo [2][3], is old. So the answer is Oslo."
)
PASSAGES = {1: "p", 2: "q", 3: "r"}


@pytest.mark.parametrize(
    ("final", "marked", "rest"),
    [
        (
            FINAL,
            ["Edvard Grieg was born in Norway [1].", "Its capital, Oslo [2][3],"],
            "is old. So the answer is Oslo.",
        ),
        ("It is so [1, 2]. It is Oslo [3].", ["It is so [1, 2].", "It is Oslo [3]."], ""),
        # a mark of a passage that is not there does not count
        ("Grieg [7] was born in Norway [1].", ["Grieg [7] was born in Norway [1]."], ""),
        ("Grieg was Norwegian [7].", [], "Grieg was Norwegian [7]."),
        ("So the answer is Oslo.", [], "So the answer is Oslo."),
        ("", [], ""),
    ],
)  # fmt: skip
def test_a_final_content_is_cut_after_its_marks(final, marked, rest):
    assert fragments(final, PASSAGES) == (marked, rest)


@pytest.fixture
def parameters(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=600, questions=20)
    changes = {"data_dir": str(folder), "dev": 0, "test": 4, "judged": 3, "distractors": []}
    changes |= {"model": "data/models/mini-causal", "style": "codex", "context_tokens": 400}
    return read_parameters("mini", changes | {"datasets": ["hotpotqa"]})


@pytest.fixture
def marked_run(parameters):
    """A run of SearChain with new final contents, because the model that ran it marks nothing."""
    opened, system = open_bench(parameters, "hotpotqa", "11_searchain"), all_systems()["SearChain"]
    run_system(opened, system)
    path = run_folder(opened, system, "test", {}) / "predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 4 and not any("[1]" in row["reading"] for row in rows)
    for row, question in zip(rows[:-1], opened.test, strict=False):
        ids = question.gold
        nodes = [Node(f"Query {n}?", "x", 1, n, passage=id, mark=n) for n, id in enumerate(ids, 1)]
        row |= {"reading": "It is so [1]. And so [2]. So the answer is x."}
        row["nodes"] = [asdict(node) for node in nodes]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
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
    shown = []
    monkeypatch.setattr(annotate_box, "display", shown.append)
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    annotate_box.references_box(parameters, "ada", tmp_path)
    [box] = shown
    assert box.items == read_references(parameters) and box.bar.max == 2 * len(box.items)
    # the number is a word that fragment and passage share
    assert "It is so [1]." in box.page.page and "<b>[<mark>1</mark>] " in box.page.page
    for key in "tfu":
        box.press(key)
    found = accuracy_of_marks(box.items, {"ada": box.judged})
    assert found.to_dict("records") == [
        {"dataset": "hotpotqa", "system": "SearChain", "judged_by": "ada"}
        | {"AMP": pytest.approx(1 / 3), "marks": 3, "unsure": 1}
    ]
    missing = parameters.change(seed=1)
    annotate_box.references_box(missing, "ada", tmp_path)
    assert "--only 11_searchain" in shown[1].data
    monkeypatch.setenv("IRCOT_BATCH", "1")
    annotate_box.references_box(parameters, "ada", tmp_path)
    assert len(shown) == 2


def test_nobody_has_judged():
    question = Question("q", "Where?", ("Oslo",), (), "hotpotqa")

    class Corpus:
        def find(self, id):
            return Paragraph(id, id.upper(), "text")

    nodes = [Node("Where?", "Oslo", 1, 1, passage="p", mark=1)]
    item = make_item("SearChain", question, "Oslo [1].", nodes, Corpus())
    assert item.sentences == ("Oslo [1].",) and item.facts == 1
    assert make_item("SearChain", question, "Oslo.", nodes, Corpus()) is None
    assert accuracy_of_marks([item], {"ada": {}}).empty
    others = {"ada": {("another", 0): "true"}, "bob": {(item.id, 0): "true"}}
    assert list(accuracy_of_marks([item], others)["judged_by"]) == ["bob"]
