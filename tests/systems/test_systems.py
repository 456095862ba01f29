"""The registry of systems: the papers' constants, data/systems.csv, and a plug-in."""

import pandas
import pytest

from ircotlib.datasets import find_dataset
from ircotlib.files import REPORTED
from ircotlib.parameters import grid_names
from ircotlib.plugins import import_plugins
from ircotlib.prompting.templates import read_template
from ircotlib.systems import (
    ANSWER,
    IRCOT,
    NEWER,
    OWN,
    RECALL,
    SEARCHAIN,
    SETS,
    WILD,
    all_systems,
    choose_systems,
    shipped,
)
from ircotlib.systems.rewrites import REWRITES


def test_the_grids_are_the_papers():
    """IRCoT §4.1; the readers' M is tied to the retriever's."""
    grids = {system.name: dict(system.grid) for system in choose_systems()}
    once, ircot_grid = (5, 7, 9, 11, 13, 15), {"k": (2, 4, 6, 8), "m": (1, 2, 3)}
    ircots = dict.fromkeys(("IRCoT", "IRCoT QA w/o reader", "IRCoT QA"), ircot_grid)
    oners = {"OneR": {"k": once}, "OneR QA": {"k": once, "m": (1, 2, 3)}}
    assert list(grids.items()) == [*({"NoR QA": {}} | oners | ircots).items()]


REACT = {"max_actions": 7, "n": 21, "temperature": 0.7}  # ReAct §3.2
# SearChain §4.1
SEARCHAINS = {"max_rounds": 5, "confidence": 1.5, "overlap": 0.35}
CONSTANTS = {  # the papers' and their released programs'
    "IRCoT": {"max_steps": 8, "max_paragraphs": 15, "max_tokens": 200},
    "Auto-CoT": {"examples": 4, "max_tokens": 256},
    "CoT-SC": {"n": 40, "temperature": 0.7},
    "Recite-and-answer": {
        "n": 20,
        "temperature": 0.7,
        "recite_tokens": 128,
        "max_tokens": 16,
    },
    "Plan-and-Solve": {"max_tokens": 256, "answer_tokens": 32},
    "ToolFormer": {"max_calls": 1},
    "ReAct -> CoT-SC": REACT | {"tokens": 100},
    "Verify-and-Edit": {"n": 5, "temperature": 0.7, "shown": 3, "max_tokens": 144},
    "Tree-of-Thought w/ IR": {"n": 5, "votes": 5, "temperature": 0.7},
    "DSP": {"annotated": 3, "hops": 2, "queries": 10, "depth": 15, "k": 5, "n": 20},
    "InterAug": {"k": 50, "length": 6},
    **dict.fromkeys(("SearChain", "SearChain w/o Verification"), SEARCHAINS),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constants_of_the_papers(name):
    assert all_systems()[name].defaults.items() >= CONSTANTS[name].items()


def test_every_system_is_a_row_of_the_table_and_known_to_the_papers():
    systems, reported = all_systems(), set(pandas.read_csv(REPORTED)["system"])
    assert list(systems) == list(shipped()) and len(systems) == 29 + 16
    for system in systems.values():
        # of which gains are reported
        assert {*system.reported_names} <= reported | {"OneR"}
        assert system.tuned_by in (ANSWER, RECALL) and system.family[0] != OWN
        for stage in system.stages:
            read_template(system.templates, stage)
        assert ", https://" in system.paper or system.name == "Gold QA"
        assert system.study in (IRCOT, SEARCHAIN, WILD, NEWER)
    assert [name for name, s in systems.items() if s.tuned_by == RECALL] == [
        "OneR",
        "IRCoT",
    ]
    by_sets = [name for name, s in systems.items() if s.demonstrated_by == SETS]
    assert by_sets == ["IRCoT", "IRCoT QA w/o reader", "IRCoT QA", *REWRITES]


def test_measures_are_those_of_the_papers():
    systems = all_systems()
    measures = {
        "OneR": RECALL,
        "IRCoT QA": "f1",
        "CoT": "cover_em",
        "SearChain": "cover_em",
    }
    for name, measure in measures.items():
        assert systems[name].measure(find_dataset("musique")) == measure
    assert systems["SearChain"].measure(find_dataset("eli5")) == "rouge_l"


def test_samples_are_limited_and_the_style_limits_the_texts_of_ircots_systems():
    systems = all_systems()
    assert systems["DSP"].draw_at_most(5) == {"n": 5, "queries": 5}
    assert systems["Tree-of-Thought w/ IR"].draw_at_most(4) == {"n": 4, "votes": 4}
    assert systems["DSP"].draw_at_most(None) == {}
    assert systems["InterAug"].draw_at_most(5) == {}
    assert systems["ReAct -> CoT-SC"].tokens == {"tokens": 100, "max_tokens": 256}
    assert systems["IRCoT QA"].tokens == systems["OneR QA"].tokens == {}


def test_every_number_of_samples_and_limit_in_tokens_is_declared():
    for each in all_systems().values():
        asked = {*each.defaults} & {"n", "votes", "queries"}
        tokens = {name for name in each.defaults if name.endswith("tokens")}
        if each.name != "InterAug":
            assert {*each.draws} == asked, each.name
            assert {"max_tokens", *each.limits} >= tokens, each.name


MINE = """
from ircotlib.data import Prediction
from ircotlib.program import Retrieve
from ircotlib.systems import system


@system("Two steps", k=(2, 4), ask="asks again")
def two_steps(question, *, read, k, n=100, max_tokens=9, **setting):
    first = yield Retrieve(question.text, 1)
    found = yield Retrieve(first[0].title, k)
    answer, reading = yield from read(question, (*first, *found))
    return Prediction(answer, (*first, *found), reading=reading)
"""


def test_a_file_in_the_folder_is_a_system(plugins):
    (plugins / "mine.py").write_text(MINE)
    mine = all_systems()["Two steps"]
    assert list(all_systems())[-1] == "Two steps" and choose_systems()[-1] is mine
    assert (mine.module, mine.reads) == ("mine", True)
    assert mine.stages == {"ask": "asks again"}
    assert mine.grid == {"k": (2, 4)}
    # only what is declared is limited
    assert mine.draw_at_most(5) == {} and mine.tokens == {"max_tokens": 9}
    assert mine.count_examples(find_dataset("fever")) is None
    assert choose_systems(["IRCoT", "Two steps"])[1] is mine
    assert "mine_k" in grid_names()
    with pytest.raises(ValueError, match="unknown system 'Two step', expected Two st"):
        choose_systems(["Two step"])
    for number, name in enumerate(("Two-steps", "two steps", "Two/ steps")):
        path = plugins / f"other{number}.py"
        path.write_text(MINE.replace("Two steps", name))
        import_plugins.cache_clear()
        with pytest.raises(ValueError, match=f"two systems .*{name!r}.* one folder"):
            all_systems()
        path.unlink()
