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

import pandas as pd

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.metrics import cover_em, paragraph_recall
from ircotlib.papers.searchain import Row
from ircotlib.parameters import Parameters
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System, WritePrompt, choose_systems

# what is asked: the question alone (OneR); the question, then a sentence for each step
# (IRCoT); or a sub-question for each step (SearChain, Self-Ask, DecomP)
QUESTION, SENTENCES, SUBQUESTIONS = "the question", "sentences", "sub-questions"
KS = 1, 2, 4, 8  # paragraphs of a retrieval (IRCoT §4.1: 2 to 8; SearChain: 1)
CAP = 15  # paragraphs kept at most (IRCoT footnote 5)
PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step
# readers by name: what they ask, and how
HOW = {"": {}, ", stops": {"stops": True}, ", all kept": {"cap": 999}}
HOW |= {", all known by heart": {"by_heart": True}}
BY_STEPS = {
    q + name: {"query": q} | HOW[name]
    for q in (SENTENCES, SUBQUESTIONS)
    for name in HOW
}
READERS = {QUESTION: {"query": QUESTION}} | BY_STEPS
Search = Callable[[str, int], Sequence[Paragraph]]


def find_gold(
    question: Question,
    search: Search,
    k: int,
    query: str,
    by_heart=False,
    stops=False,
    cap=CAP,
) -> dict:
    """Ask a question's steps in order, k paragraphs a query, and keep `cap` of them at
    most; return whether all gold paragraphs are among these, the share that is, and the
    costs. `by_heart`: all answers are known, found or not. `stops`: at a query that
    needs a missing one.
    """
    kept, queries = set(), []

    def ask(text: str) -> None:
        queries.append(text)
        for paragraph in search(text, k):
            if len(kept) < cap:
                kept.add(paragraph.id)

    if query != SUBQUESTIONS:
        ask(question.text)  # IRCoT §3.1: the first query is the question
    for number, step in enumerate(() if query == QUESTION else question.steps):
        # where the data set does not say what states a step, any gold paragraph does
        # (StrategyQA)
        golds = [each.gold or question.gold for each in question.steps]
        found = [by_heart or not kept.isdisjoint(gold) for gold in golds]
        if stops and not all(
            found[int(place) - 1] for place in PLACE.findall(step.question)
        ):
            break
        # a sub-question, or the question if the data set has none (StrategyQA); a
        # sentence has the step's answer, so that it can be written only once that was
        # found
        text = fill(question, number, found) or question.text
        if query == SENTENCES and found[number]:
            text = step.sentence or f"{text.rstrip('?')}: {step.answer}"
        ask(text)
    recall = paragraph_recall(kept, question.gold)
    about = {"found": float(recall == 1), "recall": recall, "paragraphs": len(kept)}
    return about | {"retrievals": len(queries)}


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
    rows, corpora = [], dict.fromkeys(["", p.further])
    for retriever, dataset, further in product(
        p.retrievers or [p.retriever], p.datasets, corpora
    ):
        asked = p.change(retriever=retriever, further=further, dev=0, test=None)
        setup = open_setup(asked, dataset, "ceilings", with_model=False)
        questions = [
            question for question in setup.test if question.gold and question.steps
        ]

        @cache
        def ranked(query: str, search=setup.retriever.search) -> list[Paragraph]:
            return [paragraph for paragraph, _ in search(query, CAP)]

        for question, (name, reader) in product(questions, READERS.items()):
            worded = all(step.question for step in question.steps)
            if reader["query"] == SUBQUESTIONS and not worded:
                continue
            relations = any(RELATION in step.question for step in question.steps)
            about = {"dataset": dataset, "retriever": retriever_name(retriever)}
            about["corpus"] = (
                "contexts, and further paragraphs" if further else "contexts"
            )
            about |= {"id": question.id, "hops": len(question.steps), "query": name}
            about["wording"] = (
                ("relations" if relations else "natural") if worded else "none"
            )
            for k in (*KS, CAP) if name == QUESTION else KS:
                found = find_gold(
                    question, lambda text, k: ranked(text)[:k], k, **reader
                )
                rows.append(about | {"k": k} | found)
    return pd.DataFrame(rows)


