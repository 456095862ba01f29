"""DSP: demonstrate, search, predict (Khattab et al. 2022, §2; program 5 of its intro.ipynb)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample, Sampled
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.dsp_examples import Attempt, Step, examples_for, read_pairs, succeeds
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import normalise_answer
from ircotlib.votes import majority

QUERY, ANSWER, END = "\nSearch Query:", "\nAnswer:", ("\n\n",)
GREEDY = {"queries": 1, "n": 1, "depth": 2, "k": 2}  # when examples are annotated (program)


def dsp(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    annotated: int = 3,  # examples (program)
    hops: int = 2,
    queries: int = 10,  # drawn in a hop; the question is one more
    depth: int = 15,  # paragraphs of a query (program)
    k: int = 5,  # paragraphs of a hop
    n: int = 20,  # chains of thought that vote
    temperature: float = 0.7,
    max_tokens: int = 200,
) -> Program:
    """Annotate examples, search in hops with drawn queries, and let drawn answers vote (DSP §2).

    The prompt of the stage "demonstrate" holds the examples, as questions and answers; one whose
    answer no paragraph holds (yes, SUPPORTS) is never annotated.
    Differs from the program: ranks are fused, not the scores of ColBERT; where the log-probability
    of a text is not known, the summary is that of the first.
    """
    drawing = {"hops": hops, "temperature": temperature, "max_tokens": max_tokens}
    pairs = read_pairs(prompts["demonstrate"](question), question.text)
    shown = []
    for asked, gold in pairs:  # demonstrate
        if len(shown) == annotated:
            break
        others, example = (
            [pair for pair in pairs if pair[0] != asked],
            replace(question, text=asked, passage=None),
        )
        tried = yield from attempt(example, prompts, others, (), **drawing, **GREEDY)
        shown += [tried] if succeeds(tried, gold) else []
    sampling = {"queries": queries, "n": n, "depth": depth, "k": k}
    found = yield from attempt(question, prompts, pairs, shown, **drawing, **sampling)
    paragraphs = dict.fromkeys(p for step in (*found.steps[1:], found.last) for p in step.context)
    thoughts = tuple(f"{step.rationale}{QUERY} {step.written}" for step in found.steps)
    fault = "" if found.last.written else "no answer"
    reading = f"{found.last.rationale}{ANSWER} {found.last.written}"
    return Prediction(found.last.written, tuple(paragraphs), thoughts, reading, fault=fault)


def attempt(
    question, prompts, pairs, shown, *, hops, queries, n, depth, k, temperature, max_tokens
) -> Program:
    """Search and predict once; return an Attempt. `shown`: those of annotated examples."""
    context, summary, steps = (), "", []
    for hop in range(hops):  # search
        examples = examples_for(pairs, [(one, one.steps[hop]) for one in shown], QUERY)
        write = partial(prompts["search"], question, context, examples=examples)
        drawn = yield from complete(write, QUERY, queries, temperature, max_tokens)
        steps.append(Step(context, "", *drawn[0]))
        asked = [query for _, query in drawn] + [question.text] * (queries > 1)
        context = yield from retrieve(asked, depth, k)
        summary = drawn[0][0] if hop else ""
    examples = examples_for(pairs, [(one, one.last) for one in shown], ANSWER)
    shown_summary = f"Summary: {summary}\n" if summary else ""
    write = partial(prompts["predict"], question, context, examples=examples, summary=shown_summary)
    drawn = yield from complete(write, ANSWER, n, temperature, max_tokens)  # predict
    answer = majority([answer for _, answer in drawn])
    rationale = next(r for r, given in drawn if normalise_answer(given) == normalise_answer(answer))
    return Attempt(question.text, tuple(steps), Step(context, summary, rationale, answer))


def complete(
    write: WritePrompt, field: str, n: int, temperature: float, max_tokens: int
) -> Program:
    """Rationales with the field written after them, the most probable first; where no text has the
    field, the longest is continued greedily (program).
    """
    drawn = (
        [Sampled((yield Generate(write(), END, max_tokens)), None)]
        if n == 1
        else (yield Sample(write(), n, temperature, END, max_tokens))
    )
    if all(one.log_probability is not None for one in drawn):
        drawn = sorted(drawn, key=lambda one: -one.log_probability)
    parts = [one.text.partition(field) for one in drawn]
    whole = [(before.strip(), after.strip()) for before, _, after in parts if after.strip()]
    if whole:
        return whole
    rationale = max((before.strip() for before, _, _ in parts), key=len)
    so_far = f" {rationale}{field}"
    return [(rationale, (yield Generate(write(thoughts=(so_far,)), LINE, max_tokens)))]


def retrieve(queries: Sequence[str], depth: int, k: int) -> Program:
    """The k best paragraphs of several queries, by the sum of 1 / (60 + rank): this is ours."""
    scores: Counter[Paragraph] = Counter()
    for query in queries:
        for rank, paragraph in enumerate((yield Retrieve(query, depth)), start=1):
            scores[paragraph] += 1 / (60 + rank)
    return tuple(paragraph for paragraph, _ in scores.most_common(k))


SYSTEMS = (
    System(
        "DSP",
        dsp,
        stages=("demonstrate", "search", "predict"),
        better_than=("Direct Prompting", "Direct Retrieval", "Self-Ask"),
        reported=("DSP",),
        study=SEARCHAIN,
        color="#7a9e3a",
        order=270,
    ),
)
