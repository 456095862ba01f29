"""IRCoT: interleaving retrieval with chain-of-thought (IRCoT §3.1, Figure 2)."""

from collections.abc import Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import SENTENCE, Generate, Program, Retrieve
from ircotlib.systems import RECALL, Prompts, system
from ircotlib.text import answer_from_chain, gives_answer, last_sentence, query_from

# the values that are tuned (§4.1), and what the model does, of all of them
OF_ALL = {"k": (2, 4, 6, 8), "m": (1, 2, 3), "cot": "writes the next sentence"}


@system("IRCoT", tuned_by=RECALL, **OF_ALL)  # §4.1, "Retrieval Metric"
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
) -> Program:
    """Interleave reason and retrieve steps; return the paragraphs and the chain (IRCoT §3.1).

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
    for step in range(1, max_steps + 1):
        prompt = prompts["cot"](question, paragraphs, thoughts)  # all collected so far (§3.1)
        # reason: only the first sentence that the model writes is taken (§3.1)
        thought = yield Generate(prompt, stop=sentence, max_tokens=max_tokens)
        if not thought:  # released program
            break
        thoughts.append(thought)
        # both termination criteria (§3.1); a full set of paragraphs is none (released program)
        if gives_answer(thought, released=released) or step == max_steps:
            break
        # retrieve: the last sentence is the query (§3.1)
        query = write_query(thoughts, question.text)
        retrieved = yield Retrieve(query, k, distinct=released)  # K more (§3.1)
        paragraphs = collect(paragraphs, retrieved, max_paragraphs)  # capped (§3.1)
    return Prediction(paragraphs=paragraphs, thoughts=tuple(thoughts))


@system("IRCoT QA", inner=ircot, **OF_ALL)
def ircot_qa(question: Question, *, read, **setting) -> Program:
    """Retrieve with IRCoT, then read all collected paragraphs from scratch, without the chain
    (IRCoT §3.2). `setting`: the keywords of `ircot`.
    """
    chain = yield from ircot(question, **setting)
    answer, reading = yield from read(question, chain.paragraphs)  # a chain from scratch (§3.2)
    return replace(chain, answer=answer, reading=reading)


@system("IRCoT QA w/o reader", inner=ircot, **OF_ALL)
def ircot_without_reader(question: Question, **setting) -> Program:
    """Take the answer from the retrieval chain itself, or the whole chain if it gives none (IRCoT
    App. F). `setting`: the keywords of `ircot`.
    """
    chain = yield from ircot(question, **setting)
    text = " ".join(chain.thoughts)
    answer = answer_from_chain(text)  # the chain of the retrieval has it (App. F)
    return replace(chain, answer=text if answer is None else answer)  # all of it, as in §3.2


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
        alike = (  # title and text, at least 90% each (released program: rapidfuzz ratio)
            fuzz.ratio(paragraph.title, other.title, score_cutoff=90)
            and fuzz.ratio(paragraph.text, other.text, score_cutoff=90)
            for other in collected
        )
        if not any(alike):
            collected.append(paragraph)  # at the end, never re-ranked (released program)
    return tuple(collected)
