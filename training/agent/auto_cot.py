"""Plays Auto-CoT with its teacher: the agent either writes an example or answers a question below
written examples. Auto-CoT's clustering of questions is left out, since no model takes part in it.
"""

from collections.abc import Mapping, Sequence

from ircotlib.program import Generate, Program
from ircotlib.systems.auto_cot import write_example
from ircotlib.systems.direct import NEXT
from training.agent.words import open_prompt
from training.teachers.closed import auto_cot_chain
from training.teachers.mind import Mind
from training.teachers.play import Recorder, Situation, Teacher, Turn, play_program, question_of

MODULE = "auto_cot"


def play_auto_cot(
    mind: Mind, others: Sequence[Mind], teachers: Mapping[str, Teacher]
) -> list[Turn]:
    """Answer below examples made from `others`; if there are none, write an example."""
    recorder = Recorder(mind)
    chain, ask = (
        recorder.writer(MODULE, stage, open_prompt(MODULE, stage)) for stage in ("chain", "ask")
    )
    if not others:
        program = write_example([question_of(mind)], chain)
        return play_program(program, recorder, teachers)
    examples = [chain(question_of(other), thoughts=_write(other)) for other in others]
    prompt = ask(question_of(mind), examples="\n\n\n".join(examples))

    def answer() -> Program:
        return (yield Generate(prompt, NEXT))

    return play_program(answer(), recorder, teachers)


def _write(mind: Mind) -> Sequence[str]:
    """A chain and its answer, as write_example returns them."""
    chain = auto_cot_chain(mind, Situation(MODULE, "chain", question_of(mind), (), (), {}))
    return (*chain.split(), f"The answer is {mind.conclude()[1].removesuffix('.')}.")
