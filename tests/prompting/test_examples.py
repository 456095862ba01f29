"""The examples of prompts/own, of every system and family, read by the system's own program."""

import re
from ast import literal_eval
from itertools import takewhile

import pytest
from replying import FAMILIES, own_demonstrations, play

from ircotlib.data import Paragraph
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.files import PROMPTS
from ircotlib.prompting.demonstrations import (
    find_demonstrations,
    find_examples,
    read_demonstrations,
    read_examples,
)
from ircotlib.prompting.prompt import read_template, render
from ircotlib.systems import all_systems
from ircotlib.systems.cot import read_answer
from ircotlib.systems.dsp import PAIR
from ircotlib.systems.react import OpenPage, read_action, search_page
from ircotlib.systems.searchain import citations, conclude, read_chain
from ircotlib.systems.self_ask import read_asking
from ircotlib.systems.toolformer import CALL
from ircotlib.text import answer_from_chain, list_items, normalise_answer

OWN = PROMPTS / "own"
# their questions are parts of the pool's
OF_PARTS = ("self_ask/read", "decomp/singlehop", "verify_and_edit/answer")


def pool(family):
    """The questions that systems show, in order, and those that only out of distribution are."""
    text = (OWN / f"questions.{family}.txt").read_text(encoding="utf-8")
    shown, _, others = text.partition("\n")[2].partition("# ")
    return shown.splitlines(), others.splitlines()[1:]


def asked(family, block):
    """The number of the pool's question that an example is about."""
    [number] = [n for n, question in enumerate(pool(family)[0]) if question in block]
    return number


@pytest.mark.parametrize("family", FAMILIES)
def test_every_system_shows_the_first_questions_of_the_pool(family):
    """Each file has the form of its template."""
    for path in OWN.glob(f"*/*.{family}.txt"):
        system, stage = path.parent.name, path.name.split(".")[0]
        blocks = read_examples(path, read_template(system, stage))
        assert list(blocks) == own_demonstrations(system, stage, family)
        if f"{system}/{stage}" not in OF_PARTS:
            numbers = [asked(family, block) for block in blocks]
            assert numbers[:8] == [*range(len(blocks[:8]))] and numbers == sorted({*numbers}), path
    shown = read_demonstrations(OWN / family / "demonstrations.txt")
    assert [example.question for example in shown] == pool(family)[0][: len(shown)]


def test_every_data_set_has_a_family_and_keeps_its_first_questions_longest():
    """Demonstrations that do not fit are dropped from the front."""
    assert {dataset.example_family for dataset in all_datasets().values()} == set(FAMILIES)
    for name, dataset in all_datasets().items():
        shown = find_demonstrations(OWN, name, "cot", "codex", 1, 0, dataset.example_family)
        first = pool(dataset.example_family)[0][: len(shown)]
        assert [example.question for example in shown] == first[::-1]
        template = read_template("cot", "cot")
        assert find_examples("prompts/own", "cot", "cot", dataset, template)


def test_counts_are_those_of_searchains_table_11():
    datasets = "hotpotqa musique 2wikimultihopqa strategyqa zsre trex fever eli5".split()
    most, two = [4, 4, 4, 6, 4, 4, 2, 2], [2] * 8
    table = {"Direct Prompting": [0] * 8, "Direct Retrieval": [0] * 8, "Verify-and-Edit": two}
    table |= dict.fromkeys(("ReAct", "ReAct -> CoT-SC"), [6, *most[1:]])
    table |= {"DSP": [16, 8, 8, 8, 8, 8, 2, 2], "SearChain w/o IR": [2, 2, 2, 6, 2, 2, 2, 2]}
    table |= {f"SearChain{less}": two for less in ("", " w/o Verification", " w/o Completion")}
    table |= dict.fromkeys(("InterAug", "DecomP"), [None] * 8)  # not in that table: all of a file
    for name, system in all_systems().items():
        counts = [system.count_examples(find_dataset(dataset)) for dataset in datasets]
        expected = table.get(name, most) if system.study == "SearChain" else [None] * 8
        assert counts == expected, name


