"""What SearChain's tables report of a run, from runs written by hand."""

import json
import math

import pytest

from ircotlib import program
from ircotlib.data import Node, Paragraph, Prediction
from ircotlib.experiment.runs import row_of, write_about
from ircotlib.program import Generate, Message, Outcome, Retrieve, Sample, Sampled, Step
from ircotlib.results import searchain_measures as measures
from ircotlib.results.runs import count_parsed

ROME = Paragraph("p", "Rome", "Rome is a city.")


def passed(mark, **fields):
    return Node("q?", "a", 1, mark, passage="p", mark=mark, **fields)


CORRECTED = Node("q?", "a", 1, 2, passage="p", found="b", feedback="verification", mark=2)
COMPLETED = Node("q?", "", 1, 3, True, passage="p", found="b", feedback="completion", mark=3)
AGAIN, BELOW = Node("q?", "a", 2, 1), Node("q?", "", 1, 3, unsolved=True)  # not compared
IGNORED = Node("q?", "", 1, 3, True, passage="p", found="b")  # without completion
NODES = {
    "one": (passed(1), passed(2)),
    "two": (passed(1), CORRECTED, BELOW, AGAIN),
    "three": (passed(1), passed(2), COMPLETED, AGAIN, passed(4)),
    "four": (passed(1), IGNORED),
}
READINGS = {
    "one": "It is A [1] and B [2]. So the final answer is B [1][2].",
    "two": "It is A [1, 2], not [7].",
    "three": "It is A.",
    "four": "It is A [sic] [2] [1].",
}
KINDS = {"one": "2hop", "two": "2hop", "three": "3hop1", "four": "comparison"}


@pytest.fixture
def write_run(tmp_path):
    """Write the folder of a run, with scores by id, nodes and thoughts, and read it."""

    def write(name, scores, nodes=NODES, thoughts=()):
        folder, lines = tmp_path / name, []
        folder.mkdir()
        for id in scores:
            prediction = Prediction("A", (ROME,), thoughts, READINGS[id], nodes.get(id, ()))
            lines.append(json.dumps(row_of(id, Outcome(id, prediction, ()))))
        (folder / "predictions.jsonl").write_text("\n".join(lines))
        names = "id,kind,cover_em,recall,paragraphs,steps"
        table = [f"{id},{KINDS[id]},{score},0.5,1,0" for id, score in scores.items()]
        (folder / "scores.csv").write_text("\n".join([names, *table]))
        about = {"dataset": "musique", "metric": "f1", "questions": len(scores)}
        write_about(folder, about)
        return measures.read_run(folder)

    return write


@pytest.fixture
def with_ir(write_run):
    return write_run("with", {"one": 1.0, "two": 1.0, "three": 0.0, "four": 0.0})


@pytest.fixture
def without_ir(write_run):
    return write_run("without", {"four": 1.0, "three": 1.0, "two": 0.0, "one": 1.0}, {})


def test_a_run_is_read_with_its_nodes(with_ir):
    assert list(with_ir.index) == list(NODES) and list(with_ir["nodes"]) == list(NODES.values())
    assert list(with_ir["kind"]) == list(KINDS.values())
    assert list(with_ir["score"]) == [1, 1, 0, 0]
    assert list(with_ir["right"]) == [True, True, False, False]


def test_a_folder_that_is_not_whole_is_refused(tmp_path, with_ir):
    (tmp_path / "with" / "predictions.jsonl").write_text('{"id": "one", "answer": "A"}')
    with pytest.raises(ValueError, match="predictions.jsonl: found 28 bytes that are not"):
        measures.read_run(tmp_path / "with")
    with pytest.raises(ValueError, match="run.json"):
        measures.read_run(tmp_path)


