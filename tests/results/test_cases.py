"""IRCoT's Tables 2 and 5: the rule on rows, and the tables of runs, written by hand."""

import json

import pandas as pd
import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.parameters import read_parameters
from ircotlib.results.cases import (
    COLUMNS,
    COMPARED,
    cases_as_markdown,
    rank_cases,
    read_said,
    show_cases,
)
from ircotlib.running import setup as bench
from ircotlib.running.setup import open_bench, runs_folder

RIGHT, LATE, EARLY = (1, 1), (0.5, 0), (0, 0)  # recall and score


def said(id, nor=EARLY, oner=LATE, ircot=RIGHT, chain="One. Two.", metric="f1"):
    """The rows of a question: recall and score of each of three systems."""
    rows = []
    for name, (recall, score) in zip(COMPARED, (nor, oner, ircot), strict=True):
        row = {"id": id, "system": name, "metric": metric, "recall": recall, metric: score}
        row |= {"right": score == 1, "gold_found": ("p",) if recall else ()}
        rows.append(row | {"reading": chain, "thoughts": (), "reader": "cot"})
    return rows


def ranked(*questions):
    return rank_cases(pd.DataFrame([row for rows in questions for row in rows]))


def test_only_what_ircot_qa_alone_answers_with_all_that_is_needed_is_shown():
    wrong = [
        said("a", ircot=(1, 0)),
        said("b", ircot=(0.5, 1)),
        said("c", oner=(0.5, 1)),
        said("d", nor=(0, 1)),
    ]
    assert ranked(*wrong) == [] and ranked(*wrong, said("e")) == ["e"]
    assert rank_cases(pd.DataFrame()) == [] and rank_cases(pd.DataFrame(said("e")[:2])) == []


