"""Plays Auto-CoT: the agent writes an example, or answers below written examples. The
clustering of questions is left out, since no model takes part in it.
"""

from collections.abc import Sequence

from ircotlib.program import Generate, Program
from ircotlib.systems.auto_cot import write_example
from ircotlib.systems.direct import NEXT
from training.agent.words import open_prompt
from training.teachers.closed import write_chain
from training.teachers.mind import Mind
from training.teachers.play import Turn, play_program, pose_prompts, question_of

MODULE = "auto_cot"


def play_auto_cot(mind: Mind, others: Sequence[Mind]) -> list[Turn]:
    """Answer below examples made from `others`; if there are none, write an example."""
    chain, ask = (
        pose_prompts(mind, MODULE, stage, open_prompt(MODULE, stage))
        for stage in ("chain", "ask")
    )
    if not others:
        return play_program(write_example([question_of(mind)], chain), mind)
    examples = [chain(question_of(other), thoughts=_write(other)) for other in others]
    prompt = ask(question_of(mind), examples="\n\n\n".join(examples))

    def answer() -> Program:
        return (yield Generate(prompt, NEXT))

    return play_program(answer(), mind)


def _write(mind: Mind) -> Sequence[str]:
    """A chain and its answer, as write_example returns them."""
    chain = " ".join(write_chain(mind))
    return (*chain.split(), f"The answer is {mind.conclude()[1].removesuffix('.')}.")
