"""DSP: demonstrate, search, predict (Khattab 2022 §2; program 5 of its intro.ipynb)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, cover_em, exact_match, majority
from ircotlib.program import LINE, Generate, Program, Retrieve, Sample, Sampled
from ircotlib.prompting.prompt import render_paragraph
from ircotlib.retrieval.ranking import fuse
from ircotlib.systems import Prompts, WritePrompt, system

QUERY, ANSWER = "\nSearch Query:", "\nAnswer:"  # the last fields (program)
END = ("\n\n",)  # of a completion
BETWEEN = "\n\n---\n\n"  # program
PAIR = re.compile(r"^Question: (.+)\nAnswer: (.+)$", re.MULTILINE)
STAGES = {"search": "writes a search query", "predict": "writes an answer"}
# words of the prompts of the first hop and of later ones besides their template: the
# label above paragraphs, the opening of a rationale (both the program's), and the
# format's words for the two
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
    """Keywords of `dsp`; `annotating`: whether for an example, not for the question
    asked.
    """

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
    """What a stage was shown, and what it wrote: a search query, or in the last one the
    answer.
    """

    context: tuple[Paragraph, ...]
    summary: str = ""  # a line
    rationale: str = ""
    written: str = ""


Pairs = Sequence[tuple[str, str]]  # questions and answers
# annotated examples: questions and their stages
Solved = Sequence[tuple[str, Sequence[Stage]]]


@system("DSP", demonstrate="reads its examples", **STAGES)
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
    """Annotate examples, search in hops with sampled queries, let sampled answers vote
    (DSP §2).

    The prompt of the stage "demonstrate" has the examples as questions and answers. An
    example whose answer is in no paragraph (yes, SUPPORTS) is seldom annotated, and a
    search shows only annotated ones. Differs from the program: ranks are fused, not
    ColBERT's scores; without log-probabilities the summary is that of the first sample;
    it is a field of its own, not the first paragraph; a field is a line, and paragraphs
    are shown as in all prompts.
    """
    setting = Setting(prompts, hops, queries, depth, k, n, temperature, max_tokens)
    # the questions and answers that the prompt shows, except the question asked
    pairs = [
        p
        for p in PAIR.findall(prompts["demonstrate"](question))
        if p[0] != question.text
    ]
    solved = yield from demonstrate(question, pairs, annotated, setting)
    searched = yield from search(question, solved, setting)
    *stages, last = yield from predict(question, searched, pairs, solved, setting)

    paragraphs = dict.fromkeys(
        p for stage in (*stages[1:], last) for p in stage.context
    )
    thoughts = tuple(f"{stage.rationale}{QUERY} {stage.written}" for stage in stages)
    reading = f"{last.rationale}{ANSWER} {last.written}"
    fault = "" if last.written else "no answer"
    return Prediction(last.written, tuple(paragraphs), thoughts, reading, fault=fault)


def demonstrate(
    question: Question, pairs: Pairs, annotated: int, setting: Setting
) -> Program:
    """Annotate at most `annotated` pairs, by searching and predicting with the others
    as examples; return those whose gold answer is in a paragraph and is predicted (DSP
    §2; program).
    """
    greedy = setting._replace(queries=1, n=1, depth=2, k=2, annotating=True)  # program
    solved = []
    for text, gold in pairs:
        if len(solved) == annotated:  # enough of them succeeded (program)
            break
        example = replace(question, text=text, passage=None)
        others = [pair for pair in pairs if pair[0] != text]
        searched = yield from search(example, (), greedy)
        stages = yield from predict(example, searched, others, (), greedy)
        held = any(
            cover_em(f"{page.title} {page.text}", [gold]) for page in stages[-1].context
        )
        if held and exact_match(stages[-1].written, [gold]) == 1:
            solved.append((text, stages))
    return solved


def search(question: Question, solved: Solved, setting: Setting) -> Program:
    """Retrieve in hops, each with sampled queries; return their stages and one with the
    paragraphs of the last hop, which has written nothing yet (DSP §2). Each stage from
    the third on is also shown the summary before it. When annotating, it is shown all
    earlier ones (program).
    """
    context = ()  # the paragraphs that a hop is shown
    summary = ""
    hops = []
    for hop in range(setting.hops):
        wording = LATER if hop else FIRST
        shown = [(text, stages[hop]) for text, stages in solved]
        examples = show_stages(shown, wording["label"], wording["opening"], QUERY)
        fields = {**wording, "examples": examples, "summary": summary}
        write = partial(setting.prompts["search"], question, context, **fields)
        drawn = yield from complete_field(write, QUERY, setting.queries, setting)
        hops.append(Stage(context, summary, *drawn[0]))
        # sampled queries are fused with the question; a greedy one is alone (program)
        queries = [query for _, query in drawn] + [question.text] * (
            setting.queries > 1
        )
        rankings = []
        for query in queries:
            rankings.append((yield Retrieve(query, setting.depth)))
        # by reciprocal ranks (ours); the program fuses ColBERT's scores
        scores = fuse(rankings)
        retrieved = tuple(sorted(scores, key=scores.get, reverse=True)[: setting.k])
        if setting.annotating:  # multihop_search_v1 (program)
            context = tuple(dict.fromkeys((*context, *retrieved)))
        # multihop_search_v2: a summary stands for the paragraphs of earlier hops
        # (program)
        else:
            context, rationale = retrieved, drawn[0][0]
            summary = f"Summary: {rationale}\n" if hop and rationale else ""
    return *hops, Stage(context, summary)


def predict(
    question: Question,
    searched: Sequence[Stage],
    pairs: Pairs,
    solved: Solved,
    setting: Setting,
) -> Program:
    """Let sampled answers vote; return the stages, the last with the answer and its
    rationale (DSP §2). The prompt shows the pairs that are not annotated above its
    format (program).
    """
    *hops, last = searched
    annotated = {text for text, _ in solved}
    asked = [f"Question: {q}\nAnswer: {a}" for q, a in pairs if q not in annotated]
    shown = [(text, stages[-1]) for text, stages in solved]
    fields = {"pairs": "\n\n".join(asked) + BETWEEN if asked else ""}
    fields |= {
        "examples": show_stages(shown, CONTEXT, "", ANSWER),
        "summary": last.summary,
    }
    write = partial(setting.prompts["predict"], question, last.context, **fields)
    drawn = yield from complete_field(write, ANSWER, setting.n, setting)
    answer = majority([answer for _, answer in drawn])  # of ties the first (program)
    rationale = next(
        r for r, given in drawn if as_compared(given) == as_compared(answer)
    )
    return *hops, last._replace(rationale=rationale, written=answer)


def show_stages(
    stages: Sequence[tuple[str, Stage]], label: str, opening: str, field: str
) -> str:
    """The same stage of each annotated example, in the form of the question asked
    (program).
    """
    blocks = []
    for question, stage in stages:
        paragraphs = "".join(
            render_paragraph(shown) + "\n\n" for shown in stage.context
        )
        rationale = f"Let's think step by step.{opening} {stage.rationale}"
        asked = f"Question: {question}\nRationale: {rationale}{field} {stage.written}"
        blocks.append(label + paragraphs + asked + BETWEEN)
    return "".join(blocks)


def complete_field(write: WritePrompt, field: str, n: int, setting: Setting) -> Program:
    """Sample n texts and return pairs of a rationale and the field written after it,
    the most probable first. If none has the field, the first rationale is continued
    greedily (program).
    """
    max_tokens = setting.max_tokens
    if n == 1:  # greedy (program)
        drawn = [Sampled((yield Generate(write(), END, max_tokens)), None)]
    else:
        drawn = yield Sample(write(), n, setting.temperature, END, max_tokens)
    if all(sampled.log_probability is not None for sampled in drawn):
        drawn = sorted(drawn, key=lambda sampled: -sampled.log_probability)
    parts = [sampled.text.partition(field) for sampled in drawn]
    whole = [
        (before.strip(), after.strip()) for before, _, after in parts if after.strip()
    ]
    if whole:
        return whole
    rationale = next((before.strip() for before, _, _ in parts if before.strip()), "")
    so_far = f" {rationale}{field}"
    return [
        (rationale, (yield Generate(write(thoughts=(so_far,)), LINE, max_tokens // 2)))
    ]
