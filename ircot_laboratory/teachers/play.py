"""Plays a system's own program on a training world with a teacher's replies. The result is what the
system asks the agent, and what the agent should write.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ircot_laboratory.teachers.mind import Mind
from ircotlib.data import Paragraph, Question
from ircotlib.program import Generate, Program, Retrieve, Sample, Sampled, Stop
from ircotlib.systems import System
from ircotlib.systems.readers import READERS, WritePrompt
from ircotlib.text import cut

DIRECT = 0.25  # share of the plays whose reader answers directly, without a chain of thought


class Asked(NamedTuple):
    """What a prompt was written for."""

    system: str
    stage: str
    question: Question
    paragraphs: tuple[Paragraph, ...]
    thoughts: tuple[str, ...]
    fields: Mapping[str, object]

    @property
    def so_far(self) -> str:
        """All that the agent has written about this question, and the feedback it was given."""
        return " ".join(self.thoughts)


class Reply(NamedTuple):
    """What the agent should write. `ends`: whether it stops after that. `taught`: whether it is
    trained on this reply; a mistake that it should only learn to deal with is not taught. `sure`:
    whether the agent can know this reply at all.
    """

    text: str
    ends: bool = True
    taught: bool = True
    sure: bool = True


class Turn(NamedTuple):
    """A prompt, and the reply to be written after it. `taken`: the part of the reply that the
    program received; `stopped`: the stop text that ended it, "" if none did.
    """

    stage: str
    prompt: str
    reply: Reply
    taken: str
    stopped: str


Teach = Callable[[Mind, Asked], Reply | str]
OpenPrompt = Callable[[str, str], WritePrompt]  # of a system's stage


class Recorder:
    """Makes the prompt writers of a system's stages, and remembers what each prompt was for."""

    def __init__(self, mind: Mind, open_prompt: OpenPrompt):
        self.mind, self.open_prompt, self.asked = mind, open_prompt, {}

    def writer(self, system: str, stage: str) -> Callable[..., str]:
        """The prompt writer of a stage."""
        write = self.open_prompt(system, stage)

        def remember(question, paragraphs=(), thoughts=(), **fields):
            text = write(question, paragraphs, thoughts, **fields)
            self.mind.read(paragraphs)
            told = tuple(paragraphs), tuple(thoughts), fields
            self.asked[text] = Asked(system, stage, question, *told)
            if system == "searchain" and stage not in ("chain", "without_ir"):
                self.mind.notes["told_last"] = self.asked[text]
            return text

        return remember


def play(
    system: System, mind: Mind, teach: Mapping[str, Teach], open_prompt: OpenPrompt, **setting
) -> list[Turn]:
    """Play a system on the question of a mind and return the agent's turns. `teach`: the teachers
    by "module/stage"; `setting`: parameters of the system's program.
    """
    recorder = Recorder(mind, open_prompt)
    prompts = {stage: recorder.writer(system.module, stage) for stage in system.stages}
    program = system.program(question_of(mind), **given(system, recorder, prompts), **setting)
    return play_program(program, recorder, mind, teach)


def given(system: System, recorder: Recorder, prompts: Mapping[str, Callable]) -> dict:
    kind = "direct" if recorder.mind.rng.random() < DIRECT else "cot"

    def read(question, paragraphs):
        return READERS[kind](question, paragraphs, prompt=recorder.writer("ircot", kind))

    offered = {"prompts": prompts, "read": read}
    return {name: value for name, value in offered.items() if system.takes(name)}


def question_of(mind: Mind) -> Question:
    riddle = mind.riddle
    return Question("training", riddle.text, (riddle.answer,), (), riddle.dataset, riddle.kind)


def play_program(
    program: Program, recorder: Recorder, mind: Mind, teach: Mapping[str, Teach]
) -> list[Turn]:
    """Play a program whose prompts come from a recorder and return the agent's turns."""
    turns, reply = [], None
    while True:
        try:
            request = program.send(reply)
        except StopIteration:
            return turns
        if isinstance(request, Generate | Sample):
            asked = recorder.asked[request.prompt]
            teacher = teach[f"{asked.system}/{asked.stage}"]
            reply = _write(request, asked, mind, teacher, turns)
        else:
            reply = mind.library.answer(request, _asked(mind), mind.rng)
            if isinstance(request, Retrieve):
                mind.notes["found"] = reply
                mind.read(reply)


def _asked(mind: Mind):
    return lambda query: mind.asked[query][1] if query in mind.asked else None


def _write(request, asked: Asked, mind: Mind, teacher: Teach, turns: list[Turn]):
    if isinstance(request, Generate):
        turns.append(_turn(request, asked, teacher(mind, asked)))
        return turns[-1].taken
    drawn = [_turn(request, asked, teacher(mind, asked)) for _ in range(request.n)]
    turns.extend([turn for turn in drawn if turn.reply.taught][:1])
    return tuple(Sampled(turn.taken, None) for turn in drawn)


def _turn(request: Generate | Sample, asked: Asked, said: Reply | str) -> Turn:
    reply = Reply(said) if isinstance(said, str) else said
    taken = cut(reply.text, request.stop)
    return Turn(
        f"{asked.system}/{asked.stage}",
        request.prompt,
        reply,
        taken,
        _stopped(reply.text, request.stop),
    )


def _stopped(text: str, stop: Stop) -> str:
    """The first stop text in a reply, or "" if there is none."""
    found = (
        [(text.find(mark), mark) for mark in stop if mark in text]
        if isinstance(stop, tuple)
        else []
    )
    return min(found)[1] if found else ""