def test_the_most_telling_case_comes_first():
    questions = {
        "one who errs late": said("f", oner=(0.25, 0)),
        "more recall gained": said("h", oner=(0.3, 0)),
        "more of the score gained": said("e", chain="One."),
        "the longer chain": said("d", oner=(0.5, 0.2), chain="One. Two. Three."),
        "the smaller id": said("b", oner=(0.5, 0.2)),
        "the larger id": said("c", oner=(0.5, 0.2)),
        "one who errs at once": said("a", oner=(0, 0)),
    }
    order = [rows[0]["id"] for rows in questions.values()]
    assert ranked(*reversed(questions.values())) == order == list("fhedbca")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A bench with six questions of a small laboratory; all files are written to a folder."""
    place = tmp_path_factory.mktemp("cases")
    folder = make_laboratory(place / "small", seed=5, size=600, questions=40)
    changes = {"data_dir": str(folder), "dev": 0, "test": 6, "datasets": ["musique", "iirc"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "DATA", place)
        yield open_bench(read_parameters("mini", changes), "musique", "04_ircot", with_model=False)


@pytest.fixture(scope="module")
def runs(opened):
    """The test runs of the three systems. IRCoT QA is right on the first four questions; with the
    second demonstration set, no system is right.
    """
    p, write = opened.parameters, {"NoR QA": 0, "OneR QA": 1, "IRCoT QA": 9}
    for number in (0, 1):
        for system, found in write.items():
            right = 4 if system == "IRCoT QA" and number == 0 else 0
            lines = [line_of(q, found, n < right) for n, q in enumerate(opened.test)]
            write_run(opened, system, number, lines)
    write_run(opened, "OneR", 0, [line_of(q, 1, False) for q in opened.test])
    assert (runs_folder(p, "04_ircot") / "musique/test").is_dir()
    return p.change(datasets=["musique"])


def line_of(question, found, right):
    """A line of predictions.jsonl: the gold paragraphs are found one after the other."""
    gold = list(question.gold[:found])
    queries = [question.text, *(f"A | {n}." for n in range(1, len(gold)))]
    trace = [{"retrieve": q, "k": 1, "found": [id]} for q, id in zip(queries, gold)]
    trace.append({"generate": "…", "stop": "line"})
    answer = question.answers[0] if right else "<b>*x*</b>"
    row = {"id": question.id, "answer": answer, "paragraphs": gold, "thoughts": []}
    return row | {"reading": f"It is so. So the answer is: {answer}.", "trace": trace}


def write_run(opened, system, number, lines):
    folder = opened.runs / "test" / f"{system} {number}"
    folder.mkdir(parents=True)
    about = {"experiment": "04_ircot", "dataset": "musique", "part": "test", "system": system}
    about |= {"setting": {"demonstration_set": number}, "metric": "f1", "shown": None}
    about |= {"grid_of": "", "parameters": opened.parameters.model_dump(mode="json")}
    (folder / "run.json").write_text(json.dumps(about | {"questions": len(lines)}))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "predictions.jsonl").write_text(text)
    rows = ["id,kind,recall,f1"]
    for line, q in zip(lines, opened.test, strict=True):
        recall = len(line["paragraphs"]) / len(q.gold)
        rows.append(f"{q.id},{q.kind},{recall},{line['answer'] == q.answers[0]:d}")
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")


def test_a_table_shows_three_systems_on_the_first_and_the_second_question(opened, runs):
    said = read_said(runs)
    assert set(said["system"]) == set(COMPARED) and len(said) == 18  # one demonstration set
    order = rank_cases(said)
    assert len(order) == 4 and set(order) == {q.id for q in opened.test[:4]}
    for source, place in (("Table 2", 0), ("Table 5", 1)):
        table = show_cases(said, runs, source)
        assert list(table) == COLUMNS and list(table["system"]) == list(COMPARED)
        (question,) = [q for q in opened.test if q.id == order[place]]
        assert set(table["id"]) == {question.id} and set(table["question"]) == {question.text}
        nor, oner, ircot = table.to_dict("records")
        titles = [opened.retriever.corpus.find(id).title for id in question.gold]
        assert ircot["gold paragraphs"] == " · ".join(titles)
        assert (nor["retrieved"], oner["retrieved"]) == ("", f"the question → {titles[0]} ★")
        assert ircot["retrieved"].splitlines()[1] == f"“A | 1.” → {titles[1]} ★"
        assert (ircot["answer"], ircot["recall"], ircot["score"]) == (question.answers[0], 100, 100)
        assert (oner["recall"], oner["score"]) == (round(100 / len(titles), 1), 0)
        assert oner["chain"] == "It is so. So the answer is: <b>*x*</b>."
    assert list(show_cases(said, runs, "Table 2")["paper's answer"]) == [
        "the Tower of London",
        "Peqin Castle",
        "Casa Loma",
    ]


def test_what_models_say_is_text_in_markdown_and_the_csv_gives_the_same(runs, tmp_path):
    table = show_cases(read_said(runs), runs, "Table 2")
    text = cases_as_markdown(table)
    assert text.startswith("### MuSiQue: ") and f"`{table['id'][0]}` · gold answer: **" in text
    assert "<b>" not in text and "&lt;b&gt;&#42;x&#42;&lt;/b&gt;" in text
    assert "“A \\| 1.” → " in text and "It is so.<br>So the answer is: " in text
    assert "the paper's question is about: A Collection" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 5 and {row.replace("\\|", "").count("|") for row in rows} == {8}
    assert "| NoR QA | – | " in text
    table.to_csv(tmp_path / "kept.csv", index=False)
    assert cases_as_markdown(pd.read_csv(tmp_path / "kept.csv", dtype=str)) == text


def test_without_a_case_the_table_is_empty(runs):
    said = read_said(runs)
    for fewer in (said[said["system"] != "NoR QA"], said.iloc[:0], pd.DataFrame()):
        table = show_cases(fewer, runs, "Table 5")
        assert table.empty and list(table) == COLUMNS
        assert cases_as_markdown(table) == "No question shows it."
    assert read_said(runs.change(datasets=["musique", "iirc"])).equals(said)  # IIRC is not shown
