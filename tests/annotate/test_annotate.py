"""Judgements of chains: what is kept, what counts, who agrees; and the box, driven by clicks."""

import json
import math
import multiprocessing
import os
import subprocess
import sys

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.annotate import box as annotate_box
from ircotlib.annotate import judgements
from ircotlib.annotate.agreement import agreement, disagreements, read_judgements, settle
from ircotlib.annotate.judgements import Judgement, file_of, judge_sentence, read_verdicts, undo
from ircotlib.data import Paragraph, Question
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import compare_systems
from ircotlib.experiment.setup import open_benches
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.results import factuality
from ircotlib.papers.claims import compare_claims as compare
from ircotlib.results.factuality import (
    Item,
    chain_of,
    count_before_answer,
    count_errors,
    list_judged,
    read_items,
)
from ircotlib.results.figures.rows import draw_factual_errors
from ircotlib.systems import choose_systems

TEXT = "Ada Holm directed Silent Lantern. <b>It</b> is a film."
LANTERN = Paragraph("p1", "Silent Lantern", TEXT)


def item(id: str, *sentences: str, system: str = "OneR QA", question: str = "q1") -> Item:
    asked = Question(question, "Who directed <i>Silent</i> Lantern?", ("Ada Holm",), (), "hotpotqa")
    facts = count_before_answer(sentences)
    return Item(id, "hotpotqa", system, asked, sentences, (LANTERN,), (LANTERN,), facts)


ITEMS = [
    item("a", TEXT[:33], "It is <script>new</script>.", "So the answer is: x."),
    item("b", "So the answer is: y."),
    item("c", "Leo Ash was born in Aldton.", system="IRCoT QA"),
]


def test_facts_are_the_sentences_before_the_answer_of_the_readers_chain_or_the_retrievals():
    chains = [*ITEMS, item("d", "So the answer is: x.", "And more."), item("e")]
    assert [chain.facts for chain in chains] == [2, 0, 1, 0, 0]
    assert chain_of("A. B.", ["C."], "cot") == "A. B."
    assert chain_of("yes", ["C.", "D."], "direct") == "C. D."
    assert chain_of("", ["C."], "cot") == "C." and chain_of("yes", [], "direct") == ""


def test_chains_of_a_run_are_read_in_random_order(tmp_path, monkeypatch, displayed):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=600, questions=20)
    changes = {"data_dir": str(folder), "dev": 0, "test": 6, "judged": 4, "distractors": [1]}
    changes |= {"oner_k": [3], "ircot_k": [2], "model": "data/models/mini-base", "max_steps": 4}
    p = read_parameters("mini", changes | {"datasets": ["musique", "iirc"]})
    with pytest.raises(FileNotFoundError, match="--only 04_ircot"):
        read_items(p)
    annotate_box.annotate_box(p)
    assert "--only 04_ircot" in displayed[0].data
    names = ["NoR QA", "OneR", "OneR QA", "IRCoT", "IRCoT QA"]
    compare_systems(open_benches(p, "04_ircot"), choose_systems(names), demonstration_sets=2)
    items, questions = read_items(p), {}
    assert len(items) == len({chain.id for chain in items}) == 2 * 3 * 4
    for chain in items:
        questions.setdefault((chain.dataset, chain.system), set()).add(chain.question.id)
        assert chain.sentences and {p.id for p in chain.gold} == set(chain.question.gold)
        main = [chain.question.passage] * (chain.dataset == "iirc")
        assert [*chain.retrieved[: len(main)]] == main
        assert chain.retrieved if chain.system != "NoR QA" else len(chain.retrieved) == len(main)
    assert len(questions) == 6 and {len(ids) for ids in questions.values()} == {4}
    assert questions["iirc", "NoR QA"] == questions["iirc", "OneR QA"]
    assert [chain.id for chain in read_items(p)] == [chain.id for chain in items]
    by_run = sorted(items, key=lambda chain: (chain.dataset, chain.system))
    assert [chain.id for chain in by_run] != [chain.id for chain in items]
    annotate_box.annotate_box(p, "ada", tmp_path / "annotations")
    assert displayed[1].items == items and displayed[1].name.value == "ada"
    monkeypatch.setenv("IRCOT_BATCH", "1")
    annotate_box.annotate_box(p)
    assert len(displayed) == 2


