"""IRCoT: interleaving retrieval with chain-of-thought (IRCoT §3.1, Figure 2)."""

from collections.abc import Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from ircotlib.data import Hop, Paragraph, Prediction, Question
from ircotlib.program import SENTENCE, Generate, Program, Retrieve
from ircotlib.systems import RECALL, SETS, STEPWISE, Prompts, System, read_hops
from ircotlib.systems.searchain.traverse import contains
from ircotlib.systems.second_reader import extract_best
from ircotlib.text import answer_from_chain, gives_answer, last_sentence, query_from, sentences


def ircot(
    question: Question,
    *,
    prompts: Prompts,
    k: int,  # one of 2, 4, 6, 8, the best on the dev set (§4.1)
    max_steps: int = 8,  # sentences (§3.1, footnote 4); the released program has 10
    max_paragraphs: int = 15,  # footnote 5
    max_tokens: int = 200,  # of one generation (released program; 300 for GPT-3)
    sentence: str = SENTENCE,  # its end; for GPT3 also a line break (released program)
    released: bool = False,
    extract: bool = False,  # sentences are verified by Extract (ours; SearChain §3.3)
    confidence: float = 1.5,  # from which the extracted answer counts (SearChain §4.1, θ)
) -> Program:
    """Interleave reason and retrieve steps; return the collected paragraphs and the chain (IRCoT
    §3.1).

    An empty sentence ends the loop (released program). Nothing is retrieved after the last
    sentence. `released`: follow the authors' program where it differs from the paper: all queries
    are those of `query_from`, the chain ends as in `gives_answer`, and the k paragraphs have no
    equal texts.
    """
    write_query = query_from if released else last_sentence  # §3.1: the last sentence, as it is
    # the base set: K paragraphs with the question as the query (§3.1)
    retrieved = yield Retrieve(write_query((), question.text), k, distinct=released)
    paragraphs = collect((), retrieved, max_paragraphs)
    thoughts = []
    hops = []
    for step in range(1, max_steps + 1):
        prompt = prompts["cot"](question, paragraphs, thoughts)  # all collected so far (§3.1)
        # reason: only the first sentence that the model writes is taken (§3.1)
        thought = yield Generate(prompt, stop=sentence, max_tokens=max_tokens)
        if not thought:  # released program
            break
        if extract and not gives_answer(thought, released=released):
            thought = yield from verify(thought, paragraphs, confidence)
        thoughts.append(thought)
        hops.append(Hop(thought))
        # both termination criteria (§3.1); a full set of paragraphs is none (released program)
        if gives_answer(thought, released=released) or step == max_steps:
            break
        # retrieve: the last sentence is the query (§3.1)
        query = write_query(thoughts, question.text)
        hops[-1] = replace(hops[-1], query=query)
        retrieved = yield Retrieve(query, k, distinct=released)  # K more (§3.1)
        paragraphs = collect(paragraphs, retrieved, max_paragraphs)  # capped (§3.1)
    return Prediction(paragraphs=paragraphs, thoughts=tuple(thoughts), hops=tuple(hops))


def ircot_qa(question: Question, *, read, **setting) -> Program:
    """Retrieve with IRCoT, then read all collected paragraphs from scratch, without the chain
    (IRCoT §3.2). `setting`: the keywords of `ircot`.
    """
    chain = yield from ircot(question, **setting)
    answer, reading = yield from read(question, chain.paragraphs)  # a chain from scratch (§3.2)
    hops = chain.hops + read_hops(reading)
    return replace(chain, answer=answer, reading=reading, hops=hops)


def ircot_without_reader(question: Question, **setting) -> Program:
    """Take the answer from the retrieval chain itself, or the whole chain if it gives none (IRCoT
    App. F). `setting`: the keywords of `ircot`.
    """
    chain = yield from ircot(question, **setting)
    text = " ".join(chain.thoughts)
    answer = answer_from_chain(text)  # the chain of the retrieval has it (App. F)
    return replace(chain, answer=text if answer is None else answer)  # all of it, as in §3.2


def verify(sentence: str, paragraphs: Sequence[Paragraph], confidence: float) -> Program:
    """The sentence, or the one of the paragraphs that takes its place because it gives another
    answer: the surest that is extracted with the sentence as the query (ours, as SearChain §3.3).
    """
    best = yield from extract_best(sentence, paragraphs)
    if best is None or best.confidence <= confidence or contains(sentence, best.text):
        return sentence
    return next((text for text in sentences(best.paragraph.text) if best.text in text), sentence)


def collect(
    paragraphs: Sequence[Paragraph],
    retrieved: Sequence[Paragraph],
    max_paragraphs: int,
    max_words: int = 600,  # of a paragraph (released program)
) -> tuple[Paragraph, ...]:
    """Append retrieved paragraphs to those collected, without re-ranking, up to `max_paragraphs`
    (IRCoT §3.1), except for near duplicates and those of more than `max_words` (released program).
    """
    collected = list(paragraphs)
    for paragraph in retrieved:
        if len(collected) >= max_paragraphs:  # those collected first stay (footnote 5)
            break
        if len(paragraph.text.split(" ")) > max_words:  # released program
            continue
        if not any(_is_near(paragraph, other) for other in collected):  # released program
            collected.append(paragraph)  # at the end, never re-ranked (released program)
    return tuple(collected)


def _is_near(a: Paragraph, b: Paragraph, ratio: float = 90) -> bool:  # released program
    """Whether title and text are both at least 90% alike (released program: rapidfuzz ratio)."""
    pairs = ((a.title, b.title), (a.text, b.text))
    return all(fuzz.ratio(*pair, score_cutoff=ratio) > 0 for pair in pairs)


WRITES = {"cot": "writes the next sentence"}
SYSTEMS = (
    System(
        name="IRCoT",
        program=ircot,
        stages=WRITES,
        demonstrated_by=SETS,
        limits=(),
        grid={"k": (2, 4, 6, 8), "m": (1, 2, 3)},  # §4.1
        tuned_by=RECALL,  # §4.1, "Retrieval Metric"
        better_than=("OneR",),  # §5, Figure 3
        family=(STEPWISE, 0),
        order=30,
    ),
    System(
        name="IRCoT QA w/o reader",
        program=ircot_without_reader,
        inner=ircot,
        stages=WRITES,
        demonstrated_by=SETS,
        limits=(),
        grid={"k": (2, 4, 6, 8), "m": (1, 2, 3)},  # §4.1
        family=(STEPWISE, 2),
        order=31,
    ),
    System(
        name="IRCoT QA",
        program=ircot_qa,
        inner=ircot,
        stages=WRITES,
        demonstrated_by=SETS,
        limits=(),
        grid={"k": (2, 4, 6, 8), "m": (1, 2, 3)},  # §4.1
        equal=("extract",),
        better_than=("NoR QA", "OneR QA", "IRCoT QA w/o reader"),  # §5, Figure 4; App. F, Table 6
        family=(STEPWISE, 0),
        order=32,
    ),
)
