"""What each change of IRCoT costs: the reader and the losses, worked by hand."""

import pandas as pd
import pytest
from replying import LOST, QUESTION, send, write

from ircot_studies import wild
from ircot_studies.wild import NEVER, RELEASED, SINGLE
from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.experiment.setup import both_models
from ircotlib.files import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.systems import rewrites
from ircotlib.systems.rewrites import REWRITES

PAGES = {name: Paragraph(name, name.title(), f"About {name}.") for name in "abcdef"}
STEPS = (
    GoldStep("Who wrote it?", "Ann", ("b",)),
    GoldStep("#1's town?", "Rome", ("d",)),
)
ASKED = Question("q", "Where?", ("Rome",), ("b", "d"), "musique", steps=STEPS)
FOUND = {"Where?": "abc", "Who wrote it: Ann": "bde", "Who wrote it: Bo": "cef"}


def search(query):
    return [PAGES[name] for name in FOUND.get(query, "af")]


def play(**change):
    return wild.play(ASKED, search, ["Bo"], change, draw=0)


def test_the_reader_states_what_it_was_shown_and_then_answers():
    # three prompts: a, b; then d; then what the last sentence finds
    assert play(k=2) == (100, 2 + 3 + 4, 3)
    # b is not shown: it guesses Bo, and finds nothing of Ann's
    assert play(k=1) == (0, 1 + 2 + 2, 3)
    assert play(k=2, rounds=1) == (0, 2, 1)
    assert play(k=2, kept=rewrites.REPLACED) == (100, 2 + 2 + 2, 3)
    assert play(k=2, max_paragraphs=2) == (0, 2 + 2 + 2, 3)


def test_a_model_that_never_says_the_phrase_writes_to_the_limit():
    given = {"prompts": {"cot": write}, "read": None, "answer": rewrites.CHAIN, "k": 1}
    replies = [
        reply for _ in range(8) for reply in ((LOST,), "So the answer is: Rome.")
    ]
    requests, result = send(wild.never_says(QUESTION, **given), replies)
    assert len(requests) == 16 and result.answer == " ".join(["It is Rome."] * 8)


def test_losses_are_paired_and_the_largest_comes_first():
    values = {RELEASED: [100] * 12, "little": [100] * 11 + [0], "much": [0] * 12}
    rows = [
        ("x", change, str(n), value, 1, 2)
        for change, of_change in values.items()
        for n, value in enumerate(of_change)
    ]
    losses = wild.find_losses(pd.DataFrame(rows, columns=wild.COLUMNS))
    assert list(losses["change"]) == [RELEASED, "much", "little"]
    assert list(losses["lost"].round(1)) == [0, 100, 8.3]
    assert losses["p_holm"].iloc[1] == pytest.approx(2 * 2**-11, abs=1e-4)
    [axis] = wild.draw_losses(losses, {"x": "points"}).axes
    labels = [text.get_text() for text in axis.get_yticklabels()]
    assert labels == ["much", "little"] and axis.get_xlabel() == "points"


def test_all_changes_and_rewrites_are_measured_with_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    p = read_parameters("quick").change(test=2, dev=0, datasets=["musique"])
    [p] = [each for each in both_models(p) if each.model.endswith("causal")]
    table = wild.measure_model(p)
    named = [*SINGLE, NEVER, wild.NEVER_CHAIN, *REWRITES]
    assert list(table["change"].unique()) == named and len(table) == 2 * len(named)
    calls = table.groupby("change")["calls"].mean()
    assert calls[wild.NEVER_CHAIN] > calls["answer: from the chain"]


def test_on_real_text_the_reader_finds_what_it_finds_in_ask_or_state(
    shared, tmp_path, monkeypatch
):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    monkeypatch.setattr(wild, "READABLE", [RELEASED, "2 rounds"])
    p = read_parameters("sample", {"data_dir": str(shared), "datasets": ["musique"]})
    losses = wild.find_losses(wild.measure_reader(p)).set_index("change")
    other = pd.read_csv(FIGURES / "ask_or_state_sample.csv")
    other = other.set_index(["dataset", "query", "k"])["mean"]
    guesses = other["musique", "states or guesses", 4]
    # near duplicates are kept once here, and all that was shown counts
    assert losses["mean"][RELEASED] == pytest.approx(guesses, abs=1)
    kept = pd.read_csv(FIGURES / "wild_sample.csv").query("column == 'MuSiQue'")
    kept = kept.set_index("change").loc[["2 rounds"]]
    for name in ("mean", "lost", "read"):
        assert losses.loc["2 rounds", name] == kept.loc["2 rounds", name]
