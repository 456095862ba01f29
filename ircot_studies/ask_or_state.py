"""Ask or state? What a query must say to find the next gold paragraph (ours). Data sets
state the steps of their questions, so that no model is needed. There are two units:

- a *later hop*: its sub-question names the answer of an earlier one, and its gold
  paragraph is another. Forms of a query differ in their words alone. Is the paragraph
  among the first K?
- a *question*: readers that make no mistake in what they read differ in what they do
  where nothing was read. Do they keep all gold paragraphs?

What is compared is stated in contrasts.py.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache, partial
from itertools import product
from random import Random

import numpy as np
import pandas as pd

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.errors import UserError
from ircotlib.experiment.setup import open_corpus, open_setup
from ircotlib.papers.knowledge import PLACE, fill
from ircotlib.parameters import Parameters
from ircotlib.retrieval import retriever_name

HOP, QUESTION = "later hop", "question"  # the units
# queries for a hop, by what they say
RESOLVED = "sub-question, earlier answers filled in"
SENTENCE = "sentence of the hop before (IRCoT)"
ANSWER = "answer of the hop before"
QUESTION_AND_ANSWER = "the question, then that answer"
UNRESOLVED = "sub-question, nothing filled in"
ALONE = "the question"
# readers, by what they do where nothing was read
ASKS, STATES, GUESSES = "asks", "only states", "states or guesses"
ALL_KEPT = ", all kept"  # a reader without CAP
KS = (1, 2, 4, 8)  # paragraphs of a retrieval (IRCoT §4.1: 2 to 8; SearChain: 1)
CAP = 15  # paragraphs kept at most (IRCoT footnote 5)
DEPTH = (1, 2, 4, 5, 8, CAP)  # at which a hop's paragraph is looked for
DRAWS = 3  # of guesses; their mean counts
GROUP = ["dataset", "retriever", "corpus"]
ROW = ["unit", "id", "natural", "query", "k", "found"]  # `id`: of the question
CONTEXTS, FURTHER = "contexts", "contexts, and further paragraphs"

Search = Callable[[str], Sequence[Paragraph]]  # the first CAP for a query
# what it asks, one query after the other; it sees the ids of the paragraphs kept so far
Reader = Callable[[Question, Set[str]], Iterator[str]]


def find_later_hops(question: Question) -> Iterator[tuple[int, int]]:
    """The places of each later hop and of the hop before it: the last of those whose
    answers its sub-question names.
    """
    for number, step in enumerate(question.steps):
        named = [int(place) - 1 for place in PLACE.findall(step.question)]
        before = [earlier for earlier in named if 0 <= earlier < number]
        if before and step.gold:
            if {*step.gold}.isdisjoint(question.steps[before[-1]].gold):
                yield number, before[-1]


def fill_in(question: Question, number: int, answers: Sequence[str | None]) -> str:
    """The sub-question of a step with `answers` to those before it (`fill`); in place
    of an answer that is not known, None, a phrase that describes it ("the father of Ada
    Moss").
    """
    known: list[str] = []
    for earlier, answer in enumerate(answers[:number]):
        if answer is None:
            asked = fill(question, earlier, known).strip()
            subject, relation, attribute = asked.partition(RELATION)
            answer = f"the {attribute} of {subject}" if relation else asked.rstrip("?")
        known.append(answer)
    return fill(question, number, known)


def write_queries(question: Question, hop: int, before: int) -> dict[str, str]:
    """The query of each form for a later hop."""
    answers = [step.answer for step in question.steps]
    return {
        RESOLVED: fill_in(question, hop, answers),
        SENTENCE: state(question, before, answers),
        ANSWER: answers[before],
        QUESTION_AND_ANSWER: f"{question.text} {answers[before]}",
        UNRESOLVED: fill_in(question, hop, [None] * len(answers)),
        ALONE: question.text,
    }


def state(question: Question, number: int, answers: Sequence[str | None]) -> str:
    """The sentence of a step, if it and those before it have these answers."""
    step = question.steps[number]
    if not step.question:  # HotpotQA: a sentence of the paragraph
        return step.sentence
    asked = fill_in(question, number, answers)
    answer = str(answers[number]).removesuffix(".")
    subject, relation, attribute = asked.partition(RELATION)
    if relation:
        return f"The {attribute} of {subject} is {answer}."
    if step.sentence:  # 2WikiMultihopQA's evidences, which are "What is the R of S?"
        return f"The{asked.removeprefix('What is the').removesuffix('?')} is {answer}."
    return f"{asked.rstrip('?')}: {answer}"


def asks(question: Question, kept: Set[str]) -> Iterator[str]:
    """Ask the sub-question of each step with the answers that were read."""
    for number in range(len(question.steps)):
        answers = [
            step.answer if is_read(step, question, kept) else None
            for step in question.steps
        ]
        yield fill_in(question, number, answers)


def states(
    question: Question, kept: Set[str], guess: Callable[[GoldStep], str] | None = None
) -> Iterator[str]:
    """Ask the question (IRCoT §3.1), then write a sentence for each step that was read.
    Where nothing was read: stop, or state a `guess`, and believe it until the end.
    """
    yield question.text
    believed: list[str] = []
    for number, step in enumerate(question.steps):
        if is_read(step, question, kept):
            believed.append(step.answer)
        elif guess is None:
            return
        else:
            believed.append(guess(step))
        yield state(question, number, believed)


def states_or_guesses(
    question: Question, kept: Set[str], draw: int, answers: Sequence[str]
) -> Iterator[str]:
    """As `states`, with a random other one of `answers` where nothing was read. Guesses
    depend on the draw, the question and the step alone.
    """

    def guess(step: GoldStep) -> str:
        random = Random(f"{draw} {question.id} {step.question}")
        return random.choice([answer for answer in answers if answer != step.answer])

    return states(question, kept, guess)


def is_read(step: GoldStep, question: Question, kept: Set[str]) -> bool:
    """Whether a paragraph is kept that states the step; where the data set does not say
    which (StrategyQA), any gold one.
    """
    return not kept.isdisjoint(step.gold or question.gold)


def finds_all(
    question: Question, reader: Reader, search: Search, k: int, cap: float = CAP
) -> bool:
    """Whether a reader has kept all gold paragraphs at the end: k of each query, and no
    more once there are `cap`.
    """
    kept: set[str] = set()
    for query in reader(question, kept):
        for paragraph in search(query)[:k]:
            if len(kept) < cap:
                kept.add(paragraph.id)
    return kept.issuperset(question.gold)


def measure(p: Parameters) -> pd.DataFrame:
    """Both units on all questions of each data set whose steps have sub-questions, with
    each retriever of the parameters; with the first one, with `further`, too. A row for
    each hop, form and K, and each question, reader and K: `found`, 0 to 1; `natural`:
    whether the hop before is worded in natural words, not as a relation ("Ada Moss >>
    father").
    """
    retrievers = p.retrievers or [p.retriever]
    searched = [(retriever, "", CONTEXTS) for retriever in retrievers]
    if p.further:
        searched.append((retrievers[0], p.further, FURTHER))
    tables = []
    for dataset, (retriever, further, corpus) in product(p.datasets, searched):
        questions = read_asked(p, dataset)
        if not questions:  # HotpotQA
            continue
        search = open_search(p.change(retriever=retriever, further=further), dataset)
        rows = [*measure_hops(questions, search), *measure_all(questions, search)]
        named = {"retriever": retriever_name(retriever), "corpus": corpus}
        tables.append(pd.DataFrame(rows, columns=ROW).assign(dataset=dataset, **named))
    if not tables:
        raise UserError(
            f"found no sub-questions in {', '.join(p.datasets)}, expected a data set "
            "that has them: add musique or 2wikimultihopqa to `datasets`"
        )
    return pd.concat(tables, ignore_index=True)


def open_search(p: Parameters, dataset: str) -> Search:
    """The search of a data set's retriever; each query is looked up once."""
    searcher = open_setup(p, dataset, "ask", with_model=False).retriever

    @cache
    def search(query: str) -> list[Paragraph]:
        return [paragraph for paragraph, _ in searcher.search(query, CAP)]

    return search


def read_asked(p: Parameters, dataset: str) -> list[Question]:
    """All questions of a data set whose gold paragraphs and sub-questions are known."""
    _, questions, _ = open_corpus(p.change(dev=0, test=None), dataset)
    asked = [q for q in questions if q.gold and q.steps]
    return [q for q in asked if all(step.question for step in q.steps)]


def measure_hops(questions: Sequence[Question], search: Search) -> Iterator[tuple]:
    """Whether each form of a query finds the paragraph of each later hop: ROW."""
    for question in questions:
        for hop, before in find_later_hops(question):
            natural = RELATION not in question.steps[before].question
            for form, query in write_queries(question, hop, before).items():
                gold = [page.id in question.steps[hop].gold for page in search(query)]
                for k in DEPTH:
                    yield HOP, question.id, natural, form, k, any(gold[:k])


def measure_all(questions: Sequence[Question], search: Search) -> Iterator[tuple]:
    """Whether each reader, with and without CAP, finds all for each question: ROW."""
    answers = sorted({step.answer for q in questions for step in q.steps})
    guesses = partial(states_or_guesses, answers=answers)
    readers: dict[str, list[Reader]] = {
        ASKS: [asks],
        STATES: [states],
        GUESSES: [partial(guesses, draw=draw) for draw in range(DRAWS)],
    }
    caps = {"": CAP, ALL_KEPT: np.inf}
    for question, k, name, ending in product(questions, KS, readers, caps):
        cap = caps[ending]
        found = [finds_all(question, read, search, k, cap) for read in readers[name]]
        yield QUESTION, question.id, True, name + ending, k, np.mean(found)
