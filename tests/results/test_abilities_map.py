"""Which system answers best with which reader, where readers are on the map, and what parts are
worth.
"""

import pandas as pd
import pytest

from ircotlib.comparing.comparison import compare_systems
from ircotlib.data import Paragraph
from ircotlib.datasets.facts import Stated
from ircotlib.files.paths import DATA
from ircotlib.parameters import SIMULATED, read_parameters
from ircotlib.program import Generate, Outcome, Retrieve, Step
from ircotlib.results.abilities import known_readers as readers
from ircotlib.results.abilities.map import SYSTEMS, View, map_systems
from ircotlib.results.abilities.parts import LITTLE, PARTS, weigh_parts
from ircotlib.results.figures.maps import draw_map, draw_parts
from ircotlib.results.head_to_head import EXPERIMENT, panels_of
from ircotlib.running import backends
from ircotlib.running import bench as setup
from ircotlib.running.laboratory import find_facts
from ircotlib.systems import choose_systems

N = 50
WELL = {"misreads": 0.0, "extractor_misreads": 0.0}


@pytest.fixture(scope="module")
def p():
    return read_parameters("mini", {"abilities_test": N})


@pytest.fixture(scope="module")
def table(p):
    views = (
        View("a", knows=(0, 1), misreads=(0, 0.4)),
        View("b", "musique", (0.3, 0.9), (0.2, 0.4), extractor=0.0),
    )
    return map_systems(p, views)


def test_a_map_has_each_cell_once_with_all_systems_and_a_leader(table):
    cells = table.groupby(["map", "dataset", "knows", "misreads"])
    assert len(cells) == 4 + 4
    assert all([*rows["system"]] == [*SYSTEMS] for _, rows in cells)
    assert (table["n"] == N).all()
    assert cells["leads"].any().all()
    assert (cells["behind"].min() == 0).all()
    assert (table[~table["leads"]]["behind"] > 0).all()


def test_retrieval_decides_where_nothing_is_known_and_nothing_where_all_is(table):
    scores = table[table["map"] == "a"].set_index(["knows", "misreads", "system"]).sort_index()
    assert not scores.loc[(0, 0, "CoT"), "leads"]
    assert scores.loc[(0, 0, "IRCoT QA"), "mean"] > 95
    assert scores.loc[(0, 0, "CoT"), "mean"] == scores.loc[(0, 0.4, "CoT"), "mean"] < 10
    assert scores.loc[(1, 0), "leads"].all()
    assert scores.loc[(1, 0.4, "CoT"), "mean"] == 100  # it reads nothing
    assert not scores.loc[(1, 0.4, "IRCoT QA"), "leads"]
    means = scores.loc[(1, 0.4), "mean"]
    assert means["SearChain"] > means["Self-Ask"] - 10  # five questions


def test_searchain_leads_where_a_second_reader_does_not_err(table):
    rows = table[(table["map"] == "b") & table["leads"]]
    assert set(rows["system"]) == {"SearChain"}


def test_a_map_shows_each_view_and_the_readers_whose_rates_are_known(table):
    rows = [["A", 0.3, 0.2, 0.4, 0.1, 0.0, 0.2], ["B", 0.3, 0.2, 0.4, None, None, None]]
    figure = draw_map(table, pd.DataFrame(rows, columns=readers.COLUMNS[:7]), "title")
    assert [axis.get_title("left") for axis in figure.axes] == ["a", "b"]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "A" in texts and "B" not in texts


def test_a_reader_of_real_questions_is_read_as_if_both_facts_were_alike(tmp_path):
    rows = [("right without paragraphs", "a/B", "hotpotqa", "CoT", 25.0, 16.0, 36.0, 30)]
    rows += [("right, all gold paragraphs shown", "a/B", "hotpotqa", "OneR QA", 81, 64, 100, 9)]
    columns = "rate model dataset system mean low high n".split()
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "rates.csv")
    [row] = readers.read_anchor(tmp_path / "rates.csv")
    rates = [row[name] for name in readers.COLUMNS[1:7]]
    assert row["reader"] == "B"
    assert rates == pytest.approx([0.5, 0.4, 0.6, 0.1, 0, 0.2])


def test_a_reader_that_is_model_and_agent_is_measured_once(tmp_path, monkeypatch):
    simulated = {"model": SIMULATED, "datasets": ["musique"], "head_to_head": ["musique"]}
    p = read_parameters("mini", simulated | {"dev": 0, "test": 2})
    setup.open_dataset(p, "musique")  # makes what is not there yet
    for name in ("laboratory", "corpora", "indexes"):
        (tmp_path / name).symlink_to(DATA / name)
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    for of, experiment in ((p, "04_ircot"), (panels_of(p)[0], EXPERIMENT)):
        compare_systems([setup.open_bench(of, "musique", experiment)], choose_systems(["CoT"]), 1)
    names = [*readers.read_readers(p)["reader"]]
    assert names.count(SIMULATED) == 1 and len(names) > 1


def test_facts_are_read_with_the_pages_that_a_prompt_shows(p):
    facts = find_facts(p, "musique")
    entities = facts.world.entities
    name = next(n for n, e in entities.items() if e.kind == "person" and "birthplace" in e.facts)
    place = entities[name].facts["birthplace"]
    right, wrong = (f"{name} was born in {value}." for value in (place, name))
    assert facts.read(right, [name]) == Stated(True, True)
    assert facts.read(wrong, [place]) == Stated(False, False)
    assert facts.read("Nobody Here was born in Aldton.", [name]) is None
    assert facts.read("It rained.", [name]) is None
    page = Paragraph("1", name, "its text")
    texts = [("nothing", right), ("its text", f"{wrong} So the answer is: {place}.")]
    steps = [Step(Retrieve("q", 1), (page,), False)]
    steps += [Step(Generate(prompt, "", 9), reply, False) for prompt, reply in texts]
    outcome = Outcome("", None, tuple(steps))
    assert [*readers.read_stated(outcome, facts)] == [Stated(True, False), Stated(False, True)]


def test_parts_are_worth_what_their_reader_makes_of_them(p):
    known = {"all": {"knows": 1.0} | WELL, "little": LITTLE | WELL}
    names = "retrieval", "verification", "completion"
    parts = [part for part in PARTS if part.system == "SearChain" and part.name in names]
    table = weigh_parts(p.change(abilities_test=20), parts, known)
    assert len(table) == len(parts) * len(known) * 2
    worth = table.set_index(["reader", "temper", "part"])["worth"]
    assert (worth["all"] == 0).all()
    # who makes up has no unsolved query to complete; who does not has no wrong answer to verify
    assert worth["little", "makes it up", "completion"] == 0
    assert worth["little", "says so", "verification"] == 0
    assert worth["little", "makes it up", "verification"] > 50
    assert worth["little", "says so", "completion"] > 50
    figure = draw_parts(table, "title")
    assert [axis.get_title("left") for axis in figure.axes] == [
        f"a reader that {temper} if it does not know" for temper in ("says so", "makes it up")
    ]
