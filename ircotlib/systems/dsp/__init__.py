"""DSP: demonstrate, search, predict (Khattab et al. 2022, §2; program 5 of its intro.ipynb)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ircotlib.data import Prediction, Question
from ircotlib.program import Program
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.dsp.examples import Attempt, Step, examples_for, read_pairs, succeeds
from ircotlib.systems.dsp.primitives import complete, retrieve
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import majority, normalise_answer

QUERY, ANSWER = "\nSearch Query:", "\nAnswer:"
GREEDY = {"queries": 1, "n": 1, "depth": 2, "k": 2}  # for annotating examples (program)


def dsp(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    annotated: int = 3,  # examples (program)
    hops: int = 2,
    queries: int = 10,  # sampled per hop, in addition to the question
    depth: int = 15,  # paragraphs per query (program)
    k: int = 5,  # paragraphs per hop
    n: int = 20,  # chains of thought that vote
    temperature: float = 0.7,
    max_tokens: int = 200,
) -> Program:
    """Annotate examples, search in hops with sampled queries, and let sampled answers vote (DSP
    §2).

    The prompt of the stage "demonstrate" has the examples as questions and answers. An example
    whose answer is in no paragraph (yes, SUPPORTS) is never annotated. Differs from the program:
    ranks are fused, not the scores of ColBERT; if log-probabilities are not known, the summary is
    that of the first sample.
    """
    drawing = {"hops": hops, "temperature": temperature, "max_tokens": max_tokens}
    pairs = read_pairs(prompts["demonstrate"](question), question.text)
    shown = []
    for asked, gold in pairs:  # demonstrate
        if len(shown) == annotated:
            break
        others = [pair for pair in pairs if pair[0] != asked]
        example = replace(question, text=asked, passage=None)
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
    """Search and predict once; return an Attempt. `shown`: the Attempts of annotated examples."""
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


SYSTEMS = (
    System(
        "DSP",
        dsp,
        stages=("demonstrate", "search", "predict"),
        reported=("DSP",),
        study=SEARCHAIN,
        generations=139,
        color="#7a9e3a",
        order=270,
    ),
)
