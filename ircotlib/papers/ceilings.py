"""What can be found on real text by a reader that makes no mistake and knows nothing by heart: an
upper bound for ways of asking, which needs no model (ours).

The steps of a question are those that its data set states. An answer enters a query only once a
paragraph that states it has been found.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import pandas as pd

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.experiment.setup import open_setup
from ircotlib.metrics import paragraph_recall
from ircotlib.parameters import Parameters
from ircotlib.retrieval import retriever_name

# what is asked: the question alone (OneR); the question, then a sentence for each step (IRCoT); or
# a sub-question for each step (SearChain, Self-Ask, DecomP)
QUESTION, SENTENCES, SUBQUESTIONS = "the question", "sentences", "sub-questions"
KS = 1, 2, 4, 8  # paragraphs of a retrieval (IRCoT §4.1: 2 to 8; SearChain: 1)
CAP = 15  # paragraphs kept at most (IRCoT footnote 5)
PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step
# readers by name: what they ask, and how
HOW = {"": {}, ", stops": {"stops": True}, ", all known by heart": {"by_heart": True}}
BY_STEPS = {q + name: {"query": q} | HOW[name] for q in (SENTENCES, SUBQUESTIONS) for name in HOW}
READERS = {QUESTION: {"query": QUESTION}} | BY_STEPS
Search = Callable[[str, int], Sequence[Paragraph]]


def find_gold(
    question: Question, search: Search, k: int, query: str, by_heart=False, stops=False
) -> dict:
    """Ask a question's steps in their order, k paragraphs a query, and keep CAP of them at most;
    return whether all gold paragraphs are among these, the share that is, and the costs.
    `by_heart`: all answers are known, found or not, which no reader does. `stops`: where a query
    needs an answer that was not found; else it asks with what it has.
    """
    kept, queries = set(), []

    def ask(text: str) -> None:
        queries.append(text)
        for paragraph in search(text, k):
            if len(kept) < CAP:
                kept.add(paragraph.id)

    if query != SUBQUESTIONS:
        ask(question.text)  # IRCoT §3.1: the first query is the question
    for number, step in enumerate(() if query == QUESTION else question.steps):
        # where the data set does not say what states a step, any gold paragraph does (StrategyQA)
        golds = [each.gold or question.gold for each in question.steps]
        found = [by_heart or not kept.isdisjoint(gold) for gold in golds]
        if stops and not all(found[int(place) - 1] for place in PLACE.findall(step.question)):
            break
        # a sub-question, or the question if the data set has none (StrategyQA); a sentence has the
        # step's answer, so that it can be written only once that was found
        text = fill(question, number, found) or question.text
        if query == SENTENCES and found[number]:
            text = step.sentence or f"{text.rstrip('?')}: {step.answer}"
        ask(text)
    recall = paragraph_recall(kept, question.gold)
    about = {"found": float(recall == 1), "recall": recall, "paragraphs": len(kept)}
    return about | {"retrievals": len(queries)}


def fill(question: Question, number: int, found: Sequence[bool]) -> str:
    """The sub-question of a step, with the answers of earlier ones; in place of an answer that was
    not found, what it is the answer to ("the father of Ada Moss").
    """

    def answer(place: re.Match) -> str:
        earlier = int(place[1]) - 1
        if not 0 <= earlier < number:
            return place[0]
        if found[earlier]:
            return question.steps[earlier].answer
        text = fill(question, earlier, found)
        subject, relation, asked = text.partition(RELATION)
        return f"the {asked} of {subject}" if relation else text.strip().rstrip("?")

    return " ".join(PLACE.sub(answer, question.steps[number].question).split())


def measure_ceilings(p: Parameters) -> pd.DataFrame:
    """All READERS on all questions with gold paragraphs and steps, with each retriever of the
    parameters: a row for each data set, retriever, reader, question and k, with the columns of
    `find_gold`; `hops`: its steps; `wording`: of its sub-questions ("natural", "relations" as in
    "Ada Moss >> father", "none"). The question alone is also asked for as many as CAP.
    """
    rows = []
    for retriever, dataset in product(p.retrievers or [p.retriever], p.datasets):
        asked = p.change(retriever=retriever, dev=0, test=None)
        setup = open_setup(asked, dataset, "ceilings", with_model=False)
        questions = [question for question in setup.test if question.gold and question.steps]

        @cache
        def ranked(query: str, search=setup.retriever.search) -> list[Paragraph]:
            return [paragraph for paragraph, _ in search(query, CAP)]

        for question, (name, reader) in product(questions, READERS.items()):
            worded = all(step.question for step in question.steps)
            if reader["query"] == SUBQUESTIONS and not worded:
                continue
            relations = any(RELATION in step.question for step in question.steps)
            about = {"dataset": dataset, "retriever": retriever_name(retriever)}
            about |= {"id": question.id, "hops": len(question.steps), "query": name}
            about["wording"] = ("relations" if relations else "natural") if worded else "none"
            for k in (*KS, CAP) if name == QUESTION else KS:
                found = find_gold(question, lambda text, k: ranked(text)[:k], k, **reader)
                rows.append(about | {"k": k} | found)
    return pd.DataFrame(rows)
