"""The files of StrategyQA and of KILT, with its tasks zsRE, T-REx, FEVER and ELI5 and
the knowledge source that they share, as far as they are read.
"""

from collections.abc import Iterator

from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.questions.worked import work_out
from ircot_laboratory.world.records import Riddle, World
from ircotlib.datasets import digest


def strategyqa_record(world: World, riddle: Riddle, seed: int) -> dict:
    """A question as in StrategyQA's file (Geva et al. 2021), with one annotator."""
    steps = work_out(world, riddle).steps
    needed = [[[_name(world.passage(*step.fact).title)]] for step in steps]
    return {
        "qid": digest(f"strategyqa {seed} {riddle.text}", 20),
        "question": riddle.input,
        "answer": riddle.answer == "Yes",
        "facts": [step.sentence for step in steps],
        "evidence": [[*needed, ["operation"]]],
    }


def strategyqa_paragraphs(world: World) -> dict[str, dict]:
    """StrategyQA's paragraphs by their ids: one for every page."""
    return {
        _name(title): {"title": title, "para_index": 1, "content": passage.text}
        for title, [passage] in world.pages.items()
    }


def _name(title: str) -> str:
    return f"{title}-1"


def kilt_record(world: World, riddle: Riddle, seed: int) -> dict:
    """A question as in KILT's files (Petroni et al. 2021), each answer an output."""
    answers = [riddle.answer, *aliases(world, riddle.answer)]
    return {
        "id": digest(f"{riddle.dataset} {seed} {riddle.text}", 24),
        "input": riddle.input,
        "output": [{"answer": answer} for answer in answers],
    }


def kilt_pages(world: World) -> Iterator[dict]:
    """The lines of KILT's knowledge source."""
    for number, (title, [passage]) in enumerate(world.pages.items(), start=1):
        text = [f"{title}\n", f"{passage.text}\n"]
        yield {"_id": str(number), "wikipedia_title": title, "text": text}
