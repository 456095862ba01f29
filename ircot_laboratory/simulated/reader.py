"""The simulated reader, a backend of Generate and Sample."""

import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from math import nan
from types import MappingProxyType

from ircot_laboratory.make import Made
from ircot_laboratory.questions.questions import ALL_DATASETS
from ircot_laboratory.questions.worked import work_out
from ircot_laboratory.simulated.abilities import Abilities, draw
from ircot_laboratory.simulated.dials import Dials
from ircot_laboratory.simulated.queries import pose
from ircot_laboratory.teachers import TEACHERS
from ircot_laboratory.teachers.library import Library
from ircot_laboratory.teachers.mind import PLAIN, Mind
from ircot_laboratory.teachers.play import Posed, Recorder, write_turn
from ircot_laboratory.world.pages import KILT
from ircot_laboratory.world.records import Riddle, World
from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.generation.replies import check, count_rows, read_reply, write_reply
from ircotlib.program import Generate, Sample, Sampled
from ircotlib.systems import STEPWISE, System
from ircotlib.text import cut

# what a program recognises: labels before a colon, brackets, and the words before an answer
FORM = re.compile(
    r"^[^\n:]{1,40}:[ \t]*|\b(?:So )?[Tt]he (?:final |best )?(?:answer|choice) is:?[ \t]*|[\[\]()]",
    re.MULTILINE,
)

# modules of systems that plan all steps before they retrieve for one
PLANNING = ("searchain", "plan_and_solve", "least_to_most")
SURE, UNSURE = -0.1, -2.0  # log-probability of a text; unsure if it made up what it does not know


class UnknownStage(ValueError):
    """A prompt of a stage that has no teacher."""


class Acquaintance:
    """A data set of a laboratory that its simulated readers have met."""

    def __init__(self, made: Made, also: Sequence[World] = ()):
        self.riddles = {riddle.text: riddle for riddle in made.riddles}
        self.library, self.dataset = Library(made.world, also), made.riddles[0].dataset
        self.work_out = cache(lambda riddle: work_out(made.world, riddle, PLAIN))

    def find(self, text: str) -> Riddle | None:
        """The question with this text, or one that asks for a single fact; None for others."""
        return self.riddles.get(text) or pose(self.library.world, self.dataset, text)


@lru_cache(maxsize=2 * len(ALL_DATASETS))
def meet(find_dataset: Callable[[str], Made], dataset: str) -> Acquaintance:
    """A data set and all that does not depend on a reader, once for all readers."""
    # StrategyQA's full corpus is KILT's pages
    also = [find_dataset(KILT[0]).world] if dataset == "strategyqa" else []
    return Acquaintance(find_dataset(dataset), also)


