"""The most telling questions: the rules on rows written by hand, and IRCoT's Tables 2 and 5."""

import pandas as pd
import pytest
from written import write_run

from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.results import cases
from ircotlib.results.cases import COLUMNS, COMPARED, read_compared, show_cases

RIGHT, LATE, EARLY = (1, 1), (0.5, 0), (0, 0)  # recall and score


def answered(id, nor=EARLY, oner=LATE, ircot=RIGHT, chain="One. Two."):
    """The rows of a question: recall and score of each of three systems."""
    rows = []
    for name, (recall, score) in zip(COMPARED, (nor, oner, ircot), strict=True):
        row = {"id": id, "system": name, "metric": "f1", "recall": recall, "f1": score}
        row |= {"right": score == 1, "gold_found": ("p",) if recall else ()}
        rows.append(row | {"reading": chain, "thoughts": (), "reader": "cot"})
    return rows


def ranked(*questions):
    return cases.rank_late_errors(pd.DataFrame([row for rows in questions for row in rows]))


def test_only_what_ircot_qa_alone_answers_with_all_that_is_needed_is_shown():
    wrong = [answered("a", ircot=(1, 0)), answered("b", ircot=(0.5, 1))]
    wrong += [answered("c", oner=(0.5, 1)), answered("d", nor=(0, 1))]
    assert ranked(*wrong) == [] and ranked(*wrong, answered("e")) == ["e"]
    assert ranked() == [] and ranked(answered("e")[:2]) == []


def test_the_most_telling_case_comes_first():
    questions = [
        answered("f", oner=(0.25, 0)),  # OneR QA errs late
        answered("h", oner=(0.3, 0)),  # more recall gained
        answered("e", chain="One."),  # more of the score gained
        answered("d", oner=(0.5, 0.2), chain="One. Two. Three."),  # the longer chain
        answered("b", oner=(0.5, 0.2)),  # the smaller id
        answered("c", oner=(0.5, 0.2)),
        answered("a", oner=(0, 0)),  # OneR QA errs at once
    ]
    assert ranked(*reversed(questions)) == list("fhedbca")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A bench with six questions of a small laboratory; all files are written to a folder."""
    folder = tmp_path_factory.mktemp("cases")
    data_dir = make_laboratory(folder / "small", seed=5, size=600, questions=40)
    changes = {"data_dir": str(data_dir), "dev": 0, "test": 6, "datasets": ["musique", "iirc"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "DATA", folder)
        patch.setattr(backends, "DATA", folder)
        yield open_setup(read_parameters("mini", changes), "musique", "04_ircot", with_model=False)


@pytest.fixture(scope="module")
def runs(opened):
    """The test runs of the three systems. IRCoT QA is right on the first four questions; with the
    second demonstration set, no system is right.
    """
    for number in (0, 1):
        for system, count in {"NoR QA": 0, "OneR QA": 1, "OneR": 1, "IRCoT QA": 9}.items():
            right = 4 if system == "IRCoT QA" and number == 0 else 0
            lines = [line_of(q, count, n < right) for n, q in enumerate(opened.test)]
            recall = [len(line["paragraphs"]) / len(q.gold) for line, q in zip(lines, opened.test)]
            scores = [(recall, int(n < right)) for n, recall in enumerate(recall)]
            folder = opened.runs / "test" / f"{system} {number}"
            write_run(folder, opened, lines, scores, system, {"demonstration_set": number})
    return opened.parameters.change(datasets=["musique"])


def line_of(question, count, right):
    """Fields of predictions.jsonl: the gold paragraphs are found one after the other."""
    gold = list(question.gold[:count])
    queries = [question.text, *(f"A | {n}." for n in range(1, len(gold)))]
    trace = [{"retrieve": q, "k": 1, "found": [id]} for q, id in zip(queries, gold)]
    answer = question.answers[0] if right else "<b>*x*</b>"
    reading = f"It is so. So the answer is: {answer}."
    trace.append({"generate": "…", "stop": "line"})
    return {"answer": answer, "paragraphs": gold, "reading": reading, "trace": trace}


def test_a_table_shows_three_systems_on_the_first_and_the_second_question(opened, runs):
    compared = read_compared(runs)
    assert set(compared["system"]) == set(COMPARED) and len(compared) == 18  # one set
    assert read_compared(runs.change(datasets=["musique", "iirc"])).equals(compared)  # not IIRC
    order = cases.rank_late_errors(compared)
    assert len(order) == 4 and set(order) == {q.id for q in opened.test[:4]}
    for source, rank in (("Table 2", 0), ("Table 5", 1)):
        table = show_cases(compared, runs, source)
        assert list(table) == COLUMNS and list(table["system"]) == list(COMPARED)
        (question,) = [q for q in opened.test if q.id == order[rank]]
        assert set(table["id"]) == {question.id} and set(table["question"]) == {question.text}
        nor, oner, ircot = table.to_dict("records")
        titles = [opened.retriever.corpus.find(id).title for id in question.gold]
        assert ircot["gold paragraphs"] == " · ".join(titles)
        assert (nor["retrieved"], oner["retrieved"]) == ("", f"the question → {titles[0]} ★")
        assert ircot["retrieved"].splitlines()[1] == f"“A | 1.” → {titles[1]} ★"
        assert (ircot["answer"], ircot["recall"], ircot["score"]) == (question.answers[0], 100, 100)
        assert (oner["recall"], oner["score"]) == (round(100 / len(titles), 1), 0)
        assert oner["chain"] == "It is so. So the answer is: <b>*x*</b>."
        assert table["paper's answer"].notna().all()


def test_what_models_say_is_text_in_markdown_and_the_csv_gives_the_same(runs, tmp_path):
    table = show_cases(read_compared(runs), runs, "Table 2")
    text = cases.cases_as_markdown(table)
    assert text.startswith("### MuSiQue: ") and f"`{table['id'][0]}` · gold answer: **" in text
    assert "<b>" not in text and "&lt;b&gt;&#42;x&#42;&lt;/b&gt;" in text
    assert "“A \\| 1.” → " in text and "It is so.<br>So the answer is: " in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 5 and {row.replace("\\|", "").count("|") for row in rows} == {8}
    assert "| NoR QA | – | " in text
    table.to_csv(tmp_path / "kept.csv", index=False)
    assert cases.cases_as_markdown(pd.read_csv(tmp_path / "kept.csv", dtype=str)) == text


def test_without_a_case_the_table_is_empty(runs):
    compared = read_compared(runs)
    for fewer in (compared[compared["system"] != "NoR QA"], pd.DataFrame()):
        table = show_cases(fewer, runs, "Table 5")
        assert table.empty and list(table) == COLUMNS
        assert cases.cases_as_markdown(table) == "No question shows it."
