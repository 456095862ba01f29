"""Questions of the laboratory as records in the official raw formats of StrategyQA."""

from ircot_laboratory.questions.worked import refer_back, work_out
from ircot_laboratory.world.records import Riddle, World
from ircot_laboratory.world.relations import KINDS
from ircotlib.datasets.pooled import digest

# the last step of a decomposition, which no paragraph answers; #1 stands for the answer of the
# first step
OPERATIONS = {"time": "Is #2 before #3?", "same": "Is #1 the same as #2?", "place": "Is #2 {x}?"}


def strategyqa_record(world: World, riddle: Riddle, seed: int) -> dict:
    """A question in the format of StrategyQA's file (Geva et al. 2021), with the evidence of one
    annotator.
    """
    steps, first = work_out(world, riddle).steps, riddle.facts[0].subject
    entity = world.entities[first]
    intro = KINDS[entity.kind].intro.format(name=first, category=entity.category)
    needed = [[[_name(world.passage(*step.fact).title)]] for step in steps]
    operation = OPERATIONS[riddle.kind].format(x=riddle.sought)
    return {
        "qid": digest(f"strategyqa {seed} {riddle.text}", 20),
        "term": first,
        "description": intro.partition(" a ")[2].rstrip("."),
        "question": riddle.input,
        "answer": riddle.answer == "Yes",
        "facts": [step.sentence for step in steps],
        "decomposition": [*map(refer_back, steps), operation],
        "evidence": [[*needed, ["operation"]]],
    }


def strategyqa_paragraphs(world: World) -> dict[str, dict]:
    """StrategyQA's paragraphs by their ids: one for every page."""
    paragraphs = {}
    for [passage] in world.pages.values():
        place = {"title": passage.title, "section": "", "headers": [""], "para_index": 1}
        paragraphs[_name(passage.title)] = place | {"content": passage.text}
    return paragraphs


def _name(title: str) -> str:
    return f"{title}-1"
