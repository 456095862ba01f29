"""The steps of questions, as data sets state them: which parts of MuSiQue's a model
knows by heart, and which it needs in its prompt (SearChain A.2.1); and what is found by
a reader that makes no mistake and knows nothing by heart, an upper bound for ways of
asking, without a model (ours). An answer enters a query only once a paragraph that
states it has been found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pandas as pd

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.metrics import cover_em, paragraph_recall
from ircotlib.papers.searchain import Measured
from ircotlib.parameters import Parameters
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System, WritePrompt, choose_systems

# what is asked: the question alone (OneR); the question, then a sentence for each step
# (IRCoT); or a sub-question for each step (SearChain, Self-Ask, DecomP)
QUESTION, SENTENCES, SUBQUESTIONS = "the question", "sentences", "sub-questions"
KS = (1, 2, 4, 8)  # paragraphs of a retrieval (IRCoT §4.1: 2 to 8; SearChain: 1)
CAP = 15  # paragraphs kept at most (IRCoT footnote 5)
PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step
VARIANTS: dict[str, dict[str, Any]] = {  # of readers that ask steps, by name
    "": {},
    ", stops": {"stops": True},
    ", all kept": {"cap": 999},
    ", all known by heart": {"by_heart": True},
}
READERS: dict[str, dict[str, Any]] = {QUESTION: {"query": QUESTION}} | {
    query + name: {"query": query, **variant}
    for query in (SENTENCES, SUBQUESTIONS)
    for name, variant in VARIANTS.items()
}
Search = Callable[[str, int], Sequence[Paragraph]]  # of a query and k


def find_gold(
    question: Question,
    search: Search,
    k: int,
    query: str,
    by_heart: bool = False,
    stops: bool = False,
    cap: int = CAP,
) -> dict[str, float]:
    """Ask a question's steps in order, k paragraphs a query, and keep `cap` of them at
    most; return whether all gold paragraphs are among these, the share that is, and the
    costs. `by_heart`: all answers are known. `stops`: at a query that lacks one.
    """
    kept: set[str] = set()
    queries = []

    def ask(text: str) -> None:
        queries.append(text)
        for paragraph in search(text, k):
            if len(kept) < cap:
                kept.add(paragraph.id)

    if query != SUBQUESTIONS:
        ask(question.text)  # IRCoT §3.1: the first query is the question
    # where it is not known what states a step, any gold paragraph does (StrategyQA)
    golds = [step.gold or question.gold for step in question.steps]
    for number, step in enumerate(() if query == QUESTION else question.steps):
        found = [by_heart or not kept.isdisjoint(gold) for gold in golds]
        needed = [int(place) - 1 for place in PLACE.findall(step.question)]
        if stops and not all(found[earlier] for earlier in needed):
            break
        # a sub-question, or the question if the data set has none (StrategyQA)
        text = fill(question, number, found) or question.text
        # a sentence has the step's answer, and is written only once that was found
        if query == SENTENCES and found[number]:
            text = step.sentence or f"{text.rstrip('?')}: {step.answer}"
        ask(text)
    recall = paragraph_recall(kept, question.gold)
    counts = {"paragraphs": len(kept), "retrievals": len(queries)}
    return {"found": float(recall == 1), "recall": recall, **counts}


def fill(question: Question, number: int, found: Sequence[bool]) -> str:
    """The sub-question of a step, with the answers of earlier ones; in place of an
    answer that was not found, a phrase that describes it ("the father of Ada Moss").
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
    """All READERS on all questions with gold paragraphs and steps, with each retriever
    of the parameters, and in the corpus without and with `further`: a row for each of
    these, reader and k, with the columns of `find_gold`; `hops`: its steps; `wording`:
    of its sub-questions ("natural", "none", or "relations", as "Ada Moss >> father").
    The question alone also gets CAP paragraphs.
    """
    rows: list[dict[str, Any]] = []
    retrievers = p.retrievers or [p.retriever]
    corpora = {"": "contexts"}
    if p.further:
        corpora[p.further] = "contexts, and further paragraphs"
    for retriever, dataset, further in product(retrievers, p.datasets, corpora):
        every = p.change(retriever=retriever, further=further, dev=0, test=None)
        setup = open_setup(every, dataset, "ceilings", with_model=False)

        assert setup.retriever is not None

        @cache
        def ranked(query: str, search=setup.retriever.search) -> list[Paragraph]:
            return [paragraph for paragraph, _ in search(query, CAP)]

        questions = [each for each in setup.test if each.gold and each.steps]
        for question, (name, reader) in product(questions, READERS.items()):
            wording = wording_of(question)
            if reader["query"] == SUBQUESTIONS and wording == "none":
                continue
            row = {
                "dataset": dataset,
                "retriever": retriever_name(retriever),
                "corpus": corpora[further],
                "id": question.id,
                "hops": len(question.steps),
                "query": name,
                "wording": wording,
            }
            for k in (*KS, CAP) if name == QUESTION else KS:
                found = find_gold(question, lambda q, k: ranked(q)[:k], k, **reader)
                rows.append(row | {"k": k} | found)
    return pd.DataFrame(rows)