def test_the_last_judgement_counts_and_undo_takes_it_back(tmp_path):
    for n, verdict in ((0, "true"), (1, "true"), (0, "false")):
        judge_sentence("ada", "a", n, verdict, folder=tmp_path)
    judge_sentence("ada", "a", 2, "unsure", "which?", folder=tmp_path)
    kept = {("a", 0): "false", ("a", 1): "true", ("a", 2): "unsure"}
    assert read_verdicts("ada", tmp_path) == kept
    assert undo("ada", tmp_path).note == "which?"
    assert undo("ada", tmp_path).verdict == "false"  # the last click, not the last sentence
    assert read_verdicts("ada", tmp_path) == {("a", 0): "true", ("a", 1): "true"}
    assert [undo("ada", tmp_path).sentence for _ in range(2)] == [1, 0]
    assert undo("ada", tmp_path) is None and read_verdicts("ada", tmp_path) == {}
    lines = file_of("ada", tmp_path).read_text().splitlines()
    assert len(lines) == 8 and all(json.loads(line)["time"].endswith("+00:00") for line in lines)


@pytest.mark.parametrize("name", ["", "../ada", "a b", "-x", "judge", "Judge"])
def test_a_name_that_is_no_files_and_an_unknown_verdict_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="the annotator's name"):
        judge_sentence(name, "a", 0, "true", folder=tmp_path)
    assert not list(tmp_path.iterdir())
    clicks = [Judgement("ada", "a", n, verdict) for n, verdict in enumerate(("true", "yes"))]
    with pytest.raises(ValueError, match="'yes'"):
        judgements.write_judgements(clicks, tmp_path)
    assert read_judgements(tmp_path) == {}


@pytest.mark.parametrize("cut", [1, 5, 40, -1])
def test_a_half_written_line_is_left_out_and_spoils_nothing(cut, tmp_path):
    for n in range(3):
        judge_sentence("ada", "a", n, "true", "ä\n", folder=tmp_path)
    path = file_of("ada", tmp_path)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:-1][:cut])
    with pytest.warns(UserWarning, match="line 3"):
        assert list(read_verdicts("ada", tmp_path)) == [("a", 0), ("a", 1)]
    judge_sentence("ada", "b", 7, "false", folder=tmp_path)
    with pytest.warns(UserWarning, match="line 3"):
        assert read_verdicts("ada", tmp_path)[("b", 7)] == "false"
    assert path.read_bytes().count(b"\n") == 4


def write_many(name: str, folder: str) -> None:
    for n in range(500):
        judge_sentence("ada", name, n, "true", "x" * (n % 300), folder=folder)


def test_two_processes_that_write_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(id, str(tmp_path))) for id in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    kept = [(click.item, click.sentence) for click in judgements.read_judgements("ada", tmp_path)]
    assert len(kept) == 1000
    for id in "ab":  # in the order in which each annotator wrote
        assert [n for name, n in kept if name == id] == list(range(500))


KILLED = """
import os, signal, sys
from ircotlib.annotate.judgements import judge_sentence
write = os.write
def half(file, line):
    write(file, line[: len(line) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
judge_sentence("ada", "a", 0, "true", folder=sys.argv[1])
os.write = half
judge_sentence("ada", "a", 1, "false", folder=sys.argv[1])
"""


def test_a_kill_in_the_middle_of_a_line_costs_that_line_only(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=env)
    assert done.returncode == -9 and file_of("ada", tmp_path).read_bytes()[-1:] != b"\n"
    judge_sentence("ada", "a", 2, "unsure", folder=tmp_path)
    with pytest.warns(UserWarning, match="line 2"):
        assert read_verdicts("ada", tmp_path) == {("a", 0): "true", ("a", 2): "unsure"}


def test_a_program_judges_and_repeats_nothing(tmp_path):
    verdicts = {("a", 0): "true", ("a", 1): "true", ("c", 0): "false"}
    judge = {"Leo Ash was born in Aldton.": "false"}
    first = judgements.judge_all(ITEMS, lambda text, _: judge.get(text, "true"), tmp_path)
    assert first == verdicts
    before = file_of("judge", tmp_path).read_text()
    again = judgements.judge_all(ITEMS, lambda text, _: "true", tmp_path)
    assert again == read_verdicts("judge", tmp_path) == verdicts | {("c", 0): "true"}
    after = file_of("judge", tmp_path).read_text()
    assert after.startswith(before) and len(after.splitlines()) == 4


KAPPAS = [  # verdicts of two annotators
    # Viera and Garrett 2005, "Understanding interobserver agreement", Table 1: 0.57
    ("t" * 20 + "f" * 80, "t" * 15 + "f" * 5 + "t" * 10 + "f" * 70, 0.5714),
    # 50 proposals read by two readers: kappa 0.4
    ("t" * 25 + "f" * 25, "t" * 20 + "f" * 5 + "t" * 10 + "f" * 15, 0.4),
    ("tttffu", "tttffu", 1.0),
    ("ttff", "fftt", -1.0),
    ("tttt", "tttt", math.nan),  # nothing to tell apart
]


@pytest.mark.parametrize(("first", "second", "kappa"), KAPPAS)
def test_kappa_is_that_of_published_examples(first, second, kappa):
    a, b = ({("a", n): verdict for n, verdict in enumerate(text)} for text in (first, second))
    assert agreement(a, b).kappa == pytest.approx(kappa, abs=5e-5, nan_ok=True)
    assert agreement(a, b).n == len(first)
    assert math.isnan(agreement({("a", 0): "true"}, {("b", 0): "true"}).kappa)


