"""What 15_abilities compares: changes of the reader or its retriever, and the parts of systems."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from ircotlib.results.abilities.map import ALIKE, RIVALS, STEP_BY_STEP
from ircotlib.results.abilities.simulation import Simulation
from ircotlib.running.laboratory import explain_dials
from ircotlib.systems import all_systems

DATASET = "musique"  # whose questions have up to four steps
SYSTEMS = {name: (RIVALS | STEP_BY_STEP | ALIKE)[name] for name in ("CoT", "OneR QA", "DSP")}
SYSTEMS |= STEP_BY_STEP | ALIKE | {"SearChain": {}}
# a reader of middling abilities
BASE = {"knows": 0.5, "misreads": 0.1, "makes_up": 0.5, "coincide": 0.5}
BASE |= {"extractor_misreads": 0.1, "extractor_invents": 0.1}
DIALS = {"knows": 0.8, "misreads": 0.3, "confirms": 1.0, "varies": 1.0, "distracted": 0.1}
DIALS |= {"obeys": 0.5, "makes_up": 1.0, "misplans": 0.1, "wanders": 0.1, "asks_known": 1.0}
DIALS |= {"breaks_form": 0.1, "rereads": 0.0, "proposes_wrong": 1.0, "misvotes": 0.3}
DIALS |= {"extractor_misreads": 0.3, "extractor_invents": 0.3, "coincide": 1.0}
RETRIEVER = {"misses": 0.2, "distractors": 0.4}

READERS = {
    f"knows {know} ({known:.0%}), reads {well} ({1 - wrong:.0%})": {
        "knows": known,
        "misreads": wrong,
        "extractor_misreads": wrong,
        "extractor_invents": wrong,
        "coincide": 0.5,
    }
    for (know, known), (well, wrong) in product(
        (("little", 0.2), ("much", 0.8)), (("well", 0.05), ("badly", 0.3))
    )
}
READERS |= {"knows nothing, reads all": {}}
SAYS_SO, MAKES_UP = "says so", "makes it up"
TEMPERS = {SAYS_SO: {"makes_up": 0.0}, MAKES_UP: {"makes_up": 1.0}}
UNERRING = {"extractor_misreads": 0.0, "extractor_invents": 0.0}


class SystemPart(NamedTuple):
    """A part of a system, by name, and how to simulate it without: another system or setting, other
    dials of the reader, or other parameters.
    """

    system: str
    name: str
    other: str
    setting: Mapping = {}
    dials: Mapping = {}
    changes: Mapping = {}


PARTS = (
    SystemPart("SearChain", "retrieval", "SearChain w/o IR"),
    SystemPart("SearChain", "verification", "SearChain w/o Verification"),
    SystemPart("SearChain", "completion", "SearChain w/o Completion"),
    SystemPart("SearChain", "errors of the extractor", "SearChain", dials=UNERRING),
    SystemPart("SearChain", "rounds 3 to 5", "SearChain", {"max_rounds": 2}),
    SystemPart("IRCoT QA", "retrieval", "NoR QA"),
    SystemPart("IRCoT QA", "retrieval after the first", "OneR QA", {"k": 15}),
    SystemPart("IRCoT QA", "the reader", "IRCoT QA w/o reader", {"k": 4}),
    SystemPart("IRCoT QA", "K = 4, not 2", "IRCoT QA", {"k": 2}),
    SystemPart("IRCoT QA", "K = 4, not 8", "IRCoT QA", {"k": 8}),
    SystemPart("IRCoT QA", "sentences 3 to 8", "IRCoT QA", {"k": 4}, changes={"max_steps": 2}),
    SystemPart("Self-Ask", "retrieval", "Self-Ask w/o IR"),
    SystemPart("Self-Ask", "reading by the model", "Self-Ask", {"extract": True}, UNERRING),
    SystemPart("DSP", "the second hop", "DSP", {"hops": 1}),
    SystemPart("DSP", "two hops, not four", "DSP", {"hops": 4}),
)

Change = tuple[Mapping, Simulation, Simulation]  # labels, before and after


def change_reader() -> Iterator[Change]:
    """For each of SYSTEMS, each of DIALS and RETRIEVER changed, and the extractive reader offered
    to those that ask or state single facts: labelled `change` and `system`.
    """
    now = explain_dials().set_index("dial")["default"].to_dict() | BASE
    for name, setting in SYSTEMS.items():
        base = Simulation(DATASET, name, BASE, setting)
        for dial, value in DIALS.items():
            label = {"change": f"{dial}: {now[dial]:g} → {value:g}", "system": name}
            yield label, base, Simulation(DATASET, name, BASE | {dial: value}, setting)
        for error, value in RETRIEVER.items():
            label = {"change": f"retriever {error}: 0 → {value:g}", "system": name}
            yield label, base, Simulation(DATASET, name, BASE, setting, retrieval={error: value})
        if "extract" in all_systems()[name].equal:
            label = {"change": "reads by the extractor", "system": name}
            yield label, base, Simulation(DATASET, name, BASE, setting | {"extract": True})


def take_parts() -> Iterator[Change]:
    """Each of PARTS added to its system, for each of READERS, which says so if it does not know
    something, or makes it up: labelled `part`, `reader` and `temper`.
    """
    of_systems = SYSTEMS | RIVALS
    for (reader, dials), (temper, made_up), part in product(
        READERS.items(), TEMPERS.items(), PARTS
    ):
        label = {"part": f"{part.system}: {part.name}", "reader": reader, "temper": temper}
        dials = dials | made_up
        others = dials | dict(part.dials)
        without = Simulation(DATASET, part.other, others, part.setting, part.changes)
        yield label, without, Simulation(DATASET, part.system, dials, of_systems[part.system])
