"""The records of systems, and what systems cost."""

from dataclasses import replace

import pandas
import pytest
from replying import LOST, QUESTION, drawn

from ircotlib import program
from ircotlib.datasets import find_dataset
from ircotlib.files.paths import REPORTED
from ircotlib.parameters import grid_names
from ircotlib.prompting.examples import find_examples
from ircotlib.prompting.prompt import Prompt
from ircotlib.prompting.templates import read_template
from ircotlib.systems import ANSWER, CLOSED, RECALL, SEARCHAIN, all_systems, choose_systems
from ircotlib.systems.searchain import ABLATIONS


def test_the_grids_are_the_papers():
    """IRCoT §4.1; the readers' M is tied to the retriever's."""
    grids = {system.name: dict(system.grid) for system in choose_systems()}
    once, ircot_grid = (5, 7, 9, 11, 13, 15), {"k": (2, 4, 6, 8), "m": (1, 2, 3)}
    ircots = dict.fromkeys(("IRCoT", "IRCoT QA", "IRCoT QA w/o reader"), ircot_grid)
    oners = {"OneR": {"k": once}, "OneR QA": {"k": once, "m": (1, 2, 3)}}
    assert grids == {"NoR QA": {}} | oners | ircots


CONSTANTS = {  # the papers', their released programs', and ours
    "IRCoT": dict(max_steps=8, max_paragraphs=15, max_tokens=200, sentence=program.SENTENCE)
    | {"released": False, "extract": False, "confidence": 1.5},
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
    "Self-Ask": dict(begun="", k=1, extract=False, max_follow_ups=8, max_tokens=256),
    "Plan-and-Solve w/ IR": dict(k=1, max_searched=8, max_tokens=256, answer_tokens=32),
    "ReAct": dict(max_actions=7, tokens=100, by_title=True, extract=False, confidence=1.5),
    "ReAct -> CoT-SC": dict(n=21, temperature=0.7, max_actions=7, tokens=100)
    | {"by_title": True, "extract": False, "confidence": 1.5, "max_tokens": 256},
    "Verify-and-Edit": dict(n=5, temperature=0.7, k=5, shown=3, always_edit=False, extract=False)
    | {"max_tokens": 144, "edit_tokens": 70, "answer_tokens": 70},
    "Tree-of-Thought w/ IR": dict(n=5, votes=5, b=1, temperature=0.7, depth=4, k=3)
    | {"max_tokens": 1000},
    "DSP": dict(annotated=3, hops=2, queries=10, depth=15, k=5, n=20, temperature=0.7)
    | {"max_tokens": 150},
    "InterAug": dict(k=50, n=1, temperature=0.7, length=6, tokens=50),
    "DecomP": dict(k=4, extract=False, max_calls=8, max_tokens=200),
    "SearChain w/o IR": dict(long_form=False, max_tokens=512),
    "SearChain": dict(max_rounds=5, confidence=1.5, overlap=0.35, k=1, same=0.5, long_form=False)
    | {"verify": True, "complete": True, "max_tokens": 512, "released": False, "chat": False},
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constants_of_the_papers(name):
    defaults = all_systems()[name].defaults.items()
    constants = {key: value for key, value in defaults if isinstance(value, int | float | str)}
    assert constants == CONSTANTS[name]


def test_with_equal_tools_all_that_retrieve_tune_k_and_all_that_ask_have_the_second_reader():
    study = choose_systems(study=SEARCHAIN) + [all_systems()["IRCoT QA"]]
    retrieve = [system for system in study if system.family[0] != CLOSED]
    by_page = {"ReAct", "ReAct -> CoT-SC"}  # a search opens one page
    parts = {"SearChain w/o IR", *ABLATIONS}
    tuned = {system.name for system in retrieve if "k" in (*system.grid, *system.equal)}
    assert {system.name for system in retrieve} - tuned == by_page | parts
    extract = {system.name for system in study if "extract" in system.equal}
    assert extract == by_page | {"Self-Ask", "DecomP", "Verify-and-Edit", "IRCoT QA"}
    assert all(system.takes(name) for system in study for name in system.equal)


def test_every_record_is_whole_and_known_to_the_papers():
    systems, reported = all_systems(), set(pandas.read_csv(REPORTED)["system"])
    study = choose_systems(study=SEARCHAIN)
    assert {system.name for system in study if system.inner is None} < set(CONSTANTS)
    names = ["NoR QA", "OneR", "OneR QA", "IRCoT", "IRCoT QA w/o reader", "IRCoT QA"]
    assert [system.name for system in choose_systems()] == names
    for system in systems.values():
        printed = reported | {"OneR"}  # to which the papers' gains in recall refer
        assert set(system.reported_names) <= printed
        assert set(system.better_than) <= set(systems)
        assert system.tuned_by in (ANSWER, RECALL)
        for stage in system.stages:
            read_template(system.module, stage)


MINE = """
from ircotlib.data import Prediction
from ircotlib.program import Retrieve
from ircotlib.systems import System


def two_steps(question, *, read, k):
    first = yield Retrieve(question.text, 1)
    found = yield Retrieve(first[0].title, k)
    answer, reading = yield from read(question, (*first, *found))
    return Prediction(answer, (*first, *found), reading=reading)


SYSTEMS = (System("Two steps", two_steps, grid={"k": (2, 4)}, order=25, color="teal"),)
"""


def test_a_file_in_the_folder_is_a_system(plugins):
    (plugins / "mine.py").write_text(MINE)
    assert list(all_systems()).index("Two steps") == 3  # after OneR QA, because of its `order`
    mine = all_systems()["Two steps"]
    assert (mine.module, mine.shows_sets, mine.reads) == ("mine", True, True)
    assert not mine.takes("prompts")
    assert choose_systems(["IRCoT", "Two steps"])[0] is mine
    assert "mine_k" in grid_names()
    with pytest.raises(ValueError, match="found the system 'Three', expected some of NoR QA, "):
        choose_systems(["Three"])


def test_two_systems_of_one_name_are_refused(plugins):
    (plugins / "mine2.py").write_text(MINE.replace("Two steps", "OneR"))
    with pytest.raises(ValueError, match="found two systems named 'OneR'"):
        all_systems()


def test_a_claim_about_a_system_that_does_not_exist_is_refused(plugins):
    """Its pair would never be compared, in silence."""
    claim = MINE.replace("order=25", 'better_than=("OneR QA", "Three"), order=25')
    (plugins / "mine.py").write_text(claim)
    with pytest.raises(ValueError, match="'Two steps' is better than 'Three', .*some of NoR QA, "):
        all_systems()


def test_what_searchain_claims_is_in_its_table_1():
    """It beats all systems that retrieve on every data set, and the others on average (§4.2)."""
    reported = pandas.read_csv(REPORTED).query("paper == 'searchain' and source == 'Table 1'")
    values = reported.pivot_table("value", "dataset", "system")
    study = {system.name: system for system in choose_systems(study=SEARCHAIN)}
    claims = {name: system.better_than for name, system in study.items() if system.better_than}
    assert set(claims) == {"SearChain", "SearChain w/o IR"} and len(values) == 8
    for name, worse in claims.items():
        best = values[study[name].reported_names[0]]
        leads = [best - values[study[other].reported_names[0]] for other in worse]
        assert all(lead.mean() > 0 for lead in leads)
        assert name != "SearChain" or all((lead > 0).all() for lead in leads)
    compared = {name for name, s in study.items() if 200 <= s.order < 300 and name != "ReAct"}
    assert compared | {"SearChain w/o IR", *ABLATIONS} <= set(claims["SearChain"])


LIST = "\n".join(f"{number}. Who is number {number}?" for number in range(1, 12))
REPLIES = {  # replies that keep a system running as long as possible
    "nothing": "",
    "a follow up question": "Follow up: Who?",
    "an action": "hm\nAction {n}: Search[x]",
    "a thought alone": "hm",
    "a call of retrieval": "(select) [retrieve_odqa] Who?",
    "a call of a tool": "[WikiSearch(who)",
    "a list": LIST,
    "a wrong answer": "[Query 1]: Who is number {n}?\n[Answer 1]: nobody",
    "an unsolved query": "[Unsolved Query]: Who is number {n}?",
    "what is not known": "Follow up: Who?|unknown",  # the second reply for requests of few tokens
    "facts": "First, a is {n}. Second, b. Third, c. Fourth, d. Fifth, e. Sixth, f. Seventh, g. "
    "Eighth, h. The answer is {n}.",
}


def count_texts(system, reply: str) -> int:
    """How many texts a program asks for, if all replies are the same except for their number."""
    prompts, multihop = {}, find_dataset("hotpotqa")
    for stage in system.stages:
        template = read_template(system.module, stage)
        shown = find_examples("prompts/own", system.module, stage, multihop, template)
        prompts[stage] = Prompt(shown, len, template, 10**9)
    others = {"others": (QUESTION,)} if system.takes("others") else {}
    playing, answer, texts = system.program(QUESTION, prompts=prompts, **others), None, 0
    for number in range(10_000):
        try:
            request = playing.send(answer)
        except StopIteration:
            return texts
        match request:
            case program.Retrieve(_, k):
                answer = tuple(replace(LOST, id=str(n)) for n in range(k))
            case program.NearestTitle(title):
                answer = (title,)
            case program.Extract():
                answer = program.Extracted("somebody", 9.0)
            case program.Duplicate():
                answer = 0.0
            case program.Generate():
                long, _, short = reply.replace("{n}", str(number)).partition("|")
                texts, answer = texts + 1, short if short and request.max_tokens == 32 else long
            case program.Sample(_, n):
                written = [reply.replace("{n}", f"{number}{i}") for i in range(n)]
                texts, answer = texts + n, drawn(*written)
    raise AssertionError(f"{system.name} does not end")


@pytest.mark.parametrize("name", [system.name for system in choose_systems(study=SEARCHAIN)])
def test_a_system_has_no_more_texts_written_than_its_record_says(name):
    system = all_systems()[name]
    counted = {kind: count_texts(system, reply) for kind, reply in REPLIES.items()}
    most = system.generations or len(system.stages)
    assert max(counted.values()) == most, counted