def wording_of(question: Question) -> str:
    """How a data set words its sub-questions; "none" if some step has none."""
    if not all(step.question for step in question.steps):
        return "none"
    has_relation = any(RELATION in step.question for step in question.steps)
    return "relations" if has_relation else "natural"


def parts_of(question: Question) -> list[Question]:
    """The parts of a question, with earlier answers, as questions of their own."""
    all_found = [True] * len(question.steps)
    return [
        replace(
            question,
            id=f"{question.id}/part {number}",
            text=fill(question, number, all_found),
            answers=(step.answer,),
        )
        for number, step in enumerate(question.steps)
    ]


def ask_questions(
    setup: Setup, system: System, questions: Sequence[Question]
) -> pd.Series:
    """Whether a system answers questions right, by cover-EM, by their ids."""
    outcomes = answer_all(setup, system, questions)
    answers = {each.id: outcomes[each.id].result.answer for each in questions}
    right = {q.id: cover_em(answers[q.id], q.answers) == 1 for q in questions}
    return pd.Series(right, dtype=bool)


def answer_given_parts(
    question: Question,
    parts: Sequence[Question],
    answered: bool,
    write: WritePrompt,
    max_tokens: int,
) -> Program:
    """Answer a question in a prompt that first lists some of its parts, with or without
    answers (SearChain A.2.1), in the form of Least-to-Most's last step (ours: no prompt
    is shown).
    """
    # with answers: knowledge in the prompt (Figure 10a); without: in the weights (10b)
    answers = [part.answers[0] if answered else "" for part in parts]
    texts = [*(part.text for part in parts), question.text]
    pairs = zip(answers, texts[1:], strict=True)
    so_far = "".join(f"{answer}\nQ: {following}\nA: " for answer, following in pairs)
    prompt = write(replace(question, text=texts[0]), thoughts=(so_far,))
    answer = yield Generate(prompt, stop=LINE, max_tokens=max_tokens)
    return Prediction(answer)


def compare_forms(setup: Setup, knows: pd.Series) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when
    the model must know its last i parts by heart (SearChain Figure 10). The prompt has
    the other parts: in panel "a" with their answers, in "b" without. Panel "a" has the
    questions whose last i parts the model answers right (S_i), "b" those of which it
    does all (S_all). `knows`: whether it answers a part right (`ask_questions`).
    """
    [system] = choose_systems(["Least-to-Most"])
    write = setup.prompt("solve", system=system)
    most = setup.tokens(system)["max_tokens"]
    rows, golds, programs = [], [], {}
    for question in setup.test:
        parts = parts_of(question)
        known = [knows[part.id] for part in parts]
        for panel, i in product("ab", range(1, len(parts) + 1)):
            if not all(known[-i:] if panel == "a" else known):  # S_i, or S_all
                continue
            given = parts[: len(parts) - i]
            program = answer_given_parts(question, given, panel == "a", write, most)
            programs[f"{question.id} {panel}{i}"] = program
            rows.append((question.id, panel, len(parts), i))
            golds.append(question.answers)
    assert setup.calls is not None
    outcomes, _ = run(programs, setup.backends, setup.calls)
    answers = [outcome.result.answer for outcome in outcomes.values()]
    right = [score == 1 for score in map(cover_em, answers, golds)]
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    return table.assign(right=pd.Series(right, dtype=bool))


def count_forms(forms: pd.DataFrame) -> pd.DataFrame:
    """Figure 10: accuracy, with its 95% interval, and number of questions by panel,
    hops and i; in the panel "a of b" those of "a" on the questions that panel "b" has,
    too.
    """
    of_b = forms["id"].isin(forms["id"][forms["panel"] == "b"])
    shared = forms[(forms["panel"] == "a") & of_b].assign(panel="a of b")
    groups = pd.concat([forms, shared]).groupby(["panel", "hops", "i"])["right"]
    counted = groups.agg(accuracy="mean", n="size").reset_index()
    ends = [mean_interval(right) for _, right in groups]
    counted[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    return counted.round(3)


def measure_known(right: pd.Series, forms: pd.DataFrame) -> Iterator[Measured]:
    """Accuracy, 0 to 1, on the questions of MuSiQue all of whose parts the model
    answers right (Table 7): panel "b" of `forms` has them (S_all, SearChain A.2.1).
    `right`: of `ask_questions`.
    """
    metric = "accuracy_where_parts_known"
    known = forms[forms["panel"] == "b"].drop_duplicates("id")
    for hops, ids in known.groupby("hops")["id"]:
        yield Measured(f"musique_{hops}hop", "LLM", metric, right[ids])
