"""Plays a system's own program on a world of the laboratory with a teacher's replies. The result is
what the system asks a model, and what a careful reader writes.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.world.records import Fact
from ircotlib.data import Paragraph, Question
from ircotlib.program import Generate, Program, Retrieve, Sample, Sampled
from ircotlib.systems import System
from ircotlib.systems.readers import READERS, WritePrompt
from ircotlib.text import cut

DIRECT = 0.25  # share of the plays whose reader answers directly, without a chain of thought


class Situation(NamedTuple):
    """What a prompt was written for: the stage of a system (both as prompts/ names them), the
    question, and all that the prompt shows.
    """

    system: str
    stage: str
    question: Question
    paragraphs: tuple[Paragraph, ...]
    thoughts: tuple[str, ...]
    fields: Mapping[str, object]

    @property
    def so_far(self) -> str:
        """All that was written about this question, and the feedback that was given."""
        return " ".join(self.thoughts)


class Reply(NamedTuple):
    """What a careful reader writes. `ends`: whether it stops after that. `taught`: whether a model
    is trained on this reply; a mistake that it should only learn to deal with is not taught.
    `knowable`: whether the reply follows from what was shown or is known by heart.
    """

    text: str
    ends: bool = True
    taught: bool = True
    knowable: bool = True


class Turn(NamedTuple):
    """A prompt, and the reply to be written after it. `received`: the part of the reply that the
    program received; `stop`: the stop text that ended it, "" if none did.
    """

    stage: str
    prompt: str
    reply: Reply
    received: str
    stop: str


Teacher = Callable[[Mind, Situation], Reply | str]
OpenPrompt = Callable[[str, str], WritePrompt]  # of a system's stage


class Recorder:
    """Makes the prompt writers of a system's stages, and remembers what each prompt was for."""

    def __init__(self, mind: Mind, open_prompt: OpenPrompt):
        self.mind, self.open_prompt, self.situations = mind, open_prompt, {}

    def writer(self, system: str, stage: str) -> Callable[..., str]:
        """The prompt writer of a stage."""
        write = self.open_prompt(system, stage)

        def remember(question, paragraphs=(), thoughts=(), **fields):
            text = write(question, paragraphs, thoughts, **fields)
            self.mind.read(paragraphs)
            situation = Situation(
                system, stage, question, tuple(paragraphs), tuple(thoughts), fields
            )
            self.situations[text] = situation
            if system == "searchain" and stage not in ("chain", "without_ir"):
                self.mind.feedback = situation
            return text

        return remember


def play_system(
    system: System,
    mind: Mind,
    teachers: Mapping[str, Teacher],
    open_prompt: OpenPrompt,
    **setting,
) -> list[Turn]:
    """Play a system on the question of a mind and return its turns. `teachers`: by "module/stage";
    `setting`: parameters of the system's program.
    """
    recorder = Recorder(mind, open_prompt)
    return play_program(open_program(system, recorder, **setting), recorder, teachers)


def open_program(system: System, recorder: Recorder, **setting) -> Program:
    """A system's program for the question of a recorder's mind. A reader that it takes answers
    directly in a quarter of the plays.
    """
    kind = "direct" if recorder.mind.rng.random() < DIRECT else "cot"

    def read(question, paragraphs):
        return READERS[kind](question, paragraphs, prompt=recorder.writer("ircot", kind))

    prompts = {stage: recorder.writer(system.module, stage) for stage in system.stages}
    offered = {"prompts": prompts, "read": read}
    taken = {name: value for name, value in offered.items() if system.takes(name)}
    return system.program(question_of(recorder.mind), **taken, **setting)


def question_of(mind: Mind) -> Question:
    """A mind's riddle as a question."""
    riddle = mind.riddle
    return Question("training", riddle.text, (riddle.answer,), (), riddle.dataset, riddle.kind)


def play_program(
    program: Program, recorder: Recorder, teachers: Mapping[str, Teacher]
) -> list[Turn]:
    """Play a program whose prompts come from a recorder and return the turns."""
    mind = recorder.mind

    def fact_asked(query: str) -> Fact | None:
        return mind.worded[query][1] if query in mind.worded else None

    turns, reply = [], None
    while True:
        try:
            request = program.send(reply)
        except StopIteration:
            return turns
        if isinstance(request, Generate | Sample):
            drawn = [
                _take_turn(request, recorder, teachers) for _ in range(getattr(request, "n", 1))
            ]
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


def _take_turn(
    request: Generate | Sample, recorder: Recorder, teachers: Mapping[str, Teacher]
) -> Turn:
    situation = recorder.situations[request.prompt]
    stage = f"{situation.system}/{situation.stage}"
    reply = teachers[stage](recorder.mind, situation)
    reply = Reply(reply) if isinstance(reply, str) else reply
    marks = request.stop if isinstance(request.stop, tuple) else ()
    stops = [(reply.text.find(mark), mark) for mark in marks if mark in reply.text]
    stop = min(stops)[1] if stops else ""
    return Turn(stage, request.prompt, reply, cut(reply.text, request.stop), stop)
