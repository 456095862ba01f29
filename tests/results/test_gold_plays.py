"""What the gold reader's plays hold, how they are averaged and compared, and how they are drawn."""

import pandas as pd
import pytest

from ircotlib import (
    GOLD_BY_KEPT,
    GOLD_BY_RETRIEVER,
    GOLD_METHODS,
    average_by_wording,
    average_found,
    average_steps,
    compare_found,
    draw_found,
    draw_found_by_k,
    draw_found_by_retriever,
    draw_found_steps,
    play_by_retriever,
    play_gold,
    read_parameters,
    refused_plays,
)
from ircotlib.data import GoldStep
from ircotlib.datasets.own import write_own_corpus
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.results import gold_plays, kept_plays
from ircotlib.results.gold_plays import GoldPlay, open_gold, word_steps


@pytest.fixture(scope="module")
def plays(laboratory, tmp_path_factory):
    """All methods on two data sets of a small laboratory."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("data")
        patch.setattr(setup, "DATA", folder)
        patch.setattr(backends, "DATA", folder)
        patch.setattr(kept_plays, "count_cores", lambda: 1)
        patch.setattr(kept_plays, "DATA", folder)
        p = read_parameters("mini", {"data_dir": str(laboratory)})
        p = p.change(datasets=["hotpotqa", "musique", "iirc"])
        yield play_gold(p, GOLD_METHODS), refused_plays(p, GOLD_METHODS)


def test_a_row_for_each_question_that_can_be_played(plays):
    rows, refused = plays
    counts = rows.groupby(["dataset", "method"]).size().unstack("dataset")
    assert set(counts["musique"]) == {40} and set(counts["hotpotqa"].dropna()) == {40}
    assert "iirc" not in counts and counts["hotpotqa"].notna().sum() < len(GOLD_METHODS)
    assert len(refused) == len(set(refused)) and not any("musique" in line for line in refused)
    assert sum("hotpotqa" in line for line in refused) == counts["hotpotqa"].isna().sum()
    assert ((rows["recall"] == 1) == (rows["found"] == 1)).all()
    assert (rows["lost"].map(len) == 0)[rows["found"] == 1].all()
    one_each = rows[rows["method"] == "Self-Ask"]
    assert (one_each["retrievals"] == one_each["hops"]).all()


def test_plays_are_kept_until_something_changes(laboratory, tmp_path, monkeypatch):
    for module in (setup, backends, kept_plays):
        monkeypatch.setattr(module, "DATA", tmp_path)
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)
    p = read_parameters("mini", {"data_dir": str(laboratory), "datasets": ["musique"]})
    played, play = [], gold_plays._play_group
    monkeypatch.setattr(gold_plays, "_play_group", lambda j: played.extend(j[2]) or play(j))
    few = [GoldPlay("OneR", "OneR", {"k": k}) for k in (1, 2)]
    tables = [play_gold(p, plays) for plays in (few[:1], few, few)]
    assert len(played) == 2
    pd.testing.assert_frame_equal(tables[1], tables[2])
    pd.testing.assert_frame_equal(tables[1][:40], tables[0])
    play_gold(p.change(retriever="embedded", seed=3), few)
    assert len(played) == 4
    for path in tmp_path.glob("plays/*/*/*.json"):
        path.write_text(path.read_text()[:-9])
    pd.testing.assert_frame_equal(play_gold(p, few), tables[1])
    assert len(played) == 6


def test_means_are_those_of_the_questions(plays):
    rows, _ = plays
    table = average_found(rows, "dataset", "method", "system").set_index(["dataset", "method"])
    oner = rows[(rows["dataset"] == "musique") & (rows["method"] == "OneR")]
    row = table.loc["musique", "OneR"]
    assert row["mean"] == pytest.approx(100 * oner["found"].mean(), abs=0.001)
    assert row["low"] <= row["mean"] <= row["high"] and (row["paragraphs"], row["n"]) == (15, 40)
    steps = average_steps(rows[rows["method"] == "OneR"])
    first = oner[oner["hops"] == 2]["lost"].map(lambda lost: 1 not in lost)
    shown = steps.query("hops == 2 and step == 1")["mean"]
    assert set(steps["dataset"]) <= {"musique"} and (steps["n"] >= gold_plays.FEW).all()
    assert [*shown] == ([pytest.approx(100 * first.mean(), abs=0.001)] if len(first) >= 20 else [])


def test_the_same_by_retriever_and_in_a_grown_corpus(laboratory, tmp_path, monkeypatch):
    for module in (setup, backends):
        monkeypatch.setattr(module, "DATA", tmp_path)
    monkeypatch.setattr(kept_plays, "count_cores", lambda: 1)
    monkeypatch.setattr(kept_plays, "DATA", tmp_path)
    p = read_parameters("mini", {"data_dir": str(laboratory), "datasets": ["musique"]})
    alone = play_by_retriever(p, GOLD_BY_RETRIEVER)
    assert set(alone["retriever"]) == {"BM25"} and alone["searched"].nunique() == 1
    question = open_gold(p, "musique").test[0]  # a paragraph of its words alone leads each list
    shown = [make_paragraph(f"{question.text} {n}", question.text) for n in range(14)]
    shown.append(make_paragraph(question.steps[0].title, f"{question.text} So it is asked."))
    more = write_own_corpus(tmp_path / "more", shown) / "own" / "corpus.jsonl"
    grown = play_by_retriever(p.change(further_paragraphs=str(more)), GOLD_BY_RETRIEVER)
    named = grown[grown["namesake"]]["id"].unique()
    assert question.id in named and len(named) < grown["id"].nunique()
    assert not alone["namesake"].any()
    table = average_found(grown, "dataset", "retriever", "searched", "system")
    assert [*table["searched"].unique()] == [alone["searched"][0], alone["searched"][0] + 15]
    found = grown[grown["id"] == question.id].pivot(
        index="system", columns="searched", values="recall"
    )
    assert found.loc["OneR"].iloc[1] == 0 and found.loc["OneR"].iloc[0] > 0
    figure = draw_found_by_retriever(table, "By retriever")
    assert [axis.get_title("left") for axis in figure.axes] == ["MuSiQue\nBM25"]
    pairs = compare_found(grown, "dataset", "searched").set_index(["searched", "method", "other"])
    assert len(pairs) == 2 * 6
    smaller, larger = (pairs.loc[n, "OneR", "IRCoT"] for n in table["searched"].unique())
    assert larger["only second"] >= smaller["only second"] and larger["p"] <= larger["p_holm"]
    assert compare_found(alone[alone["method"] == "OneR"], "dataset").empty


def test_pairs_are_compared_over_the_same_questions(plays):
    rows, _ = plays
    pairs = compare_found(rows, "dataset").set_index(["dataset", "method", "other"])
    pair = pairs.loc["musique", "OneR", "IRCoT"]
    found = rows[rows["dataset"] == "musique"].pivot(index="id", columns="method", values="found")
    only = found["IRCoT"] - found["OneR"]
    assert (pair["only first"], pair["only second"]) == ((only < 0).sum(), (only > 0).sum())
    assert pair["difference"] == pytest.approx(-100 * only.mean(), abs=0.01)
    assert pair["p"] < 0.001 and pair["p"] <= pair["p_holm"]
    equal = pairs.loc["musique", "SearChain", "Self-Ask"]
    assert (equal["difference"], equal["p"]) == (0, 1)


def test_wordings_are_parted_where_a_data_set_has_several():
    steps = [GoldStep("Ada >> father", "Ben"), GoldStep("Who taught #1?", "Cy")]
    assert [word_steps(steps), word_steps(steps[1:])] == ["relations", "natural"]
    assert word_steps([GoldStep("", "", sentence="Ada learnt.")]) == "sentences"
    row = {"dataset": "musique", "system": "OneR", "recall": 1.0, "paragraphs": 1, "retrievals": 1}
    rows = [row | {"found": float(n % 2), "wording": w} for n, w in enumerate("aab")]
    rows += [row | {"dataset": "own", "found": 1.0, "wording": "a"}]
    table = average_by_wording(pd.DataFrame(rows), "system")
    assert [*zip(table["dataset"], table["wording"], table["n"], strict=True)] == [
        ("musique", "all", 3),
        ("own", "all", 1),
        ("musique", "a", 2),
        ("musique", "b", 1),
    ]


def test_the_pictures_name_what_they_show(plays):
    rows, _ = plays
    figure = draw_found(average_found(rows, "dataset", "method", "system"), "Found")
    assert [axis.get_title("left") for axis in figure.axes] == [
        "HotpotQA (n = 40)",
        "MuSiQue (n = 40)",
    ]
    named = [text.get_text() for text in figure.axes[1].texts]
    assert any("SearChain" in name and "Self-Ask" in name for name in named)
    by_k = average_by_wording(rows.assign(k=1), "system", "k")
    assert len(draw_found_by_k(by_k, "K").axes) == 2
    steps = average_steps(rows)
    assert len(draw_found_steps(steps, "Steps").axes) >= steps["hops"].nunique()


def test_on_real_text_one_paragraph_a_sub_question_is_too_few(shared, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    p = read_parameters("sample", {"data_dir": str(shared), "datasets": ["musique"]})
    methods = [play for play in GOLD_METHODS if play.system in ("SearChain", "IRCoT")]
    more = GoldPlay("SearChain, K = 3", "SearChain", {"k": 3})
    [kept] = [play for play in GOLD_BY_KEPT if play.method == "K = 8, at most 30 paragraphs"]
    rows = play_gold(p, [*methods, more, kept])
    means = average_found(rows, "method").set_index("method")["mean"].round(1)
    assert dict(means) == {
        "IRCoT": 81.9,
        "SearChain": 31.0,
        "SearChain, K = 3": 63.3,
        kept.method: 92.4,
    }
