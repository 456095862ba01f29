"""The examples of prompts/own, of every system and family, read by its program."""

import pytest

from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.files import PROMPTS
from ircotlib.prompting.demonstrations import (
    find_demonstrations,
    find_examples,
    read_demonstrations,
    read_examples,
)
from ircotlib.prompting.prompt import read_template
from ircotlib.systems import all_systems
from ircotlib.systems.searchain import citations, conclude, read_chain

OWN = PROMPTS / "own"
# of data sets: share examples
FAMILIES = ("multihop", "strategyqa", "slotfilling", "fever", "eli5")
# their questions are parts of the pool's
OF_PARTS = ("self_ask/read", "decomp/singlehop", "verify_and_edit/answer")


def pool(family):
    """The questions that systems show, in order, and those out of distribution."""
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
        blocks = read_examples(path)
        assert path.read_text(encoding="utf-8").startswith("# ")
        words = read_template(system, stage).wording.partition("{question}")[0]
        assert all(words in block for block in blocks), path
        if f"{system}/{stage}" not in OF_PARTS:
            numbers = [asked(family, block) for block in blocks]
            assert numbers[:8] == [*range(len(blocks[:8]))], path
            assert numbers == sorted({*numbers}), path
    shown = read_demonstrations(OWN / family / "demonstrations.txt")
    assert [example.question for example in shown] == pool(family)[0][: len(shown)]


def test_every_data_set_has_a_family_and_keeps_its_first_questions_longest():
    """Demonstrations that do not fit are dropped from the front."""
    families = {name: data.example_family for name, data in all_datasets().items()}
    assert {*families.values()} == {*FAMILIES}
    for name, dataset in all_datasets().items():
        shown = find_demonstrations(OWN, name, "cot", "codex", 1, 0, families[name])
        first = pool(families[name])[0][: len(shown)]
        assert [example.question for example in shown] == first[::-1]
        assert find_examples("prompts/own", "cot", "cot", dataset.example_family)


def test_counts_are_those_of_searchains_table_11():
    datasets = ("hotpotqa", "musique", "2wikimultihopqa", "strategyqa")
    datasets += ("zsre", "trex", "fever", "eli5")
    most = [4, 4, 4, 6, 4, 4, 2, 2]
    table = {
        **dict.fromkeys(("Direct Prompting", "Direct Retrieval"), [0] * 8),
        **dict.fromkeys(("ReAct", "ReAct -> CoT-SC"), [6, *most[1:]]),
        "DSP": [16, 8, 8, 8, 8, 8, 2, 2],
        **dict.fromkeys(("Verify-and-Edit", "SearChain"), [2] * 8),
        **dict.fromkeys(
            ("SearChain w/o Verification", "SearChain w/o Completion"), [2] * 8
        ),
        "SearChain w/o IR": [2, 2, 2, 6, 2, 2, 2, 2],
        **dict.fromkeys(("InterAug", "DecomP"), [None] * 8),  # not in it: all of a file
    }
    for name, system in all_systems().items():
        counts = [system.count_examples(find_dataset(dataset)) for dataset in datasets]
        expected = table.get(name, most) if system.study == "SearChain" else [None] * 8
        assert counts == expected, name


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stage", ["chain", "without_ir"])
def test_searchains_examples_are_chains_that_cite_each_pair(stage, family):
    examples = read_examples(OWN / f"searchain/{stage}.{family}.txt")
    for number, block in enumerate(examples):
        chain = read_chain(block)
        assert chain.fault == "" and len(chain.nodes) > 1
        assert not any(node.unsolved for node in chain.nodes)
        cited = {n for marks in citations(chain.final) for n in marks}
        assert cited == {node.number for node in chain.nodes}
        assert ("[Unsolved Query]" in block) is (stage == "chain" and number == 0)
        assert family == "eli5" or conclude([chain])[0] != chain.final