def replies_of(system, stage, family):
    """The replies of a model that continues as the examples do: each without its prompt, which is
    the template filled with its question.
    """
    template = read_template(system, stage)
    for block in own_demonstrations(system, stage, family):
        head = {"Question": "Question: "}.get(template.wording.split(":")[0], "Q: ")
        question = block.partition(head)[2].partition("\n")[0]
        example = render((), template.ask(question), "", template).removeprefix("Q: ")
        assert example in block, (example, block)
        yield question, block.partition(example)[2].strip()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_examples_write_is_read_and_has_the_same_answer_in_every_system(family):
    listed = dict(replies_of("least_to_most", "decompose", family))
    answers = {}
    for block in own_demonstrations("least_to_most", "solve", family):
        lines = [line.partition(": ")[2] for line in block.splitlines()]
        *parts, question = lines[::2]
        answers[question] = lines[-1].removesuffix(".")
        assert parts == list_items(listed[question])
        # Least-to-Most lists all sub-questions before any is answered
        for number, answer in enumerate(lines[1:-2:2], start=1):
            assert not any(normalise_answer(answer) in normalise_answer(q) for q in parts[number:])
    for stage in ("cot/cot", "plan_and_solve/solve"):
        for question, chain in replies_of(*stage.split("/"), family):
            result = read_answer(chain)
            assert (result.answer, result.fault) == (answers[question], ""), question
    for question, text in replies_of("self_ask", "ask", family):
        result = read_asking(text)
        assert (result.answer, result.fault) == (answers[question], ""), question
        assert text.count("Follow up:") == text.count("Intermediate answer:") >= 2
    for block in own_demonstrations("dsp", "demonstrate", family):
        [(question, answer)] = PAIR.findall(block)
        assert answer.removesuffix(".").lower() == answers.get(question, answer).lower()
    for block in own_demonstrations("toolformer", "write", family):
        assert CALL.search(block.partition("→")[0]) and answer_from_chain(block)
    *known, unknown = own_demonstrations("self_ask", "read", family)
    for block in known:
        shown, answer = block.rpartition("\nA: ")[::2]
        assert answer.lower() in shown.partition("\nQ: ")[0].lower()
    assert unknown.endswith("\nA: unknown")


STEP = re.compile(r"^Action \d: (.+)\nObservation \d: (.+)$", re.MULTILINE)


@pytest.mark.parametrize("family", FAMILIES)
def test_react_observes_what_its_examples_say(family):
    """A page that is looked up has more than the sentences that a search shows."""
    for example in own_demonstrations("react", "act", family):
        verbs = [read_action(a)[0] for a in re.findall(r"^Action \d: (.*)$", example, re.M)]
        assert all(verbs) and verbs.index("finish") == len(verbs) - 1
        steps = [(*read_action(action), observed) for action, observed in STEP.findall(example)]
        for number, (verb, text, observed) in enumerate(steps):
            if observed.startswith("Could not find"):
                titles = literal_eval(observed.partition("Similar: ")[2].removesuffix("."))
                assert len(titles) == 5 and text not in titles
                assert play(search_page(text), [tuple(titles)])[1] == ((), observed)
            elif verb == "search":
                looked_up = takewhile(lambda step: step[0] == "lookup", steps[number + 1 :])
                below = [shown.partition(") ")[2] for _, _, shown in looked_up]
                paragraph = Paragraph("p", text, " ".join([observed, *below]))
                paragraphs, seen = play(search_page(text), [(text,), (paragraph,)])[1]
                assert seen == observed
                page = OpenPage(paragraphs)
            else:
                assert page.look_up(text) == observed


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stage", ["chain", "without_ir"])
def test_searchains_examples_are_chains_whose_final_content_cites_each_pair(stage, family):
    for number, block in enumerate(own_demonstrations("searchain", stage, family)):
        chain = read_chain(block)
        assert chain.fault == "" and len(chain.nodes) > 1
        assert not any(node.unsolved for node in chain.nodes)
        cited = {n for marks in citations(chain.final) for n in marks}
        assert cited == {node.number for node in chain.nodes}
        assert ("[Unsolved Query]" in block) is (stage == "chain" and number == 0)
        assert family == "eli5" or conclude([chain])[0] != chain.final
