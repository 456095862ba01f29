"""Knowledge in the prompt and in the weights: MuSiQue's parts, and exact prompts."""

import json

import pandas as pd
import pytest
from replying import play

from ircotlib.data import Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.musique import SubQuestion, read_parts
from ircotlib.program import LINE, Generate, Outcome
from ircotlib.results import knowledge
from ircotlib.results.knowledge import compare_forms, count_forms

QUESTION = Question("q", "Where was the director of F born?", ("Varn",), (), "musique", "2hop")
OF_Q = SubQuestion("Who directed F?", "Ada"), SubQuestion("Where was Ada born?", "Varn")


def test_the_answers_before_a_part_are_filled_in(tmp_path):
    parts = {"Who directed F?": "Ada", "Where was #1 born?": "Varn"}
    parts |= {"Who founded #2, not #1?": "Bel"}
    steps = [{"question": asked, "answer": answer} for asked, answer in parts.items()]
    row = {"id": "q", "question": "?", "answer": "Bel", "answer_aliases": [], "answerable": True}
    row["paragraphs"] = [{"title": "F", "paragraph_text": "By Ada.", "is_supporting": True}]
    row["question_decomposition"] = steps
    other = row | {"id": "r", "answerable": False, "question_decomposition": []}
    path = tmp_path / "dev.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps(other)}\n")
    last = SubQuestion("Who founded Varn, not Ada?", "Bel")
    assert read_parts(path) == {"q": (*OF_Q, last)}
    path.write_text(json.dumps(row | {"question_decomposition": [{"question": "Who?"}]}))
    with pytest.raises(ValueError, match="q: a part has no question or no answer"):
        read_parts(path)


def write(question, thoughts):
    return f"Q: {question.text}\nA: {thoughts[0]}"


DIRECTED = "Q: Who directed F?\nA: "
BELOW = [(OF_Q[:1], True, f"{DIRECTED}Ada\n"), (OF_Q[:1], False, f"{DIRECTED}\n"), ((), True, "")]


@pytest.mark.parametrize(("given", "answered", "before"), BELOW)
def test_a_question_below_its_parts(given, answered, before):
    program = knowledge.answer_given_parts(QUESTION, given, answered, write, max_tokens=9)
    requests, result = play(program, ["Varn"])
    assert requests == [Generate(f"{before}Q: {QUESTION.text}\nA: ", LINE, 9)]
    assert result.answer == "Varn"


def test_only_what_is_known_is_asked(monkeypatch):
    """The last part of q is known, and both parts of r; so q is only in S_1."""
    bench = type("Setup", (), {})()
    bench.test = [QUESTION, Question("r", "Who?", ("x",), (), "musique")]
    bench.prompt = lambda stage, system: write
    bench.tokens = lambda system: {"max_tokens": 5}
    bench.dataset, bench.backends, bench.calls, bench.model = (
        find_dataset("musique"),
        (),
        None,
        None,
    )
    parts = {"q": OF_Q, "r": OF_Q}
    right = {"q/part 0": False} | dict.fromkeys(["q/part 1", "r/part 0", "r/part 1"], True)

    def run(programs, backends, calls, progress):
        answers = {id: "Varn" for id in programs}
        made = {id: type("P", (), {"answer": answer}) for id, answer in answers.items()}
        return {id: Outcome(id, made[id], ()) for id in programs}, {}

    monkeypatch.setattr(knowledge, "run", run)
    table = compare_forms(bench, parts, pd.DataFrame({"right": pd.Series(right)}))
    rows = [tuple(row) for row in table[["id", "panel", "i", "right"]].to_numpy()]
    assert rows == [("q", "a", 1, True), *(("r", x, i, False) for x in "ab" for i in (1, 2))]
    assert compare_forms(bench, {"q": (), "r": ()}, pd.DataFrame({"right": []})).empty
    counted = count_forms(table)[["panel", "i", "n"]].to_numpy().tolist()
    of_r = [["a of b", 1, 1], ["a of b", 2, 1], ["b", 1, 1], ["b", 2, 1]]
    assert counted == [["a", 1, 2], ["a", 2, 1], *of_r]