def test_the_adjudicators_word_counts(tmp_path):
    ada = {("a", 0): "true", ("a", 1): "true"}
    leo = {("a", 0): "true", ("a", 1): "false", ("c", 0): "unsure"}
    word = {("a", 1): "false", ("a", 0): "false"}
    together = {("a", 0): "true", ("c", 0): "unsure"}
    assert settle({"ada": ada, "leo": leo}) == together
    (row,) = disagreements(ITEMS, {"ada": ada, "leo": leo}).to_dict("records")
    named = {"item": "a", "question": ITEMS[0].question.text, "sentence": 1}
    text = "It is <script>new</script>."
    assert row == named | {"text": text, "ada": "true", "leo": "false"}
    judged = {"ada": ada, "leo": leo, "adjudicator": word}
    assert settle(judged) == word | {("c", 0): "unsure"} and disagreements(ITEMS, judged).empty
    for who, verdicts in {"ada": ada, "leo": leo, "judge": ada}.items():
        clicks = [Judgement(who, *key, verdict) for key, verdict in verdicts.items()]
        judgements.write_judgements(clicks, tmp_path)
    every = {"ada": ada, "judge": ada, "leo": leo, "ada + leo": together}
    assert read_judgements(tmp_path) == every


def many(system: str, wrong: int, of: int = 10) -> tuple[list[Item], dict]:
    items = [item(f"{system}{n}", "X.", "Y.", system=system, question=f"q{n}") for n in range(of)]
    verdicts = {(chain.id, n): "true" for chain in items for n in (0, 1)}
    return items, verdicts | {(c.id, n % 2): "false" for n, c in enumerate(items[:wrong])}


def test_a_chain_has_an_error_if_one_sentence_is_false():
    items, verdicts = many("OneR QA", 6)
    del verdicts[items[0].id, 1], verdicts[items[9].id, 1]  # already false; not judged
    verdicts[items[8].id, 0] = "unsure"
    table = list_judged(items, verdicts)
    assert list(table[["error", "factual", "unsure"]].sum()) == [6, 3, 1]
    assert count_errors(ITEMS, {}).empty
    assert compare(list_judged(ITEMS, {})).empty
    assert draw_factual_errors(count_errors(ITEMS, {}), "errors", "%") is None


def test_figure_7_has_shares_and_the_papers_reductions():
    parts = [many("OneR QA", 6), many("IRCoT QA", 3), many("NoR QA", 9)]
    items = [chain for chains, _ in parts for chain in chains]
    verdicts = {key: verdict for _, each in parts for key, verdict in each.items()}
    table = count_errors(items, {"ada": verdicts, "leo": {("elsewhere", 0): "true"}})
    shares = table[table["metric"] == factuality.SHARE].set_index("system")
    assert list(shares.index) == ["NoR QA", "OneR QA", "IRCoT QA"]
    assert list(shares["mean"]) == [90, 60, 30] and set(shares["n"]) == {10}
    assert (shares["low"] < shares["mean"]).all() and (shares["mean"] < shares["high"]).all()
    (fewer,) = table[table["metric"] == factuality.REDUCTION].to_dict("records")
    assert (fewer["mean"], fewer["reported"], fewer["judged_by"]) == (50, 50, "ada")
    compared = compare(list_judged(items, verdicts)).set_index("claim")["verdict"]
    assert compared["IRCoT QA > NoR QA"] == "holds"
    axes = draw_factual_errors(table[table["metric"] == factuality.SHARE], "errors", "%").axes
    assert [axis.get_title("left").split("\n")[1] for axis in axes] == ["10 chains, by ada"]
    marks = [line for line in axes[0].lines if line.get_marker() == "o"]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in marks] == [(90, 0), (60, 1), (30, 2)]