def test_how_many_replies_could_be_read(tmp_path, with_ir):
    folder = tmp_path / "with"
    about = {"dataset": "musique", "system": "S"}
    about |= {"questions": 6, "seconds": 2.6, "counts": {"Sample": {"requests": 3, "tokens": 40}}}
    answers = {"one": ("A", ""), "two": ("A", "no query"), "three": ("", "no query")}
    answers |= {"four": ("", ""), "five": ("", ""), "six": ("A", "")}
    nodes = {"five": [{"unsolved": False}, {"unsolved": True}], "six": [{"unsolved": True}]}
    lines = [
        json.dumps({"id": id, "answer": answer, "fault": fault, "nodes": nodes.get(id, [])})
        for id, (answer, fault) in answers.items()
    ]
    (folder / "predictions.jsonl").write_text("\n".join(lines))
    write_about(folder, about)
    expected = {"dataset": "musique", "system": "S", "questions": 6, "answered": 3, "parsed": 4}
    expected |= {"said to be unparsed": 2, "unsolved": 1, "silent": 1}
    assert count_parsed(folder) == expected | {"calls": 3, "tokens written": 40, "seconds": 3}


def test_the_sources_of_knowledge(with_ir, without_ir):
    """Table 2: of 9 nodes that were compared, one was corrected and one completed."""
    expected = {"knowledge_of_llm": 700 / 9, "knowledge_corrected_by_ir": 100 / 9}
    expected |= {"knowledge_completed_by_ir": 100 / 9}
    assert measures.knowledge_sources(with_ir) == pytest.approx(expected)
    assert all(math.isnan(share) for share in measures.knowledge_sources(without_ir).values())


def test_where_retrieval_helps_and_misleads(with_ir, without_ir):
    """Table 3: retrieval helps on two and three; of one, three and four, it spoils two."""
    effect = measures.positive_effect(without_ir, with_ir)
    assert effect.pop("without_ir") == 75.0
    assert effect == {"without_ir_where_ir_helps": 50.0, "with_ir_where_ir_helps": 50.0}
    assert measures.misled_by_ir(without_ir, with_ir) == pytest.approx(200 / 3)


def test_the_steps_by_hops(with_ir, without_ir, write_run):
    """Table 4: steps are nodes on the path, or thoughts, or sentences other than the answer's; of
    Least-to-Most the last call, too.
    """
    assert list(measures.count_steps(with_ir, "SearChain")) == [2, 2, 4, 1]
    for name in ("CoT", "Least-to-Most"):  # without sub-questions it asks the question alone
        assert list(measures.count_steps(without_ir, name).sort_index()) == [1, 1, 1, 1]
    scores = {"one": 1.0, "two": 1.0}
    thoughts = write_run("thoughts", scores, {}, thoughts=("One?", "Two?", "Three?"))
    assert list(measures.count_steps(thoughts, "CoT")) == [3, 3]
    assert list(measures.count_steps(thoughts, "Least-to-Most")) == [4, 4]
    lines = ("Follow up: One?", "Intermediate answer: A.", "Follow up: Two?", "So B.")
    asked = write_run("asked", scores, {}, thoughts=lines)
    assert list(measures.count_steps(asked, "Self-Ask w/o IR")) == [2, 2]


def test_the_references_marked(with_ir, without_ir):
    """Table 5: 3 marks in the first, 1 in the second, 0 in the third; in the fourth only [1]."""
    assert measures.references_marked(with_ir) == (3 + 1 + 0 + 1) / 4
    assert measures.references_marked(without_ir) == 0


def steps(*pairs):
    return tuple(Step(request, reply, cached=False) for request, reply in pairs)


def test_words_and_rounds():
    """Table 6; prompts of messages and samples are counted too."""
    found, read = (Retrieve("q", 1), (ROME,)), (program.Extract("q", ROME), None)
    messages = Message("user", "one two"), Message("assistant", "three\nfour")
    chain = (Generate("one two three"), "a b"), found, read, found, (Generate(messages), "c"), found
    chain = steps(*chain, (Generate("five"), ""))
    drawn = steps((Sample("one  two", 2), (Sampled("a b", None), Sampled("c", -1.0))))
    outcomes = {"x": Outcome("x", None, chain), "y": Outcome("y", None, drawn)}
    expected = {"words_in": (8 + 2) / 2, "words_out": (3 + 3) / 2, "rounds": 1.0}
    expected |= {"words_in_of_a_call": 10 / 4, "words_out_of_a_call": 6 / 4}
    assert measures.efficiency(outcomes) == expected
    only = measures.efficiency({"z": Outcome("z", None, steps(found))})
    assert (only["words_in"], only["rounds"]) == (0, 1)
    assert math.isnan(only["words_in_of_a_call"])
