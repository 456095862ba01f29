"""Self-Ask: the model asks itself follow up questions, and answers them itself or by search (Press
2023).
"""

from collections.abc import Mapping
from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve, Stop
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.intermediate import extract_answer, read_answer
from ircotlib.systems.readers import WritePrompt

FOLLOW_UP, ANSWERED = "Follow up:", "Intermediate answer:"
FINAL, NEXT = "So the final answer is:", "\nQuestion:"
BEGUN = " Yes.\nFollow up:"  # what small models are given (released program)


def self_ask(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    begun: str = "",  # BEGUN: every question has a follow up question
    max_tokens: int = 256,
) -> Program:
    """Write follow up questions, their answers and the final answer at once (Press 2023 §3)."""
    prompt = prompts["ask"](question, thoughts=(begun,))
    reply = yield Generate(prompt, stop=(NEXT,), max_tokens=max_tokens)
    return read_asking(_go_on(begun, reply))


def self_ask_with_search(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    begun: str = "",
    k: int = 1,  # paragraphs of a follow up question (ours)
    extract: bool = False,  # intermediate answers by Extract, not written (both ours)
    max_follow_ups: int = 8,  # ours; the released program has no cap
    max_tokens: int = 256,
) -> Program:
    """Search for the answer of each follow up question; what the search leaves open, the model
    answers itself (Press 2023 §3, released program).

    Differs from it: an answer comes from retrieved paragraphs, there from a web search engine.
    """
    text, paragraphs = begun, ()

    def write(stop: Stop) -> Program:
        reply = yield Generate(prompts["ask"](question, thoughts=(text,)), stop, max_tokens)
        return _go_on(text, reply)

    for _ in range(max_follow_ups):
        text = yield from write((f"\n{ANSWERED}", NEXT))
        if not (query := text.rpartition("\n")[2].partition(FOLLOW_UP)[2].strip()):
            break
        found = yield Retrieve(query, k)
        paragraphs += found
        asked = replace(question, text=query)
        read = extract_answer(asked, found) if extract else read_answer(asked, found, prompts)
        text = f"{text}\n{ANSWERED}"
        if answer := (yield from read):
            text = f"{text} {answer}."
        else:
            text = yield from write((f"\n{FOLLOW_UP}", f"\n{FINAL}", NEXT))
    if FINAL not in text:
        text = f"{text}\n{FINAL}"
        text = yield from write(LINE)
    return replace(read_asking(text), paragraphs=tuple(dict.fromkeys(paragraphs)))


def read_asking(text: str) -> Prediction:
    """The prediction of what Self-Ask wrote: its lines, and its final answer; without one, what
    comes after the last colon of the last line (released program).

    Differs from the program: a final answer may have a colon in it.
    """
    text = text.strip()
    lines = tuple(text.splitlines())
    before, marker, answer = text.rpartition(FINAL)
    answer = answer.strip().partition("\n")[0] if marker else text.rpartition("\n")[2]
    answer = (answer if marker else answer.rpartition(":")[2]).strip().removesuffix(".")
    fault = "" if marker and answer else "no final answer"
    return Prediction(answer, thoughts=lines, reading=text, fault=fault)


def _go_on(text: str, reply: str) -> str:
    """The text and what the model wrote next: on the line that is begun, or on a new one."""
    between = " " if not text or text.endswith(":") else "\n"
    return f"{text}{between}{reply}".rstrip()


SYSTEMS = (
    System(
        "Self-Ask w/o IR",
        self_ask,
        stages=("ask",),
        reported=("Self-Ask w/o IR",),
        study=SEARCHAIN,
        color="#a9cdbd",
        order=150,
    ),
    System(
        "Self-Ask",
        self_ask_with_search,
        stages=("ask", "read"),
        reported=("Self-Ask", "SelfAsk"),
        study=SEARCHAIN,
        generations=25,
        color="#5d9b84",
        order=220,
    ),
)