def parts_of(question: Question) -> list[Question]:
    """The parts of a question, with the answers of earlier ones, as questions of their
    own.
    """
    all_found = [True] * len(question.steps)
    parts = [
        (fill(question, n, all_found), step.answer)
        for n, step in enumerate(question.steps)
    ]
    return [
        replace(question, id=f"{question.id}/part {n}", text=text, answers=(answer,))
        for n, (text, answer) in enumerate(parts)
    ]


def ask_questions(
    setup: Setup, system: System, questions: Sequence[Question]
) -> pd.Series:
    """Whether a system answers questions right, by cover-EM."""
    outcomes = answer_all(setup, system, questions)
    right = {
        q.id: cover_em(outcomes[q.id].result.answer, q.answers) == 1 for q in questions
    }
    return pd.Series(right, dtype=bool)


def answer_given_parts(
    question: Question,
    parts: Sequence[Question],
    answered: bool,
    write: WritePrompt,
    **tokens: int,
) -> Program:
    """Answer a question in a prompt that first lists some of its parts, with or without
    answers (SearChain A.2.1), in the form of Least-to-Most's last step (ours: no prompt
    is shown).
    """
    # with answers: knowledge in the prompt (Figure 10a); without: in the weights
    # (Figure 10b)
    answers = [part.answers[0] if answered else "" for part in parts]
    texts = [*(part.text for part in parts), question.text]
    pairs = zip(answers, texts[1:], strict=True)
    so_far = "".join(f"{answer}\nQ: {following}\nA: " for answer, following in pairs)
    prompt = write(replace(question, text=texts[0]), thoughts=(so_far,))
    return Prediction((yield Generate(prompt, stop=LINE, **tokens)))


def compare_forms(setup: Setup, knows: pd.Series) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when
    the model must know its last i parts by heart (SearChain Figure 10). The prompt has
    the other parts: in panel "a" with their answers, in "b" without. Panel "a" has the
    questions whose last i parts the model answers right (S_i), "b" those of which it
    does all (S_all). `knows`: whether it answers a part right (`ask_questions`).
    """
    [system] = choose_systems(["Least-to-Most"])
    options = {"write": setup.prompt("solve", system=system), **setup.tokens(system)}
    rows, golds, programs = [], [], {}
    for question in setup.test:
        of_one = parts_of(question)
        known = [knows[part.id] for part in of_one]
        for panel, i in product("ab", range(1, len(of_one) + 1)):
            # S_i: the last i parts are known; S_all: all are, with only questions in
            # the prompt
            if all(known[-i:] if panel == "a" else known):
                given = of_one[: len(of_one) - i], panel == "a"
                program = answer_given_parts(question, *given, **options)
                programs[f"{question.id} {panel}{i}"] = program
                rows.append((question.id, panel, len(of_one), i))
                golds.append(question.answers)
    outcomes, _ = run(programs, setup.backends, setup.calls)
    answers = [outcome.result.answer for outcome in outcomes.values()]
    right = [cover_em(*of) == 1 for of in zip(answers, golds, strict=True)]
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    return table.assign(right=pd.Series(right, dtype=bool))


def count_forms(forms: pd.DataFrame) -> pd.DataFrame:
    """Figure 10: accuracy, with its 95% interval, and number of questions by panel,
    hops and i; in the panel "a of b" those of "a" on the questions that panel "b" has,
    too.
    """
    panel_a, panel_b = (forms["panel"] == name for name in "ab")
    shared = forms[panel_a & forms["id"].isin(forms["id"][panel_b])].assign(
        panel="a of b"
    )
    groups = pd.concat([forms, shared]).groupby(["panel", "hops", "i"])["right"]
    counted = groups.agg(accuracy="mean", n="size").reset_index()
    ends = [mean_interval(right) for _, right in groups]
    counted[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    return counted.round(3)


def measure_known(right: pd.Series, forms: pd.DataFrame) -> Iterator[Row]:
    """Accuracy, 0 to 1, on the questions of MuSiQue all of whose parts the model
    answers right (Table 7): panel "b" of `forms` has them (S_all, SearChain A.2.1).
    `right`: of `ask_questions`.
    """
    known = forms[forms["panel"] == "b"].drop_duplicates("id")
    for hops, ids in known.groupby("hops")["id"]:
        yield f"musique_{hops}hop", "LLM", "accuracy_where_parts_known", right[ids]
