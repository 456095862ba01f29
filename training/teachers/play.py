"""Runs a system's own program on a world of the laboratory with the replies of
teachers. This gives the prompts that the system sends to a model, and the replies that
a careful reader writes.
"""

from collections.abc import Callable
from typing import NamedTuple

from ircot_laboratory.world.records import Fact
from ircotlib.data import Question
from ircotlib.program import Generate, Program, Retrieve, Sample, Sampled
from ircotlib.systems import System, WritePrompt
from ircotlib.systems.ircot import read_paragraphs
from ircotlib.text import cut
from training.teachers import TEACHERS
from training.teachers.mind import Mind, Reply, Situation

# share of the runs whose reader answers directly, without a chain of thought
DIRECT = 0.25
OpenPrompt = Callable[[str, str], WritePrompt]  # of a system's stage


class Turn(NamedTuple):
    """A prompt, and the reply to be written after it."""

    stage: str
    prompt: str
    reply: Reply
    received: str  # the part of it that the program received
    stop: str  # the stop text that ended it, "" if none did


class Posed(str):
    """The text of a prompt that knows its situation. Programs take it for a Prompt."""

    situation: Situation

    @property
    def text(self) -> "Posed":
        return self


def pose_prompts(
    mind: Mind, system: str, stage: str, write: WritePrompt
) -> WritePrompt:
    """The prompt writer of a stage: the prompts that `write` makes, as Posed ones."""

    def pose(question, paragraphs=(), thoughts=(), **fields):
        posed = Posed(write(question, paragraphs, thoughts, **fields).text)
        shown = tuple(dict.fromkeys(paragraphs))
        situation = Situation(system, stage, question, shown, tuple(thoughts), fields)
        posed.situation = situation
        mind.read(shown)
        if system == "searchain" and stage not in ("chain", "without_ir"):
            mind.feedback = situation
        return posed

    return pose


def play_system(
    system: System, mind: Mind, open_prompt: OpenPrompt, **setting
) -> list[Turn]:
    """Run a system on the question of a mind and return its turns. If it takes a
    reader, that answers directly in a quarter of the runs. `setting`: parameters of the
    system's program.
    """
    kind = "direct" if mind.rng.random() < DIRECT else "cot"

    def writer(module, stage):
        return pose_prompts(mind, module, stage, open_prompt(module, stage))

    def read(question, paragraphs):
        prompt = writer("ircot", kind)
        return read_paragraphs(question, paragraphs, prompt, kind == "cot")

    if "prompts" in system.defaults:
        prompts = {stage: writer(system.module, stage) for stage in system.stages}
        setting["prompts"] = prompts
    if "read" in system.defaults:
        setting["read"] = read
    return play_program(system.program(question_of(mind), **setting), mind)


def question_of(mind: Mind) -> Question:
    """A mind's riddle as a question."""
    riddle = mind.riddle
    answers = (riddle.answer,)
    return Question("training", riddle.text, answers, (), riddle.dataset, riddle.kind)


def play_program(program: Program, mind: Mind) -> list[Turn]:
    """Run a program whose prompts are Posed, and return the turns."""

    def fact_asked(query: str) -> Fact | None:
        return mind.worded[query][1] if query in mind.worded else None

    turns, reply = [], None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            mind.prediction = end.value
            return turns
        if isinstance(request, Generate | Sample):
            drawn = [_take_turn(request, mind) for _ in range(getattr(request, "n", 1))]
            if isinstance(request, Generate):
                turns += drawn
                reply = drawn[0].received
            else:
                turns += [turn for turn in drawn if turn.reply.taught][:1]
                reply = tuple(Sampled(turn.received, None) for turn in drawn)
        else:
            reply = mind.library.answer(request, fact_asked, mind.rng)
        if isinstance(request, Retrieve):
            mind.retrieved = reply
            mind.read(reply)


def _take_turn(request: Generate | Sample, mind: Mind) -> Turn:
    situation = request.prompt.situation
    stage = f"{situation.system}/{situation.stage}"
    reply = TEACHERS[stage](mind, situation)
    reply = Reply(reply) if isinstance(reply, str) else reply
    marks = request.stop if isinstance(request.stop, tuple) else ()
    stops = [(reply.text.find(mark), mark) for mark in marks if mark in reply.text]
    stop = min(stops)[1] if stops else ""
    return Turn(stage, request.prompt, reply, cut(reply.text, request.stop), stop)