class SimulatedReader:
    """Writes what the teacher of each stage of each system writes, with the abilities of `dials`.

    `find_dataset(name)`: a data set of the laboratory on whose questions it is asked. `seed`: of
    the draws. `stages`: the dials of single stages ("module/stage"), in place of `dials`, but for
    `misplans` and `wanders`: a question is understood once and for all. Its replies depend on what
    it wrote before in the same program; they are never stored, since they cost nothing
    (`scheduler.run`). It has no window and no limit of tokens, of which it counts one a word.
    `decided`: as of Abilities.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    fingerprint = None
    is_encoder_decoder = False
    parameters = nan
    name = "simulated"

    def __init__(
        self,
        dials: Dials,
        find_dataset: Callable[[str], Made],
        seed: int = 0,
        stages: Mapping[str, Dials] = MappingProxyType({}),
    ):
        self.dials, self.seed, self.stages = dials, seed, stages
        self.teachers, self.decided = dict(TEACHERS), {}
        self._meet = partial(meet, find_dataset)
        self._able = cache(
            lambda name: Abilities(self._meet(name).library, dials, seed, self.decided)
        )

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())

    def listen(self, question: Question, system: System) -> Recorder:
        """The recorder of a program's prompts and retrievals, which the replies depend on.

        A system's own file may have TEACHERS of its stages, by name. Raises UserError for a system
        without teachers, and for a question that is neither the laboratory's nor about one fact.
        """
        own = getattr(sys.modules.get(system.program.__module__), "TEACHERS", {})
        self.teachers |= {f"{system.module}/{stage}": teach for stage, teach in own.items()}
        stages = [f"{system.module}/{stage}" for stage in system.stages]
        if stages and self.teachers.keys().isdisjoint(stages):
            reason = f"{system.name}: found no teacher of its stages ({', '.join(stages)})"
            remedy = "which the simulated reader needs: add TEACHERS to the system's file"
            raise UserError(f"{reason}, {remedy} (docs/systems.md), or set another model")
        met = self._meet(question.dataset)
        if (riddle := met.find(question.text)) is None:
            expected = f"expected one of the laboratory's, such as {next(iter(met.riddles))!r}"
            raise UserError(f"found the question {question.text!r}, {expected}; or another model")
        is_stepwise = system.family[0] == STEPWISE and system.module not in PLANNING
        think = cache(partial(self._think, dial="wanders" if is_stepwise else "misplans"))
        main = think(riddle)
        # Auto-CoT asks other questions, too; a sub-question has the id of its question
        return Recorder(main, lambda q: main if q.id == question.id else think(met.riddles[q.text]))

    def _think(self, riddle: Riddle, dial: str) -> Mind:
        """A mind that has just heard a question, whose steps it misunderstands as often as a dial
        says.
        """
        met, able = self._meet(riddle.dataset), self._able(riddle.dataset)
        worked, rng = met.work_out(riddle), random.Random(f"{self.seed} {riddle.text}")
        able.dials, able.stage = self.dials, ""  # not those of a single stage
        mistaken = able.mistake(riddle.text, [step.fact for step in worked.steps], dial)
        ways = able.knows, rng, able.reads, able.invents, able.happens
        return Mind(riddle, met.library, *ways, worked, mistaken)

    def answer(self, requests: Sequence[Generate | Sample]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply."""
        for index, request in enumerate(requests):
            try:
                written, count = self._write_all(request), self.count_tokens
            except UnknownStage as error:
                yield index, error
            else:
                rows = [(text, mean, count(text)) for text, mean in written]
                yield index, write_reply(request, count(request.prompt), rows)

    def reply(self, request: Generate | Sample) -> str | tuple[Sampled, ...]:
        """The reply to a request, as `decode` reads it in what `answer` yields."""
        written = self._write_all(request)
        return tuple(written) if isinstance(request, Sample) else written[0].text

    def _write_all(self, request: Generate | Sample) -> list[Sampled]:
        check(request)
        prompt, expected = request.prompt, "expected one of a stage that has a teacher"
        stage = prompt.stage if isinstance(prompt, Posed) else "no known stage"
        if stage not in self.teachers:
            raise UnknownStage(f"found a prompt of {stage}, {expected} (docs/systems.md)")
        return [self._write(request, stage, n) for n in range(count_rows(request))]

    def _write(self, request: Generate | Sample, stage: str, number: int) -> Sampled:
        prompt = request.prompt
        abilities = self._able(prompt.mind.riddle.dataset)
        abilities.dials, abilities.sample = self.stages.get(stage, self.dials), number
        abilities.stage = stage
        before = len(prompt.mind.beliefs)
        reply = write_turn(prompt, self.teachers)
        prompt.settled += tuple(prompt.mind.beliefs[before:])
        drawn = 0.0  # as a draw from all of a prompt takes time, only if the dial is not 0
        if abilities.dials.breaks_form:
            drawn = draw(self.seed, "form", stage, prompt, number)
        is_broken = abilities.decides("breaks_form", drawn)
        text = cut(FORM.sub("", reply.text) if is_broken else reply.text, request.stop)
        return Sampled(text, UNSURE if prompt.mind.made_up else SURE)
