"""Full disks. Also: all that is shown is plain text."""

import errno
import html
import json

import pandas as pd
import pytest

from ircotlib.annotate.judgements import judge_sentence, read_judgements
from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.explore import ask
from ircotlib.explore.markup import answers_as_html, question_as_html
from ircotlib.files.paths import write_folder, write_whole
from ircotlib.program import Generate, Outcome, Retrieve, Step
from ircotlib.results import cases
from ircotlib.results.figures.panels import subplots
from ircotlib.retrieval.elastic_load import index_name

EVIL = "<img src=x onerror=alert(1)> $\\href{javascript:a(1)}{x}$ **b** [a](javascript:b)\n\n# h"


def test_a_folder_that_cannot_be_finished_leaves_nothing_and_the_old_one_stays(tmp_path):
    folder = tmp_path / "corpus"
    with write_folder(folder, "about.json", "corpus") as partial:
        (partial / "about.json").write_text("old")
    with pytest.raises(OSError), write_folder(folder, "about.json", "corpus") as partial:
        (partial / "about.json").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    assert (folder / "about.json").read_text() == "old"


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    write_whole(tmp_path / "run.json", "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "run.json", "new" * 100_000 + "\ud800")
    assert (tmp_path / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_the_name_of_an_index_is_safe_for_any_folder_and_different_for_each():
    folders = ["A b", "x*,y", "-wild-*", "_all", "..", ".", "a/b", "日本", "x" * 300, "#a", "a\\b"]
    folders += ["", "raw-a", "RAW-a", "raw a", "raw*a", "raw,a", "x" * 101, "x" * 102]
    names = [index_name(folder) for folder in folders]
    assert len({*names}) == len(folders) and names == [index_name(folder) for folder in folders]
    for name in names:
        assert name.startswith("ircot-") and len(name.encode()) <= 255
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert index_name("laboratory-musique") == "ircot-laboratory-musique"


def test_nothing_that_models_and_pages_say_becomes_markup():
    paragraph = Paragraph("p", EVIL, EVIL)
    question = Question(EVIL, EVIL, (EVIL,), ("p",), "x", EVIL)
    trace = (Step(Retrieve(EVIL, 1), (paragraph,), False), Step(Generate(EVIL), EVIL, False))
    outcome = Outcome("q", Prediction(EVIL, (paragraph,)), trace)
    texts = answers_as_html({EVIL: outcome}), question_as_html(question, [paragraph])
    for text in texts:
        assert "<img" not in text and "$\\" not in text and "](" not in text and "\n# h" not in text
        assert html.unescape(text).count("<img src=x onerror=alert(1)>") >= 3
        assert text.count("$") == text.count("<span>$</span>")


def test_formulas_in_tables_and_figures_and_markup_in_ids_are_text(tmp_path):
    shown = pd.DataFrame({"title": [EVIL]})._repr_html_()
    assert '<table border="1" class="dataframe tex2jax_ignore mathjax_ignore">' in shown
    assert "<img" not in shown
    row = dict.fromkeys(cases.COLUMNS, "") | {"id": "a`\n\n<img>", "dataset": "musique"}
    text = cases.cases_as_markdown(pd.DataFrame([row | {"recall": 0.0, "score": 0.0}]))
    assert text.splitlines()[2].startswith("`a <img>` · ")
    figure, axis = subplots()
    axis.set_title("model $x^{ of $")
    figure.savefig(tmp_path / "a.png")


def test_a_terminal_is_not_steered():
    step = Step(Generate("p"), "a\x1b[2J\x07\nb\u202e", False)
    text = str(ask.Answered("S", Outcome("q", Prediction("\x1b]0;x\x07y", ()), (step,)), "m"))
    assert text == "S, m\n1. the model writes → a [2J  b\nS answers: ]0;x y"


def test_a_judgement_without_sense_is_left_out(tmp_path):
    judge_sentence("ada", "a", 0, "true", folder=tmp_path)
    with (tmp_path / "ada.jsonl").open("a") as file:
        for verdict, item, sentence in (("<b>", "a", 1), ("true", ["a"], 1), ("true", "a", "1")):
            line = {"annotator": "ada", "verdict": verdict, "item": item, "sentence": sentence}
            file.write(f"{json.dumps(line)}\n")
    with pytest.warns(UserWarning, match="expected a judgement; the line is left out") as warned:
        assert [one.sentence for one in read_judgements("ada", tmp_path)] == [0]
    assert len(warned) == 3
