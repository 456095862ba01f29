"""Search-R1's protocol, prompted: one text of thoughts, searches, what they find, and
the answer, marked by tags (Jin 2025).
"""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.systems import Prompts, system

SEARCH, ANSWER = ("<search>", "</search>"), ("<answer>", "</answer>")
INVALID = (
    "My previous action is invalid. To search, I write the query between <search> and "
    "</search>. To answer, I write the answer between <answer> and </answer>. I try "
    "again."
)


@system("Search-R1 prompted", act="thinks, and searches or answers")
def search_r1(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 3,  # released program
    max_turns: int = 4,  # released program, evaluation (training: 2)
    max_tokens: int = 500,  # of a turn (released program)
) -> Program:
    """Go on with the text until it answers; what it searches is put below it.

    Differs from the paper: the model is not trained for it, and writes greedily;
    wordings are ours; and what a search finds is cut to 350 words a paragraph, not to
    500 tokens in all.
    """
    text = ""
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    stop = (SEARCH[1], ANSWER[1])
    for turn in range(max_turns + 1):  # the last one may not search (released program)
        reply = yield Generate(prompts["act"](question, (), (text,)), stop, max_tokens)
        before, answers, answer = reply.rpartition(ANSWER[0])
        if answers and SEARCH[0] not in answer:
            lines = (*f"{text}{before}".splitlines(), f"{answers}{answer}")
            return Prediction(answer.strip(), tuple(seen), lines, reply)
        _, searches, query = reply.rpartition(SEARCH[0])
        if searches and query.strip() and turn < max_turns:
            pages = yield Retrieve(query.strip(), k)
            seen |= dict.fromkeys(pages)
            text += f"{reply}{SEARCH[1]}\n\n{write_documents(pages)}\n\n"
        else:
            text += f"{reply}\n{INVALID}\n"
    fault = f"no answer after {max_turns} searches"
    return Prediction("", tuple(seen), tuple(text.splitlines()), reply, fault=fault)


def write_documents(pages: Sequence[Paragraph], max_words: int = 350) -> str:
    """What a search found, as the text shows it (released program)."""
    lines = [
        f"Doc {n}(Title: {page.title}) {' '.join(page.text.split()[:max_words])}"
        for n, page in enumerate(pages, start=1)
    ]
    return "<information>" + "\n".join(lines) + "</information>"
