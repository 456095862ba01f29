"""Runs a system's own program on a world of the laboratory with the replies of teachers. This gives
the prompts that the system sends to a model, and the replies that a careful reader writes.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ircot_laboratory.world.records import Fact
from ircotlib.data import Paragraph, Question
from ircotlib.program import Generate, Program, Purposed, Retrieve, Sample, Sampled
from ircotlib.systems import System, WritePrompt
from ircotlib.systems.ircot import read_paragraphs
from ircotlib.text import cut
from training.teachers.mind import Mind

DIRECT = 0.25  # share of the runs whose reader answers directly, without a chain of thought


class Situation(NamedTuple):
    """The occasion of a prompt: the stage of a system (both as prompts/ names them), the question,
    and all that the prompt shows.
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


class Posed(Purposed):
    """A prompt that knows its situation, and the mind that is to reply."""

    mind: Mind
    situation: Situation

    @property
    def stage(self) -> str:
        """The stage as TEACHERS names it, "module/stage"."""
        return f"{self.situation.system}/{self.situation.stage}"


class Recorder:
    """Remembers the situation of each prompt of a program, and the paragraphs retrieved.
    `mind`: that of the program's question.
    """

    def __init__(self, mind: Mind):
        self.mind = mind

    def writer(self, system: str, stage: str, write: WritePrompt) -> WritePrompt:
        """The prompt writer of a stage, which makes Posed prompts of those that `write` makes."""

        def pose(question, paragraphs=(), thoughts=(), **fields):
            posed = Posed(write(question, paragraphs, thoughts, **fields))
            main = [question.passage] if question.passage else []
            shown = tuple(dict.fromkeys([*main, *paragraphs]))
            posed.mind = self.mind
            posed.situation = Situation(system, stage, question, shown, tuple(thoughts), fields)
            posed.mind.read(shown)
            if system == "searchain" and stage not in ("chain", "without_ir"):
                posed.mind.feedback = posed.situation
            return posed

        return pose

    def follow(self, program: Program) -> Program:
        """The same program; each of its retrievals is remembered."""
        reply = None
        while True:
            try:
                request = program.send(reply)
            except StopIteration as end:
                return end.value
            reply = yield request
            if isinstance(request, Retrieve):
                self.mind.retrieved = reply
                self.mind.read(reply)


def play_system(
    system: System, mind: Mind, teachers: Mapping[str, Teacher], open_prompt: OpenPrompt, **setting
) -> list[Turn]:
    """Run a system on the question of a mind and return its turns. `teachers`: by "module/stage";
    `setting`: parameters of the system's program.
    """
    recorder = Recorder(mind)
    program = open_program(system, recorder, open_prompt, **setting)
    return play_program(program, recorder, teachers)


def open_program(system: System, recorder: Recorder, open_prompt: OpenPrompt, **setting) -> Program:
    """A system's program for the question of a recorder's mind. If it takes a reader, that answers
    directly in a quarter of the runs.
    """
    kind = "direct" if recorder.mind.rng.random() < DIRECT else "cot"

    def writer(module, stage):
        return recorder.writer(module, stage, open_prompt(module, stage))

    def read(question, paragraphs):
        return read_paragraphs(question, paragraphs, writer("ircot", kind), kind == "cot")

    offered = {"prompts": {stage: writer(system.module, stage) for stage in system.stages}}
    offered |= {"read": read}
    taken = {name: value for name, value in offered.items() if name in system.defaults}
    return system.program(question_of(recorder.mind), **taken, **setting)


def question_of(mind: Mind) -> Question:
    """A mind's riddle as a question."""
    riddle = mind.riddle
    return Question("training", riddle.text, (riddle.answer,), (), riddle.dataset, riddle.kind)


def play_program(
    program: Program, recorder: Recorder, teachers: Mapping[str, Teacher]
) -> list[Turn]:
    """Run a program whose prompts come from a recorder and return the turns."""
    mind = recorder.mind

    def fact_asked(query: str) -> Fact | None:
        return mind.worded[query][1] if query in mind.worded else None

    turns, reply, program = [], None, recorder.follow(program)
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            mind.prediction = end.value
            return turns
        if isinstance(request, Generate | Sample):
            drawn = [_take_turn(request, teachers) for _ in range(getattr(request, "n", 1))]
            if isinstance(request, Generate):
                turns += drawn
                reply = drawn[0].received
            else:
                turns += [turn for turn in drawn if turn.reply.taught][:1]
                reply = tuple(Sampled(turn.received, None) for turn in drawn)
        else:
            reply = mind.library.answer(request, fact_asked, mind.rng)


def _take_turn(request: Generate | Sample, teachers: Mapping[str, Teacher]) -> Turn:
    reply = write_turn(request.prompt, teachers)
    marks = request.stop if isinstance(request.stop, tuple) else ()
    stops = [(reply.text.find(mark), mark) for mark in marks if mark in reply.text]
    stop = min(stops)[1] if stops else ""
    return Turn(request.prompt.stage, request.prompt, reply, cut(reply.text, request.stop), stop)


def write_turn(prompt: Posed, teachers: Mapping[str, Teacher]) -> Reply:
    """The reply of the teacher for a prompt's stage."""
    reply = teachers[prompt.stage](prompt.mind, prompt.situation)
    return Reply(reply) if isinstance(reply, str) else reply
