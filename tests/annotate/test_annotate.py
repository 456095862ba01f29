"""Judgements of chains: what is kept, what counts; the form, by clicks."""

import json

import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib import compare
from ircotlib.annotate import box as annotate_box
from ircotlib.annotate import factuality
from ircotlib.annotate.factuality import Item, count_errors, list_judged, read_items
from ircotlib.annotate.judgements import (
    Judgement,
    agreement,
    read_judgements,
    read_verdicts,
    write_judgement,
)
from ircotlib.data import Paragraph, Question
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems

TEXT = "Ada Holm directed Silent Lantern. <b>It</b> is a film."
LANTERN = Paragraph("p1", "Silent Lantern", TEXT)


def item(id, *sentences, facts, system="OneR QA", question="q1"):
    text = "Who directed <i>Silent</i> Lantern?"
    asked = Question(question, text, ("Ada Holm",), (), "hotpotqa")
    return Item(id, "hotpotqa", system, asked, sentences, (LANTERN,), (LANTERN,), facts)


FILM, NEW = TEXT[:33], "It is <script>new</script>."
ITEMS = [
    item("a", FILM, NEW, "So the answer is: x.", facts=2),
    item("b", "So the answer is: y.", facts=0),
    item("c", "Leo Ash was born in Aldton.", system="IRCoT QA", facts=1),
]


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook displays."""
    parts = []
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(annotate_box, "display", parts.append)
    return parts


def click(name, item, n, verdict, folder):
    write_judgement(Judgement(name, item, n, verdict), folder)


def test_chains_of_a_run_are_read_in_random_order(
    tmp_path, monkeypatch, displayed, capsys
):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=600, questions=20)
    changes = {"dev": 0, "test": 4, "judged": 3, "distractors": [1], "oner_k": [3]}
    changes |= {"data_dir": str(folder), "datasets": ["iirc"], "workers": 1}
    p = read_parameters("mini", changes | {"model": "data/models/mini-base"})
    annotate_box.annotate_box(p)
    assert "--only 04_ircot" in displayed[0].value
    systems = choose_systems(["NoR QA", "OneR", "OneR QA"])
    compare([open_setup(p, "iirc", "04_ircot")], systems, sets=1)
    items, questions = read_items(p), {}
    assert len(items) == len({chain.id for chain in items}) == 2 * 3
    for chain in items:
        questions.setdefault(chain.system, set()).add(chain.question.id)
        answers = [n for n, text in enumerate(chain.sentences) if "answer is:" in text]
        assert chain.facts == (answers or [len(chain.sentences)])[0]
        assert chain.sentences
        assert {page.id for page in chain.gold} == set(chain.question.gold)
        assert chain.retrieved[0] == chain.question.passage
        assert len(chain.retrieved) == 1 or chain.system != "NoR QA"
    assert questions["NoR QA"] == questions["OneR QA"]
    assert len(questions["OneR QA"]) == 3
    assert [chain.id for chain in read_items(p)] == [chain.id for chain in items]
    annotate_box.annotate_box(p)
    assert displayed[1].items == items
    monkeypatch.setenv("IRCOT_BATCH", "1")
    annotate_box.annotate_box(p)
    assert len(displayed) == 2
    assert capsys.readouterr().out.endswith("(a form, in JupyterLab)\n")


def test_the_last_judgement_of_a_sentence_counts_and_no_line_is_changed(tmp_path):
    for n, verdict in ((0, "true"), (1, "true"), (0, "false"), (2, "unsure")):
        click("ada", "a", n, verdict, tmp_path)
    kept = {("a", 0): "false", ("a", 1): "true", ("a", 2): "unsure"}
    assert read_verdicts("ada", tmp_path) == kept
    lines = (tmp_path / "ada.jsonl").read_text().split()
    assert sum('"verdict":' in line for line in lines) == 4


@pytest.mark.parametrize("name", ["", "../ada", "a b", "-x", "judge", "a" * 300])
def test_an_invalid_name_and_an_unknown_verdict_are_refused(name, tmp_path):
    form = annotate_box.AnnotateBox(ITEMS, name, tmp_path)
    form.buttons["t"].click()
    assert "type your name first" in form.status.value
    with pytest.raises(ValueError, match="'yes'"):
        click("ada", "a", 0, "yes", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [1, 5, 40, -1])
def test_a_half_written_line_is_left_out_and_spoils_nothing(cut, tmp_path):
    for n in range(3):
        click("ada", "a", n, "true", tmp_path)
    path = tmp_path / "ada.jsonl"
    *whole, last = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*whole, last[:cut]]))  # of a process that was killed
    click("ada", "b", 7, "false", tmp_path)
    for wrong in ({"verdict": "<b>"}, {"item": ["a"]}, {"sentence": "1"}):
        line = {"annotator": "ada", "verdict": "true", "item": "a", "sentence": 1}
        path.write_text(f"{path.read_text()}\n{json.dumps(line | wrong)}")
    with pytest.warns(UserWarning, match="left out .*expected a judgement") as warned:
        assert list(read_verdicts("ada", tmp_path)) == [("a", 0), ("a", 1), ("b", 7)]
    assert len(warned) == 4


def test_the_verdicts_of_each_person_are_read(tmp_path):
    ada = {("a", 0): "true", ("a", 1): "true"}
    leo = {("a", 0): "true", ("a", 1): "false", ("c", 0): "unsure"}
    for who, verdicts in {"ada": ada, "leo": leo}.items():
        for (id, n), verdict in verdicts.items():
            click(who, id, n, verdict, tmp_path)
    # a program's file of an earlier version
    (tmp_path / "judge.jsonl").write_text("{}")
    assert read_judgements(tmp_path) == {"ada": ada, "leo": leo}


def many(system: str, wrong: int, of: int = 10) -> tuple[list[Item], dict]:
    named = [(f"{system}{n}", f"q{n}") for n in range(of)]
    items = [item(i, "X.", "Y.", system=system, question=q, facts=2) for i, q in named]
    verdicts = {(chain.id, n): "true" for chain in items for n in (0, 1)}
    false = {(c.id, n % 2): "false" for n, c in enumerate(items[:wrong])}
    return items, verdicts | false


def test_a_chain_has_an_error_if_one_sentence_is_false():
    items, verdicts = many("OneR QA", 6)
    del verdicts[items[0].id, 1], verdicts[items[9].id, 1]  # already false; not judged
    verdicts[items[8].id, 0] = "unsure"
    table = list_judged(items, verdicts)
    assert list(table[["error", "factual", "unsure"]].sum()) == [6, 3, 1]
    assert count_errors(ITEMS, {}).empty


def test_figure_7_has_shares_and_the_papers_reductions():
    parts = [many("OneR QA", 6), many("IRCoT QA", 3), many("NoR QA", 9)]
    items = [chain for chains, _ in parts for chain in chains]
    verdicts = {key: verdict for _, each in parts for key, verdict in each.items()}
    table = count_errors(items, {"ada": verdicts, "leo": {("elsewhere", 0): "true"}})
    assert list(table) == factuality.COLUMNS and set(table["judged_by"]) == {"ada"}
    shares = table[table["metric"] == factuality.SHARE].set_index("system")
    assert list(shares.index) == ["NoR QA", "OneR QA", "IRCoT QA"]
    assert list(shares["mean"]) == [90, 60, 30] and set(shares["n"]) == {10}
    assert (shares["low"] < shares["mean"]).all()
    assert (shares["mean"] < shares["high"]).all()
    (fewer,) = table[table["metric"] == factuality.REDUCTION].to_dict("records")
    assert (fewer["mean"], fewer["reported"], fewer["system"]) == (50, 50, "IRCoT QA")


@pytest.fixture
def open_form(tmp_path):
    """open_form(name): a form over the same folder each time."""
    return lambda name="": annotate_box.AnnotateBox(ITEMS, name, tmp_path)


def press(form, *keys):
    for key in keys:
        form.buttons[key].click()


def test_judging_by_clicks_and_resuming(open_form, tmp_path):
    form = open_form()
    press(form, "t")
    assert not list(tmp_path.iterdir()) and "type your name" in form.status.value
    form.name.value = "ada"
    assert form.status.value == "0 of 3 sentences"
    press(form, "t")
    assert form.at == 1
    assert "Text 1 of 3, sentence 2 of 2" in form.page.page
    press(form, "ArrowLeft", "ArrowLeft", "ArrowRight", "f")
    assert form.status.value == "2 of 3 sentences"
    assert form.sentences[form.at] == (ITEMS[2], 0)
    again = open_form("ada")
    assert again.at == 2 and again.status.value == "2 of 3 sentences"
    press(again, "ArrowLeft")
    for key in ("u", "x"):  # as the page sends a key
        again.page._handle_custom_msg(key, [])
    assert read_verdicts("ada", tmp_path)[("a", 1)] == "unsure"
    press(form, "ArrowRight", "f")  # another window sees what this one wrote
    assert form.status.value == "3 of 3 sentences: all done, thank you"
    form.name.value = "leo"
    assert form.at == 0 and form.status.value == "0 of 3 sentences"


def test_what_is_wrong_stands_in_the_form(open_form, tmp_path):
    form = open_form()
    (tmp_path / "leo.jsonl").mkdir()  # no file can be opened there
    form.name.value = "leo"
    assert "leo.jsonl" in form.status.value
    form.name.value = "ada"
    assert form.status.value == "0 of 3 sentences"
    (tmp_path / "ada.jsonl").mkdir()
    for key in ("t", "ArrowRight"):
        press(form, key)
        assert form.status.value.startswith(f"NOT KEPT in {tmp_path}: ")
        assert "ada.jsonl" in form.status.value
    form = open_form("eve")
    press(form, "t")
    assert form.at == 1 and form.status.value == "1 of 3 sentences"


def test_the_page_shows_all_and_escapes_what_was_written(open_form):
    form = open_form("ada")
    press(form, "t")
    page = " ".join(form.page.page.split())
    assert "&lt;script&gt;" in page and "<script" not in page and "<b>It" not in page
    assert "Who directed &lt;i&gt;Silent&lt;/i&gt; Lantern?" in page
    assert f'<span class="sign true">✓</span> <span>{FILM}</span>' in page
    assert '<div class="sentence now"> <span class="sign ">·</span> <span>It is' in page
    assert 'answer"> <span class="sign "></span> <span>So the answer is: x.' in page
    # retrieved, and gold
    assert page.count("directed Silent Lantern. &lt;b&gt;It") == 2
    assert "OneR" not in page and "IRCoT" not in page  # who wrote it is hidden


KAPPAS = [  # verdicts of two annotators
    # Viera and Garrett 2005, "Understanding interobserver agreement", Table 1: 0.57
    ("t" * 20 + "f" * 80, "t" * 15 + "f" * 5 + "t" * 10 + "f" * 70, 0.5714),
    ("ttff", "fftt", -1.0),
    ("tttt", "tttt", float("nan")),  # one verdict throughout
]


@pytest.mark.parametrize(("first", "second", "kappa"), KAPPAS)
def test_kappa_is_that_of_published_examples(first, second, kappa):
    a = {("a", n): verdict for n, verdict in enumerate(first)}
    b = {("a", n): verdict for n, verdict in enumerate(second)}
    expected = pytest.approx((kappa, len(a)), abs=5e-5, nan_ok=True)
    assert agreement(a, b) == expected


def test_a_verdict_that_an_earlier_version_took_back_does_not_count(tmp_path):
    click = '{"annotator": "ada", "item": "a", "sentence": 0, "verdict": '
    (tmp_path / "ada.jsonl").write_text(f'{click}"true"}}\n{click}null}}')
    assert read_verdicts("ada", tmp_path) == {}
