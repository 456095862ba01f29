"""What can be found on real text by a reader that makes no mistake and knows nothing by heart: an
upper bound for ways of asking, which needs no model (ours).

The steps of a question are those that its data set states. An answer enters a query only once a
paragraph that states it has been found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import pandas as pd

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import Parameters
from ircotlib.retrieval import retriever_name

# what is asked: the question alone (OneR); the question, then a sentence for each step (IRCoT); or
# a sub-question for each step (SearChain, Self-Ask, DecomP)
QUESTION, SENTENCES, SUBQUESTIONS = "the question", "sentences", "sub-questions"
KS = 1, 2, 4, 8  # paragraphs of a retrieval (IRCoT §4.1: 2 to 8; SearChain: 1)
CAP = 15  # paragraphs kept at most (IRCoT footnote 5)
PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step
Search = Callable[[str, int], Sequence[Paragraph]]


class Reader(NamedTuple):
    """A way of asking. `by_heart`: it knows all answers, found or not, which no reader does.
    `stops`: where a query needs an answer that was not found; else it asks with what it has.
    """

    query: str
    by_heart: bool = False
    stops: bool = False

    @property
    def name(self) -> str:
        """Its name in tables and figures."""
        about = [", all known by heart"] * self.by_heart + [", stops"] * self.stops
        return "".join([self.query, *about])


READERS = [
    Reader(QUESTION),
    *(Reader(query, *how) for query in (SENTENCES, SUBQUESTIONS)
      for how in [(False, False), (False, True), (True, False)]),
]  # fmt: skip


def find_gold(question: Question, search: Search, reader: Reader, k: int, cap: int | None) -> dict:
    """Ask a question's steps in their order, k paragraphs a query, and keep `cap` of them at most;
    return how much of what is needed was found (`recall`), and at what cost.
    """
    if reader.query == QUESTION:
        return measure_found(question, search(question.text, k), 1)
    kept: dict[str, Paragraph] = {}
    queries = []

    def ask(query: str) -> None:
        queries.append(query)
        for paragraph in search(query, k):
            if cap is None or len(kept) < cap:
                kept.setdefault(paragraph.id, paragraph)

    if reader.query == SENTENCES:
        ask(question.text)  # IRCoT §3.1: the first query is the question
    for number in range(len(question.steps)):
        found = [reader.by_heart or is_found(step, question, kept) for step in question.steps]
        if reader.stops and not all(found[n] for n in needed_for(question.steps[number])):
            break
        ask(word_query(question, number, found, reader.query))
    return measure_found(question, kept.values(), len(queries))


def is_found(step: GoldStep, question: Question, kept: dict[str, Paragraph]) -> bool:
    """Whether a paragraph that states a step is among those kept; where the data set does not say
    which does, any of the question's gold paragraphs (StrategyQA).
    """
    return not kept.keys().isdisjoint(step.gold or question.gold)


def needed_for(step: GoldStep) -> list[int]:
    """The places of the steps whose answers a sub-question has."""
    return [int(number) - 1 for number in PLACE.findall(step.question)]


def word_query(question: Question, number: int, found: Sequence[bool], query: str) -> str:
    """The query of a step. A sentence has the step's answer, so that it can be written only once it
    was found; before, the sub-question is asked or, where the data set has none, the question.
    """
    step = question.steps[number]
    text = fill(question, number, found) or question.text
    if query == SUBQUESTIONS or not found[number]:
        return text
    return step.sentence or f"{text.rstrip('?')}: {step.answer}"


def fill(question: Question, number: int, found: Sequence[bool]) -> str:
    """The sub-question of a step, with the answers of earlier ones; in place of an answer that was
    not found, what it is the answer to ("the father of Ada Moss").
    """

    def answer(place: re.Match) -> str:
        earlier = int(place[1]) - 1
        if not 0 <= earlier < number:
            return place[0]
        return question.steps[earlier].answer if found[earlier] else phrase(earlier)

    def phrase(earlier: int) -> str:
        text = fill(question, earlier, found)
        subject, relation, asked = text.partition(RELATION)
        return f"the {asked} of {subject}" if relation else text.strip().rstrip("?")

    return " ".join(PLACE.sub(answer, question.steps[number].question).split())


def measure_found(question: Question, kept: Sequence[Paragraph], retrievals: int) -> dict:
    """Whether all gold paragraphs are among those kept, the share that is, and the costs."""
    ids, gold = {paragraph.id for paragraph in kept}, {*question.gold}
    recall = len(ids & gold) / len(gold)
    about = {"found": float(recall == 1), "recall": recall, "paragraphs": len(ids)}
    return about | {"retrievals": retrievals}


def measure_ceilings(
    p: Parameters, ks: Sequence[int] = KS, caps: Sequence[int | None] = (CAP, None)
) -> pd.DataFrame:
    """All READERS on all questions with gold paragraphs and steps, with each retriever of the
    parameters: a row for each data set, retriever, reader, k, cap and question, with the columns of
    `measure_found`; `hops`: its steps; `wording`: of its sub-questions ("natural", "relations" as
    in "Ada Moss >> father", "none"). The question alone is also asked for as many as CAP.
    """
    return pd.DataFrame(list(_measure(p, ks, caps)))


def _measure(p: Parameters, ks: Sequence[int], caps: Sequence[int | None]) -> Iterator[dict]:
    for retriever, dataset in product(p.retrievers or [p.retriever], p.datasets):
        asked = p.change(retriever=retriever, dev=0, test=None)
        setup = open_setup(asked, dataset, "ceilings", with_model=False)
        questions = [question for question in setup.test if question.gold and question.steps]
        most = max(*ks, CAP)

        @cache
        def ranked(query: str, search=setup.retriever.search, most=most) -> tuple[Paragraph, ...]:
            return tuple(paragraph for paragraph, _ in search(query, most))

        for question, reader in product(questions, READERS):
            worded = all(step.question for step in question.steps)
            if reader.query == SUBQUESTIONS and not worded:
                continue
            about = {"dataset": dataset, "retriever": retriever_name(retriever)}
            about |= {"id": question.id, "hops": len(question.steps), "query": reader.name}
            about |= {"wording": word_steps(question.steps) if worded else "none"}
            alone = reader.query == QUESTION
            cells = product([*ks, CAP], [None]) if alone else product(ks, caps)
            for k, cap in cells:
                row = find_gold(question, lambda text, k: ranked(text)[:k], reader, k, cap)
                yield about | {"k": k, "cap": cap} | row


def word_steps(steps: Sequence[GoldStep]) -> str:
    """How sub-questions are worded: in natural words, or some as relations."""
    return "relations" if any(RELATION in step.question for step in steps) else "natural"
