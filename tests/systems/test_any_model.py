"""Every system of SearChain's study ends with a prediction, whatever a model writes."""

import random

import pytest
from replying import writers

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import Generate, NearestTitle, Retrieve, Sample, Sampled
from ircotlib.systems import SEARCHAIN, choose_systems

QUESTION = Question("q", "Where is Oslo {n}?", ("Norway",), (), "test")
CORPUS = [
    Paragraph(str(i), f"Page {i}", f"Page {i} [is] {{one}}. It is old.")
    for i in range(9)
]
PIECES = ["", "Oslo", "\n", "The answer is", "The answer is Oslo.", " answer is: ", "→"]
PIECES += ["[EOQ]", "Action 1: ", "\nAction 2: ", "Search[Page 1]", "Lookup[old]"]
PIECES += ["Finish[]", "Finish[a]", "[WikiSearch(Page 2)", "]", "The best choice is 2"]
PIECES += ["best choice is 99", "First, ", "\nSearch Query: a", "\nAnswer: b"]
PIECES += ["(select) [retrieve_odqa] a", "{question}", "..."]
PIECES += ['(select) [multihop_titleqa] Titles: ["Page 1", 2]. Question: c']
PIECES += ["(select) [x] y"]
MODULES = ("direct_retrieval", "react", "dsp", "verify_and_edit", "toolformer")
MODULES += ("tree_of_thought", "interaug", "decomp")
SYSTEMS = [s for s in choose_systems(study=SEARCHAIN) if s.module in MODULES]


def write(chance):
    return "".join(chance.choices(PIECES, k=chance.choice((0, 1, 1, 2, 5)))).strip()


def answer(request, chance):
    match request:
        case Retrieve():
            return tuple(chance.sample(CORPUS, chance.randint(0, min(request.k, 4))))
        case NearestTitle():
            titles = [request.title] if chance.random() < 0.5 else []
            return tuple(titles + ["Page 3"] * (request.n > 1))
        case Generate():
            return write(chance)
        case Sample():
            score = chance.choice((None, -1.0))
            return tuple(Sampled(write(chance), score) for _ in range(request.n))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_ends_with_a_prediction(system):
    prompts = writers(system.module, *system.stages)
    setting = {name: values[0] for name, values in system.grid.items() if name != "m"}
    for seed in range(60):
        chance, requests = random.Random(seed), 0
        program = system.program(QUESTION, prompts=prompts, **setting)
        try:
            request = next(program)
            while requests < 1000:
                requests += 1
                request = program.send(answer(request, chance))
        except StopIteration as end:
            prediction = end.value
        assert isinstance(prediction, Prediction) and requests < 1000
        assert isinstance(prediction.answer, str) and isinstance(prediction.fault, str)
        assert prediction.answer or prediction.fault, f"silent with seed {seed}"
        assert len(set(prediction.paragraphs)) == len(prediction.paragraphs)