@pytest.fixture
def open_box(tmp_path):
    """open_box(name): a box over the same folder each time."""
    return lambda name="": annotate_box.AnnotateBox(ITEMS, name, tmp_path)


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook displays."""
    parts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(annotate_box, "display", parts.append)
    return parts


def press(box, *keys):
    for key in keys:
        box.buttons[key].click()


def position(box):
    return box.sentences[box.at]


def test_judging_by_clicks_resuming_and_undoing(open_box, tmp_path):
    box = open_box()
    press(box, "t", "z")
    assert not list(tmp_path.iterdir()) and "type your name" in box.status.value
    assert [key for key, button in box.buttons.items() if button.disabled] == ["t", "f", "u", "z"]
    box.name.value = "ada"
    assert box.status.value == "0 of 3 sentences, 1 of 3 chains"
    assert not any(button.disabled for button in box.buttons.values())
    box.note.value = " first "
    press(box, "t")
    assert (box.at, box.note.value, box.bar.value, box.bar.max) == (1, "", 1, 3)
    assert "Chain 1 of 3, sentence 2 of 2" in box.page.page
    press(box, "f")
    assert box.status.value == "2 of 3 sentences, 2 of 3 chains" and position(box) == (2, 0)
    again = open_box("ada")
    assert position(again) == (2, 0) and again.bar.value == 2
    press(again, "z")
    assert again.at == 1 and read_verdicts("ada", tmp_path) == {("a", 0): "true"}
    press(again, "u")
    assert read_verdicts("ada", tmp_path)[("a", 1)] == "unsure"
    assert [click.note for click in judgements.read_judgements("ada", tmp_path)] == ["first", ""]


def test_the_box_moves_by_sentences_and_chains(open_box):
    box, positions = open_box("ada"), []
    for key in "Right Right Right Left Up Down Up Up Right Down".split():
        press(box, f"Arrow{key}")
        positions.append(position(box))
    walked = [(0, 1), (2, 0), (2, 0), (0, 1), (0, 0), (2, 0), (0, 0), (0, 0), (0, 1), (2, 0)]
    assert positions == walked


def test_after_the_last_sentence_comes_what_was_passed_over(open_box):
    box = open_box("ada")
    press(box, "t", "ArrowRight", "t")
    assert position(box) == (0, 1) and "thank you" not in box.status.value
    press(box, "f")
    assert box.status.value == "3 of 3 sentences, 3 of 3 chains: all done, thank you"
    box = annotate_box.AnnotateBox([], "ada", box.folder)
    press(box, "t", "ArrowUp")
    assert box.status.value == "0 of 0 sentences, 0 of 0 chains"


def test_a_judgement_that_cannot_be_written_is_said(open_box, tmp_path):
    box = open_box("ada")
    file_of("ada", tmp_path).mkdir()  # no file can be opened there
    box.note.value = "a note"
    press(box, "t")
    assert box.status.value.startswith("NOT KEPT: ") and "ada.jsonl" in box.status.value
    assert box.at == 0 and box.note.value == "a note"
    file_of("ada", tmp_path).rmdir()
    press(box, "t")
    assert box.at == 1 and judgements.read_judgements("ada", tmp_path)[0].note == "a note"


def test_keys_do_what_the_buttons_do(open_box, tmp_path):
    box = open_box("ada")
    for key in ("t", "f", "z", "u", "x", None):
        box.page._handle_custom_msg({"key": key, "shown": box.page.shown}, [])
    late = box.page.shown - 1
    box.page._handle_custom_msg({"key": "t", "shown": late}, [])  # about something no longer shown
    assert read_verdicts("ada", tmp_path) == {("a", 0): "true", ("a", 1): "unsure"}
    assert set(box.page.listens) == set(box.buttons)


def test_another_name_is_another_file_and_two_boxes_see_what_the_other_wrote(open_box, tmp_path):
    box, other = open_box("ada"), open_box("ada")
    press(box, "t")
    press(other, "ArrowRight", "f")
    assert other.bar.value == 2 and len(judgements.read_judgements("ada", tmp_path)) == 2
    box.name.value = "leo"
    assert box.at == 0 and box.bar.value == 0
    box.name.value = "../leo"
    press(box, "t")
    assert [*read_judgements(tmp_path)] == ["ada"] and "type your name" in box.status.value


def test_the_page_shows_all_and_escapes_what_was_written(open_box):
    box = open_box("ada")
    press(box, "t")
    page = box.page.page
    assert "&lt;script&gt;" in page and "<script" not in page and "<b>It" not in page
    assert "Who directed &lt;i&gt;Silent&lt;/i&gt; Lantern?" in page
    judged = '<span class="sign true">✓</span><span>Ada Holm directed Silent Lantern.</span>'
    assert f'<div class="sentence ">{judged}</div>' in page
    now = '<div class="sentence now"><span class="sign ">·</span><span>It is'
    answer = '<div class="sentence answer"><span class="sign "></span><span>So the answer'
    assert now in page and answer in page
    assert page.count("directed Silent Lantern. &lt;") == 2  # retrieved, and gold
    assert "OneR" not in page and "IRCoT" not in page  # who wrote it is hidden
    press(box, "z")
    assert "<mark>directed</mark> <mark>Silent</mark> <mark>Lantern</mark>" in box.page.page
    words = annotate_box.words_of("The <b> of Ada's city is Aldton.")
    assert words == {"b", "ada", "s", "city", "aldton"}
    marked = "<mark>ALDTON</mark> is a &lt;<mark>b</mark>&gt;<mark>city</mark> &amp; more"
    assert annotate_box.mark("ALDTON is a <b>city & more", words) == marked
