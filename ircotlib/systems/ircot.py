"""IRCoT: interleaving retrieval with chain-of-thought (IRCoT §3.1, Figure 2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import TypeAdapter
from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, SENTENCE, Generate, NearestTitle, Program, Retrieve
from ircotlib.systems import RECALL, SETS, Prompts, System, WritePrompt, system
from ircotlib.text import answer_from_chain, gives_answer, last_sentence, query_from

K, M = (2, 4, 6, 8), (1, 2, 3)  # the values that are tuned (§4.1)
COT = "writes the next sentence"
TITLES = TypeAdapter(list[str])


@system("IRCoT", tuned_by=RECALL, k=K, m=M, cot=COT)  # §4.1, "Retrieval Metric"
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
    """Interleave reason and retrieve steps; return paragraphs and chain (IRCoT §3.1).

    Nothing is retrieved after the last sentence. `released`: as in the authors'
    program, queries are those of `query_from`, the chain ends as in `gives_answer`, and
    equal texts count once. Differs from the paper, with or without `released`: near
    duplicates and paragraphs of more than 600 words are left out, as in that program;
    but there also a paragraph with the title of one and the text of another.
    """
    write_query = query_from if released else last_sentence  # as it is (§3.1)
    # the base set: K paragraphs with the question as the query (§3.1)
    retrieved = yield Retrieve(write_query((), question.text), k, distinct=released)
    paragraphs = collect((), retrieved, max_paragraphs)
    thoughts: list[str] = []
    for step in range(1, max_steps + 1):
        # all collected so far (§3.1)
        prompt = prompts["cot"](question, paragraphs, thoughts)
        # reason: only the first sentence that the model writes is taken (§3.1)
        thought = yield Generate(prompt, stop=sentence, max_tokens=max_tokens)
        if not thought:  # released program
            break
        thoughts.append(thought)
        # both termination criteria (§3.1); a full set of paragraphs is none (released
        # program)
        if gives_answer(thought, released=released) or step == max_steps:
            break
        # retrieve: the last sentence is the query (§3.1)
        query = write_query(thoughts, question.text)
        retrieved = yield Retrieve(query, k, distinct=released)  # K more (§3.1)
        paragraphs = collect(paragraphs, retrieved, max_paragraphs)  # capped (§3.1)
    return Prediction(paragraphs=paragraphs, thoughts=tuple(thoughts))


def read_paragraphs(
    question: Question,
    paragraphs: Sequence[Paragraph],
    prompt: WritePrompt,
    chain: bool,
    max_tokens: int = 200,  # released program
) -> Program:
    """The reader: answer by a chain, or directly; return answer and text (§3.2)."""
    reading = yield Generate(prompt(question, paragraphs), LINE, max_tokens)
    # a direct reader writes the answer alone (§3.2)
    answer = answer_from_chain(reading) if chain else reading
    # not of the form "answer is: ...": the full generation is the answer (§3.2)
    return (reading if answer is None else answer), reading


# stages of the reader, and of a model that names pages (App. B)
STAGES = {"cot": "answers", "direct": "answers", "titles": "names pages to look at"}
# shows one of three sets of 15 questions (§4.1)
READER = System("the reader", read_paragraphs, STAGES, demonstrated_by=SETS)


@system("IRCoT QA", inner=ircot, k=K, m=M, cot=COT)
def ircot_qa(question: Question, *, read, **setting) -> Program:
    """Retrieve with IRCoT, then read all collected paragraphs (IRCoT §3.2)."""
    chain = yield from ircot(question, **setting)
    # from scratch: the reader is not shown the chain (§3.2)
    answer, reading = yield from read(question, chain.paragraphs)
    return replace(chain, answer=answer, reading=reading)


@system("IRCoT QA w/o reader", inner=ircot, k=K, m=M, cot=COT)
def ircot_without_reader(question: Question, **setting) -> Program:
    """Take the answer from the retrieval chain itself, or all of it (IRCoT App. F)."""
    chain = yield from ircot(question, **setting)
    text = " ".join(chain.thoughts)
    answer = answer_from_chain(text)  # the chain of the retrieval has it (App. F)
    return replace(chain, answer=text if answer is None else answer)  # as in §3.2


def collect(
    paragraphs: Sequence[Paragraph],
    retrieved: Sequence[Paragraph],
    max_paragraphs: int,
    max_words: int = 600,  # of a paragraph (released program)
) -> tuple[Paragraph, ...]:
    """Append the retrieved to the collected, up to `max_paragraphs` (IRCoT §3.1),
    except near duplicates and those of more than `max_words` (released program).
    """
    collected = list(paragraphs)
    for paragraph in retrieved:
        if len(collected) >= max_paragraphs:  # those collected first stay (footnote 5)
            break
        if len(paragraph.text.split(" ")) > max_words:  # released program
            continue
        if not any(nearly_equal(paragraph, other) for other in collected):
            collected.append(paragraph)  # at the end, never re-ranked
    return tuple(collected)


def nearly_equal(a: Paragraph, b: Paragraph) -> bool:
    """Whether titles and texts are at least 90% alike (released program)."""
    titles = fuzz.ratio(a.title, b.title, score_cutoff=90)  # 0 below it
    return bool(titles and fuzz.ratio(a.text, b.text, score_cutoff=90))


def with_main_passage(
    question: Question,
    program: Program,
    ask_for_titles: Callable[[], WritePrompt],
    *,
    pages: int = 3,  # App. B
    max_paragraphs: int = 15,  # §3.1, footnote 5
    max_tokens: int = 200,  # released program
) -> Program:
    """Run any program on a question that has a main passage (IRCoT App. B): before its
    first retrieval the model names pages, and all retrievals are within the nearest
    titles of the corpus. The main passage comes first in every reply, counts towards
    `max_paragraphs`, and is among the prediction's paragraphs. `ask_for_titles()`:
    makes the prompt writer; only called if the program retrieves. Where a program names
    pages itself (ReAct), a reply has those of them that are among these, and the main
    passage if it is one. Differs from the released program, which retrieves nothing if
    there are no such titles; ours retrieves from the whole corpus, and the paper does
    not say.
    """
    assert question.passage is not None
    reply: object = None
    titles: tuple[str, ...] | None = ()  # not asked for yet; None: the whole corpus
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            read = end.value.paragraphs
            first = () if question.passage in read else (question.passage,)  # App. B, i
            return replace(end.value, paragraphs=(*first, *read))
        if not isinstance(request, Retrieve):
            reply = yield request
            continue
        if titles == ():  # before the first retrieval, whatever the system (App. B, ii)
            write = ask_for_titles()
            titles = (yield from name_pages(question, write, pages, max_tokens)) or None
        # only within these pages (App. B, ii)
        own = request.titles  # of pages that the program names, as ReAct does
        within = titles
        if own is not None:
            within = tuple(each for each in own if titles is None or each in titles)
        paragraphs = yield replace(request, titles=within)
        # always part of the input, whatever was retrieved (App. B, i)
        if own is None or question.passage.title in own:
            paragraphs = (question.passage, *paragraphs)
        reply = paragraphs[:max_paragraphs]


def name_pages(
    question: Question, write: WritePrompt, pages: int, max_tokens: int
) -> Program:
    """The titles of the corpus nearest to those that the model names (App. B, ii)."""
    written = yield Generate(write(question, n=pages), LINE, max_tokens)
    nearest: list[str] = []
    for title in read_titles(written):
        nearest += yield NearestTitle(title)  # found by BM25 (App. B, ii)
    return tuple(dict.fromkeys(nearest))


def read_titles(text: str) -> list[str]:
    """The titles in a JSON list (App. B), else between commas (released program).

    >>> read_titles('["Rome", "Malmö, Sweden"]'), read_titles('["Rome", "Lund')
    (['Rome', 'Malmö, Sweden'], ['Rome', 'Lund'])
    """
    try:
        titles = TITLES.validate_json(text)
    except ValueError:  # no JSON, or cut off
        titles = text.translate(str.maketrans("", "", '"[]')).split(",")
    return [title.strip() for title in titles if title.strip()]
