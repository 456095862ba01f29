"""DSP: demonstrate, search, predict (Khattab et al. 2022, §2; program 5 of its intro.ipynb)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ircotlib.data import Hop, Prediction, Question
from ircotlib.metrics import as_compared, majority
from ircotlib.program import Program
from ircotlib.systems import SEARCHAIN, STEPWISE, TWO_EXAMPLES, Prompts, System
from ircotlib.systems.dsp.examples import (
    ANSWER,
    FIRST,
    LATER,
    QUERY,
    Examples,
    Solution,
    Stage,
    read_pairs,
    succeeds,
)
from ircotlib.systems.dsp.primitives import Sampling, complete_field, retrieve_fused
from ircotlib.text import sentences

# for annotating examples (program)
GREEDY = {"queries": 1, "n": 1, "depth": 2, "k": 2, "annotating": True}


def dsp(
    question: Question,
    *,
    prompts: Prompts,
    annotated: int = 3,  # examples (program)
    hops: int = 2,  # program
    queries: int = 10,  # sampled per hop, in addition to the question (program)
    depth: int = 15,  # paragraphs per query (program)
    k: int = 5,  # paragraphs per hop (program)
    n: int = 20,  # chains of thought that vote (program)
    temperature: float = 0.7,  # of queries and of chains (program)
    max_tokens: int = 150,  # program
) -> Program:
    """Annotate examples, search in hops with sampled queries, and let sampled answers vote (DSP
    §2).

    The prompt of the stage "demonstrate" has the examples as questions and answers. An example
    whose answer is in no paragraph (yes, SUPPORTS) is seldom annotated, and a search shows only
    annotated ones. Differs from the program: ranks are fused, not the scores of ColBERT; if
    log-probabilities are not known, the summary is that of the first sample; it is a field of its
    own, not the first paragraph; a field is a line, and paragraphs are shown as in all prompts.
    """
    sampling = Sampling(hops, queries, depth, k, n, temperature, max_tokens)
    pairs = read_pairs(prompts["demonstrate"](question), question.text)
    examples = yield from demonstrate(question, pairs, annotated, prompts, sampling)
    searched = yield from search(question, examples, prompts, sampling)
    _, stages, last = yield from predict(question, searched, examples, prompts, sampling)

    paragraphs = dict.fromkeys(p for stage in (*stages[1:], last) for p in stage.context)
    thoughts = tuple(f"{stage.rationale}{QUERY} {stage.written}" for stage in stages)
    written = []  # rationales and search queries
    for stage in stages:
        written += [*map(Hop, sentences(stage.rationale)), Hop(stage.written, query=stage.written)]
    written += map(Hop, sentences(last.rationale))
    return Prediction(
        last.written,
        tuple(paragraphs),
        thoughts,
        reading=f"{last.rationale}{ANSWER} {last.written}",
        fault="" if last.written else "no answer",
        hops=tuple(written),
    )


def demonstrate(
    question: Question, pairs: Sequence, annotated: int, prompts: Prompts, sampling: Sampling
) -> Program:
    """Annotate up to so many of the pairs, by searching and predicting with the others as examples;
    return all as Examples (DSP §2).
    """
    greedy = sampling._replace(**GREEDY)  # as examples are annotated (program)
    solutions = []
    for text, gold in pairs:
        if len(solutions) == annotated:  # enough of them succeeded (program)
            break
        example = replace(question, text=text, passage=None)
        others = Examples([pair for pair in pairs if pair[0] != text])
        searched = yield from search(example, others, prompts, greedy)
        solution = yield from predict(example, searched, others, prompts, greedy)
        solutions += [solution] if succeeds(solution, gold) else []
    return Examples(pairs, solutions)


def search(question: Question, examples: Examples, prompts: Prompts, sampling: Sampling) -> Program:
    """Retrieve in hops, each with sampled queries; return a Solution whose last stage is shown the
    paragraphs of the last hop, and has written nothing yet (DSP §2). Each stage from the third on
    is also shown what the one before wrote, its summary. Where examples are annotated, a stage is
    shown the paragraphs of all hops before it, and no summary (program).
    """
    context = ()  # the paragraphs that a hop is shown
    summary = ""
    hops = []
    for hop in range(sampling.hops):
        fields = (LATER if hop else FIRST)._asdict() | {"examples": examples.show(hop)}
        fields["summary"] = show_summary(summary)
        write = partial(prompts["search"], question, context, **fields)
        drawn = yield from complete_field(write, QUERY, sampling.queries, sampling)
        hops.append(Stage(context, summary, *drawn[0]))
        # sampled queries are fused with the question; a greedy one is alone (program)
        queries = [query for _, query in drawn] + [question.text] * (sampling.queries > 1)
        retrieved = yield from retrieve_fused(queries, sampling.depth, sampling.k)
        if sampling.annotating:  # multihop_search_v1 (program)
            context = tuple(dict.fromkeys((*context, *retrieved)))
        else:  # multihop_search_v2: a summary stands for the paragraphs of earlier hops (program)
            context, summary = retrieved, drawn[0][0] if hop else ""
    return Solution(question.text, tuple(hops), Stage(context, summary))


def predict(
    question: Question, searched: Solution, examples: Examples, prompts: Prompts, sampling: Sampling
) -> Program:
    """Let sampled answers vote; return the solution with the answer and its rationale (DSP §2)."""
    _, hops, last = searched
    fields = {"pairs": examples.show_pairs(), "examples": examples.show(None)}
    fields["summary"] = show_summary(last.summary)
    write = partial(prompts["predict"], question, last.context, **fields)
    drawn = yield from complete_field(write, ANSWER, sampling.n, sampling)
    answer = majority([answer for _, answer in drawn])  # of ties the first (program)
    rationale = next(r for r, given in drawn if as_compared(given) == as_compared(answer))
    return Solution(question.text, hops, last._replace(rationale=rationale, written=answer))


def show_summary(summary: str) -> str:
    """The line with a summary, "" if there is none."""
    return f"Summary: {summary}\n" if summary else ""


SYSTEMS = (
    System(
        name="DSP",
        program=dsp,
        stages={
            "demonstrate": "reads its examples",
            "search": "writes a search query",
            "predict": "writes an answer",
        },
        examples=TWO_EXAMPLES | {"multihop": 8, "strategyqa": 8, "slotfilling": 8, "hotpotqa": 16},
        equal=("k",),
        generations=139,
        draws=("queries", "n"),
        study=SEARCHAIN,
        family=(STEPWISE, 1),
        order=270,
    ),
)
