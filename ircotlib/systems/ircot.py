"""IRCoT: interleaving retrieval with chain-of-thought (IRCoT §3.1, Figure 2)."""

from collections.abc import Callable, Sequence

from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import SENTENCE, Generate, Program, Retrieve
from ircotlib.systems.iirc import main_passage
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import gives_answer, last_sentence


def ircot(
    question: Question,
    prompt: WritePrompt,
    *,
    k: int,  # one of 2, 4, 6, 8, the best on the dev set (§4.1)
    max_steps: int = 8,  # sentences (§3.1, footnote 4); the released program has 10
    max_paragraphs: int = 15,  # footnote 5
    max_tokens: int = 200,  # of one generation (released program; 300 for GPT-3)
    # retrieve within these pages only (App. B); None: the whole corpus
    titles: tuple[str, ...] | None = None,
    write_query: Callable[[Sequence[str], str], str] = last_sentence,
) -> Program:
    """Interleave reason and retrieve steps; return the collected paragraphs and the chain (IRCoT
    §3.1).

    `write_query(thoughts, question)`: the paper's last sentence, or `ircotlib.text.query_from` as
    in the released program. An empty sentence ends the loop (released program). Nothing is
    retrieved after the last sentence. The question's main passage is there from the start (App. B).
    """
    paragraphs, thoughts = (
        collect(main_passage(question), (yield Retrieve(question.text, k, titles)), max_paragraphs),
        [],
    )
    for step in range(1, max_steps + 1):
        # reason
        sentence = yield Generate(
            prompt(question, paragraphs, thoughts), stop=SENTENCE, max_tokens=max_tokens
        )
        if not sentence:
            break
        thoughts.append(sentence)
        if gives_answer(sentence) or step == max_steps:
            break
        found = yield Retrieve(write_query(thoughts, question.text), k, titles)  # retrieve
        paragraphs = collect(paragraphs, found, max_paragraphs)
    return Prediction(paragraphs=paragraphs, thoughts=tuple(thoughts))


def ircot_qa(
    question: Question, prompt: WritePrompt, reader_prompt: WritePrompt, reader, **setting
) -> Program:
    """Retrieve with IRCoT, then read all collected paragraphs from scratch: the chain is not shown
    (IRCoT §3.2).

    `setting`: that of `ircot`.
    """
    found = yield from ircot(question, prompt, **setting)
    answer, reading = yield from reader(question, found.paragraphs, reader_prompt)
    return Prediction(answer, found.paragraphs, found.thoughts, reading)


def collect(
    paragraphs: Sequence[Paragraph], found: Sequence[Paragraph], max_paragraphs: int
) -> tuple[Paragraph, ...]:
    """Add what was found to the collected paragraphs: oldest first, never re-ranked, at most
    `max_paragraphs` (IRCoT §3.1).

    Paragraphs of over 600 words and near duplicates are left out (released program).
    """
    collected = list(paragraphs)
    for paragraph in found:
        if (
            len(collected) < max_paragraphs
            and _is_short(paragraph)
            and not any(_is_near(paragraph, other) for other in collected)
        ):
            collected.append(paragraph)
    return tuple(collected)


def _is_short(paragraph: Paragraph, max_words: int = 600) -> bool:
    return len(paragraph.text.split(" ")) <= max_words


def _is_near(a: Paragraph, b: Paragraph, ratio: float = 90) -> bool:
    """Whether title and text are both at least 90% alike (released program: rapidfuzz ratio)."""
    return (
        fuzz.ratio(a.title, b.title, score_cutoff=ratio) > 0
        and fuzz.ratio(a.text, b.text, score_cutoff=ratio) > 0
    )
