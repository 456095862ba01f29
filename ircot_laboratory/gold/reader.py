"""The gold reader: a backend that answers from the steps that data sets state, and its extractive
reader.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import nan

from ircot_laboratory.gold.mind import GoldMind, work_out
from ircot_laboratory.simulated.extractor import SURE, UNSURE
from ircot_laboratory.teachers import TEACHERS as LABORATORYS
from ircot_laboratory.teachers.acting import LAST, react_act
from ircot_laboratory.teachers.play import Posed, Recorder, Reply, Situation, write_turn
from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.generation.replies import check, count_rows, read_reply, write_reply
from ircotlib.program import Extract, Extracted, Generate, Sample, Sampled
from ircotlib.systems import System
from ircotlib.text import cut

# stages whose teachers ask sub-questions
ASKING = {
    *("decomp/decompose", "dsp/search", "least_to_most/decompose", "plan_and_solve/solve"),
    *("react/act", "searchain/chain", "searchain/without_ir", "self_ask/ask", "toolformer/write"),
    "verify_and_edit/question",
}
PAGE = "docs/gold.md"


def search_similar(mind: GoldMind, situation: Situation) -> Reply | str:
    """ReAct's next thought and action. Where no page has the name that was searched for, and the
    similar ones that are offered have that of the step's paragraph, it is searched for next.
    """
    lines, n = situation.so_far.splitlines(), mind.notes.get("step", 0)
    asked = re.match(r"Thought (\d+):", lines[-1])
    if asked and 1 < int(asked[1]) < LAST and n < len(mind.steps):
        title, observation = mind.question.steps[n].title, lines[-2].partition(": ")[2]
        if observation.startswith("Could not find") and repr(title) in observation:
            mind.notes["written"] = f"I search {title}.\nAction {asked[1]}: Search[{title}]"
            return mind.notes["written"]
    return react_act(mind, situation)


TEACHERS = LABORATORYS | {"react/act": search_similar}


class GoldReader:
    """Writes what the teacher of each stage of each system writes, with the steps and the answers
    that the question's data set states. What is retrieved for that is an upper bound: the most that
    a method finds for a reader that asks in the data set's words. The answers it gives say nothing.

    Its replies are never stored. It has no window and no limit of tokens, of which it counts one a
    word.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    fingerprint = None
    is_encoder_decoder = False
    parameters = nan
    name = "gold"

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())

    def check(self, question: Question, system: System) -> None:
        """Raise UserError, in one line, if it cannot play a system on a question."""
        stages = [f"{system.module}/{stage}" for stage in system.stages]
        found = f"model: found gold for {system.name} on {question.dataset}"
        if stages and TEACHERS.keys().isdisjoint(stages):
            raise UserError(f"{found}, expected a system whose stages have teachers ({PAGE})")
        if not question.steps:
            expected = f"expected questions whose data set states their steps, which {question.id}"
            raise UserError(f"{found}, {expected} has not ({PAGE})")
        if ASKING.intersection(stages) and not all(step.question for step in question.steps):
            expected = "expected a system that asks no sub-questions: the data set answers none"
            raise UserError(f"{found}, {expected} ({PAGE})")

    def listen(self, question: Question, system: System) -> Recorder:
        """The recorder of a program's prompts and retrievals, which the replies depend on. Raises
        UserError for what it cannot play (`check`).
        """
        self.check(question, system)
        # Auto-CoT asks other questions, too; a sub-question has the id of its question
        main, think = GoldMind(question), cache(GoldMind)
        return Recorder(main, lambda asked: main if asked.id == question.id else think(asked))

    def answer(self, requests: Sequence[Generate | Sample]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply."""
        for index, request in enumerate(requests):
            count = self.count_tokens
            rows = [(*sampled, count(sampled.text)) for sampled in self._write(request)]
            yield index, write_reply(request, count(request.prompt), rows)

    def reply(self, request: Generate | Sample) -> str | tuple[Sampled, ...]:
        """The reply to a request, as `decode` reads it in what `answer` yields."""
        written = self._write(request)
        return tuple(written) if isinstance(request, Sample) else written[0].text

    def _write(self, request: Generate | Sample) -> list[Sampled]:
        check(request)
        stage = request.prompt.stage if isinstance(request.prompt, Posed) else "no known stage"
        if stage not in TEACHERS:
            raise UserError(f"model: found gold for {stage}, expected one with a teacher ({PAGE})")
        texts = [write_turn(request.prompt, TEACHERS).text for _ in range(count_rows(request))]
        return [Sampled(cut(text, request.stop), 0.0) for text in texts]


class GoldExtractor:
    """The extractive reader beside it: it finds the answer of a sub-question in the paragraphs that
    support it, and is unsure of all others. `questions`: those whose steps it knows.
    """

    answers = Extract
    decode = staticmethod(Extracted.read)
    fingerprint = None

    def __init__(self, questions: Iterable[Question]):
        self.steps = defaultdict(list)
        for question in questions:
            for step, worked in zip(question.steps, work_out(question).steps, strict=True):
                for text in {worked.question, worked.sentence}:
                    self.steps[text].append((step.gold, step.answer))

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply."""
        for index, request in enumerate(requests):
            yield index, json.dumps(self.reply(request)._asdict(), ensure_ascii=False)

    def reply(self, request: Extract) -> Extracted:
        """The reply to a request, as `decode` reads it in what `answer` yields."""
        known = self.steps.get(request.query, ())
        stated = (answer for gold, answer in known if request.paragraph.id in gold)
        answer = next(stated, "")
        return Extracted(answer, SURE if answer else UNSURE)
