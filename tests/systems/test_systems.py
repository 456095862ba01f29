"""The registry of systems: the papers' constants, data/systems.csv, and a plug-in."""

from pathlib import Path

import pandas
import pytest

from ircotlib import program
from ircotlib.datasets import find_dataset
from ircotlib.files import REPORTED
from ircotlib.parameters import grid_names
from ircotlib.prompting.templates import read_template
from ircotlib.systems import (
    ANSWER,
    OWN,
    RECALL,
    SEARCHAIN,
    all_systems,
    choose_systems,
    read_table,
)


def test_the_grids_are_the_papers():
    """IRCoT §4.1; the readers' M is tied to the retriever's."""
    grids = {system.name: dict(system.grid) for system in choose_systems()}
    once, ircot_grid = (5, 7, 9, 11, 13, 15), {"k": (2, 4, 6, 8), "m": (1, 2, 3)}
    ircots = dict.fromkeys(("IRCoT", "IRCoT QA w/o reader", "IRCoT QA"), ircot_grid)
    oners = {"OneR": {"k": once}, "OneR QA": {"k": once, "m": (1, 2, 3)}}
    assert list(grids.items()) == [*({"NoR QA": {}} | oners | ircots).items()]


SEARCHAINS = dict(max_rounds=5, confidence=1.5, overlap=0.35, k=1, same=0.5, long_form=False)
SEARCHAINS |= {"verify": True, "complete": True, "max_tokens": 512, "released": False}
SEARCHAINS |= {"chat": False}
CONSTANTS = {  # the papers', their released programs', and ours
    "IRCoT": dict(max_steps=8, max_paragraphs=15, max_tokens=200, sentence=program.SENTENCE)
    | {"released": False},
    "Direct Prompting": dict(max_tokens=200),
    "Auto-CoT": dict(examples=4, seed=0, max_tokens=256),
    "CoT": dict(max_tokens=256),
    "CoT-SC": dict(n=40, temperature=0.7, max_tokens=256),
    "Recite-and-answer": dict(n=20, temperature=0.7, recite_tokens=128, max_tokens=16),
    "Self-Ask w/o IR": dict(begun="", max_tokens=256),
    "Least-to-Most": dict(max_questions=8, max_tokens=256),
    "Plan-and-Solve": dict(max_tokens=256, answer_tokens=32),
    "Direct Retrieval": dict(k=5, max_tokens=200),
    "ToolFormer": dict(max_calls=1, k=1, max_tokens=200),
    "Self-Ask": dict(begun="", k=1, max_follow_ups=8, max_tokens=256),
    "Plan-and-Solve w/ IR": dict(k=1, max_searched=8, max_tokens=256, answer_tokens=32),
    "ReAct": dict(max_actions=7, tokens=100, by_title=True),
    "ReAct -> CoT-SC": dict(n=21, temperature=0.7, max_actions=7, tokens=100, by_title=True)
    | {"max_tokens": 256},
    "Verify-and-Edit": dict(n=5, temperature=0.7, k=5, shown=3, always_edit=False)
    | {"max_tokens": 144, "edit_tokens": 70, "answer_tokens": 70},
    "Tree-of-Thought w/ IR": dict(n=5, votes=5, b=1, temperature=0.7, depth=4, k=3)
    | {"max_tokens": 1000},
    "DSP": dict(annotated=3, hops=2, queries=10, depth=15, k=5, n=20, temperature=0.7)
    | {"max_tokens": 150},
    "InterAug": dict(k=50, n=1, temperature=0.7, length=6, tokens=50),
    "DecomP": dict(k=4, max_calls=8, max_tokens=200),
    "SearChain w/o IR": dict(long_form=False, max_tokens=512),
    "SearChain w/o Verification": SEARCHAINS,
    "SearChain w/o Completion": SEARCHAINS,
    "SearChain": SEARCHAINS,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constants_of_the_papers(name):
    defaults = all_systems()[name].defaults.items()
    constants = {key: value for key, value in defaults if isinstance(value, int | float | str)}
    assert constants == CONSTANTS[name]


def test_every_system_is_a_row_of_the_table_and_known_to_the_papers():
    systems, reported = all_systems(), set(pandas.read_csv(REPORTED)["system"])
    assert list(systems) == list(read_table()) and len(systems) == 29
    assert {system.name for system in choose_systems(study=SEARCHAIN)} < set(CONSTANTS)
    for system in systems.values():
        assert {*system.reported_names} <= reported | {"OneR"}  # of which gains are reported
        assert system.tuned_by in (ANSWER, RECALL) and system.family[0] != OWN
        for stage in system.stages:
            read_template(system.folder, stage)
    assert [name for name, s in systems.items() if s.tuned_by == RECALL] == ["OneR", "IRCoT"]
    assert [name for name, s in systems.items() if s.shows_sets and not s.reads] == [
        "IRCoT",
        "IRCoT QA w/o reader",
    ]


def test_measures_are_those_of_the_papers():
    systems = all_systems()
    measures = {"OneR": RECALL, "IRCoT QA": "f1", "CoT": "cover_em", "SearChain": "cover_em"}
    for name, measure in measures.items():
        assert systems[name].measure(find_dataset("musique")) == measure
    assert systems["SearChain"].measure(find_dataset("eli5")) == "rouge_l"


def test_what_is_sampled_is_limited_and_the_style_limits_what_ircots_systems_write():
    systems = all_systems()
    assert systems["DSP"].draw_at_most(5) == {"n": 5, "queries": 5}
    assert systems["Tree-of-Thought w/ IR"].draw_at_most(4) == {"n": 4, "votes": 4}
    assert systems["DSP"].draw_at_most(None) == systems["InterAug"].draw_at_most(5) == {}
    assert systems["ReAct -> CoT-SC"].tokens == {"tokens": 100, "max_tokens": 256}
    assert systems["IRCoT QA"].tokens == systems["OneR QA"].tokens == {}


MINE = """
from ircotlib.data import Prediction
from ircotlib.program import Retrieve
from ircotlib.systems import system


@system("Two steps", k=(2, 4), ask="asks again")
def two_steps(question, *, read, k, **setting):
    first = yield Retrieve(question.text, 1)
    found = yield Retrieve(first[0].title, k)
    answer, reading = yield from read(question, (*first, *found))
    return Prediction(answer, (*first, *found), reading=reading)
"""


def test_a_file_in_the_folder_is_a_system(plugins):
    (plugins / "mine.py").write_text(MINE)
    mine = all_systems()["Two steps"]
    assert list(all_systems())[-1] == "Two steps" and choose_systems()[-1] is mine
    assert (mine.module, mine.shows_sets, mine.reads) == ("mine", True, True)
    assert (mine.grid, mine.purpose("ask")) == ({"k": (2, 4)}, "Two steps asks again")
    assert not mine.takes("prompts") and mine.count_examples(find_dataset("fever")) is None
    assert choose_systems(["IRCoT", "Two steps"])[1] is mine
    assert "mine_k" in grid_names()
    with pytest.raises(ValueError, match="found the system 'Three', expected some of NoR QA, "):
        choose_systems(["Three"])


def test_two_systems_of_one_name_are_refused(plugins):
    (plugins / "mine2.py").write_text(MINE.replace("Two steps", "OneR"))
    with pytest.raises(ValueError, match="found two systems named 'OneR'"):
        all_systems()


def test_every_file_of_the_folder_registers_systems_or_serves_them():
    names = {path.stem for path in Path(program.__file__).with_name("systems").glob("*.py")}
    assert names - {system.module for system in all_systems().values()} == {
        "__init__",
        "main_passage",
        "readers",
    }
