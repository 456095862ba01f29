"""DSP: demonstrate, search, predict (Khattab 2022 §2; program 5 of its intro.ipynb)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, cover_em, exact_match, majority
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample
from ircotlib.prompting.prompt import render_paragraph
from ircotlib.retrieval.ranking import fuse
from ircotlib.systems import Prompts, WritePrompt, system

QUERY, ANSWER = "\nSearch Query:", "\nAnswer:"  # the last fields (program)
END = ("\n\n",)  # of a completion
BETWEEN = "\n\n---\n\n"  # program
PAIR = re.compile(r"^Question: (.+)\nAnswer: (.+)$", re.MULTILINE)
# What fills the template of the first hop, and of later ones: the label above
# paragraphs, the opening of a rationale (both the program's), and the format of the two
CONTEXT = "Context:\n"
FIRST = {
    "label": "",
    "paragraphs_are": "",
    "opening": " To answer this question, we first need to find out",
    "rationale_is": "${what is missing}",
}
LATER = {
    "label": CONTEXT,
    "paragraphs_are": "${paragraphs that may help, each under its title}\n\n",
    "opening": " Based on the context, we have learned the following.",
    "rationale_is": "${what helps in the context}",
}


class Setting(NamedTuple):
    """Keywords of `dsp`, which annotating an example changes."""

    prompts: Prompts
    hops: int
    queries: int
    depth: int
    k: int
    n: int
    temperature: float
    max_tokens: int
    annotating: bool = False


class Stage(NamedTuple):
    """What a hop, or last the prediction, was shown, and what it wrote."""

    context: tuple[Paragraph, ...]
    summary: str = ""  # a line
    rationale: str = ""
    written: str = ""  # a search query, or the answer


Stages = Sequence[Stage]
Pairs = Sequence[tuple[str, str]]  # questions and answers
Solved = Sequence[tuple[str, Stages]]  # annotated questions and their stages


@system(
    "DSP",
    draws=("n", "queries"),
    demonstrate="reads its examples",
    search="writes a search query",
    predict="writes an answer",
)
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
    """Annotate examples, search in hops, let sampled answers vote (DSP §2).

    Examples whose answer is in no paragraph (yes, SUPPORTS) are seldom annotated, and a
    search shows only annotated ones. Differs from the program: ranks are fused, not
    ColBERT's scores; without log-probabilities the summary is that of the first sample;
    it is a field of its own, not the first paragraph; a field is a line, and paragraphs
    are shown as in all prompts.
    """
    setting = Setting(prompts, hops, queries, depth, k, n, temperature, max_tokens)
    examples = PAIR.findall(prompts["demonstrate"](question).text)
    pairs = [pair for pair in examples if pair[0] != question.text]
    solved = yield from demonstrate(question, pairs, annotated, setting)
    searched = yield from search(question, solved, setting)
    *stages, last = yield from predict(question, searched, pairs, solved, setting)

    seen = dict.fromkeys(p for stage in [*stages, last] for p in stage.context)
    thoughts = tuple(f"{stage.rationale}{QUERY} {stage.written}" for stage in stages)
    reading = f"{last.rationale}{ANSWER} {last.written}"
    fault = "" if last.written else "no answer"
    return Prediction(last.written, tuple(seen), thoughts, reading, fault=fault)


def demonstrate(
    question: Question, pairs: Pairs, annotated: int, setting: Setting
) -> Program:
    """Search and predict for pairs, with the others as examples; return the stages of
    those whose gold answer is in a paragraph and is predicted (DSP §2; program).
    """
    greedy = setting._replace(queries=1, n=1, depth=2, k=2, annotating=True)  # program
    solved: list[tuple[str, Stages]] = []
    for text, gold in pairs:
        if len(solved) == annotated:  # enough of them succeeded (program)
            break
        example = replace(question, text=text, passage=None)
        others = [pair for pair in pairs if pair[0] != text]
        searched = yield from search(example, (), greedy)
        stages = yield from predict(example, searched, others, (), greedy)
        last = stages[-1]
        held = any(cover_em(f"{p.title} {p.text}", [gold]) for p in last.context)
        if held and exact_match(last.written, [gold]) == 1:
            solved.append((text, stages))
    return solved


def search(question: Question, solved: Solved, setting: Setting) -> Program:
    """Retrieve in hops, each with sampled queries; return their stages and one with the
    paragraphs of the last hop, which has written nothing yet (DSP §2).
    """
    stage = Stage(())  # of the next hop
    hops: list[Stage] = []
    for hop in range(setting.hops):
        wording = LATER if hop else FIRST
        annotated = [(text, stages[hop]) for text, stages in solved]
        examples = show_stages(annotated, wording["label"], wording["opening"], QUERY)
        fields = {**wording, "examples": examples, "summary": stage.summary}
        write = partial(setting.prompts["search"], question, stage.context, **fields)
        drawn = yield from complete_field(write, QUERY, setting.queries, setting)
        rationale, query = drawn[0]
        hops.append(stage._replace(rationale=rationale, written=query))
        queries = [query for _, query in drawn]
        if setting.queries > 1:  # a greedy query is alone (program)
            queries.append(question.text)
        retrieved = yield from retrieve_fused(queries, setting)
        if setting.annotating:  # all earlier paragraphs are shown (program)
            stage = Stage(tuple(dict.fromkeys((*stage.context, *retrieved))))
        else:  # from the third hop on, a summary stands for earlier ones (program)
            summary = f"Summary: {rationale}\n" if hop and rationale else ""
            stage = Stage(retrieved, summary)
    return *hops, stage


def retrieve_fused(queries: Sequence[str], setting: Setting) -> Program:
    """The k best paragraphs by reciprocal ranks (ours; there by ColBERT's scores)."""
    rankings = []
    for query in queries:
        rankings.append((yield Retrieve(query, setting.depth)))
    scores = fuse(rankings)
    best = sorted(scores, key=lambda paragraph: scores[paragraph], reverse=True)
    return tuple(best[: setting.k])


def predict(
    question: Question, searched: Stages, pairs: Pairs, solved: Solved, setting: Setting
) -> Program:
    """Let sampled answers vote; return the stages, the last with the answer and its
    rationale (DSP §2).
    """
    *hops, last = searched
    annotated = [(text, stages[-1]) for text, stages in solved]
    # pairs that are not annotated are shown above the format (program)
    others = [pair for pair in pairs if pair[0] not in dict(annotated)]
    bare = [f"Question: {text}\nAnswer: {answer}" for text, answer in others]
    fields = {
        "pairs": "\n\n".join(bare) + BETWEEN if bare else "",
        "examples": show_stages(annotated, CONTEXT, "", ANSWER),
        "summary": last.summary,
    }
    write = partial(setting.prompts["predict"], question, last.context, **fields)
    drawn = yield from complete_field(write, ANSWER, setting.n, setting)
    answer = majority([answer for _, answer in drawn])  # of ties the first (program)
    same = as_compared(answer)
    rationale = next(text for text, other in drawn if as_compared(other) == same)
    return *hops, last._replace(rationale=rationale, written=answer)


def show_stages(
    stages: Sequence[tuple[str, Stage]], label: str, opening: str, field: str
) -> str:
    """A stage of each annotated example, in the form of the question (program)."""
    blocks = []
    for question, stage in stages:
        paragraphs = "".join(f"{render_paragraph(p)}\n\n" for p in stage.context)
        rationale = f"Let's think step by step.{opening} {stage.rationale}"
        asked = f"Question: {question}\nRationale: {rationale}{field} {stage.written}"
        blocks.append(label + paragraphs + asked + BETWEEN)
    return "".join(blocks)


def complete_field(write: WritePrompt, field: str, n: int, setting: Setting) -> Program:
    """Pairs of a rationale and the field written after it, of n samples, the most
    probable first; if none has the field, the first is continued greedily (program).
    """
    max_tokens = setting.max_tokens
    if n == 1:  # greedy (program)
        texts = [(yield Generate(write(), END, max_tokens))]
    else:
        drawn = yield Sample(write(), n, setting.temperature, END, max_tokens)
        if all(sampled.log_probability is not None for sampled in drawn):
            drawn = sorted(drawn, key=lambda sampled: -sampled.log_probability)
        texts = [sampled.text for sampled in drawn]
    parts = [[part.strip() for part in text.partition(field)] for text in texts]
    complete = [(rationale, written) for rationale, _, written in parts if written]
    if complete:
        return complete
    rationale = next((rationale for rationale, _, _ in parts if rationale), "")
    prompt = write(thoughts=(f" {rationale}{field}",))
    return [(rationale, (yield Generate(prompt, LINE, max_tokens // 2)))]
