"""DecomP: calls of retrieval and reading (Khot 2023 §4.3; its open-domain program)."""

import json
import re
from dataclasses import replace

from pydantic import TypeAdapter

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain

RETRIEVE = re.compile(r"\(select\) \[retrieve_odqa\] (.+)")
READ = re.compile(r"\(select\) \[multihop_titleqa\] Titles: (\[.*\])\. Question: (.+)")
END = "[EOQ]"
LIST = TypeAdapter(list)


@system(
    "DecomP",
    k=(2, 4, 6),  # paper: this many by title, and by text
    decompose="asks the next sub-question",
    singlehop="answers it from the paragraphs",
    multihop="answers it from earlier paragraphs",
)
def decomp(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 4,  # paragraphs of a sub-question: 2, 4, 6, best on the dev set (paper)
    max_calls: int = 8,  # sub-questions (released program)
    max_tokens: int = 200,  # ours
) -> Program:
    """Write sub-questions until [EOQ], and answer each by retrieval and reading, or by
    reading paragraphs found before (DecomP, released program).

    Differs from the released program: k paragraphs are retrieved by title and text
    together, not half by each; titles name paragraphs found before. One record stands
    for both of the paper's sets of numbers: the text of 2022 is not available.
    """
    lines: list[str] = []  # what was written so far: "QS: " a call, "A: " its result
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    answer = reading = ""
    for _ in range(max_calls):
        so_far = "\n".join([*lines, "QS:"])
        prompt = prompts["decompose"](question, thoughts=(so_far,))
        line = yield Generate(prompt, LINE, max_tokens)
        lines.append(f"QS: {line}")
        if END in line:  # the last answer is the prediction (released program)
            fault = "" if answer else "no answer before [EOQ]"
            break
        stage, text, titles = read_call(line)
        if stage == "singlehop":  # retrieve, then read (released program)
            paragraphs = yield Retrieve(text, k)
            seen |= dict.fromkeys(paragraphs)
        elif stage == "multihop":  # read the paragraphs of titles (released program)
            paragraphs = tuple(p for p in seen if p.title in titles)
        else:  # a step that cannot be parsed ends with "" (released program)
            fault = f"no call: {line[:60]!r}"
            answer = reading = ""  # nor is another text scored
            break
        sub_question = replace(question, text=text, passage=None)
        prompt = prompts[stage](sub_question, paragraphs)
        reading = yield Generate(prompt, LINE, max_tokens)
        answers = read_answers(reading)
        answer = " ".join(answers)  # as it is scored (released program)
        result: object = answers
        if stage == "singlehop":
            titles = list(dict.fromkeys(p.title for p in paragraphs))
            result = {"titles": titles, "answer": answers}
        lines.append(f"A: {json.dumps(result, ensure_ascii=False)}")
    else:
        fault = f"no [EOQ] in {max_calls} sub-questions"
    return Prediction(answer, tuple(seen), tuple(lines), reading, fault=fault)


def read_call(line: str) -> tuple[str, str, list]:
    """The stage, question and titles of a call; for no call, the stage is "".

    >>> read_call('(select) [multihop_titleqa] Titles: ["Oslo"]. Question: How big?')
    ('multihop', 'How big?', ['Oslo'])
    """
    if call := RETRIEVE.fullmatch(line):
        return "singlehop", call[1], []
    call = READ.fullmatch(line)
    titles = read_list(call[1]) if call else None
    if call and titles is not None:
        return "multihop", call[2], titles
    return "", "", []


def read_answers(reply: str) -> list[str]:
    """The answers in a JSON list, else of a chain, else the reply (released program).

    >>> read_answers('["Oslo", 1843]'), read_answers("So the answer is: Oslo.")
    (['Oslo', '1843'], ['Oslo'])
    """
    listed = read_list(reply)
    if listed is None:
        return [answer_from_chain(reply) or reply]
    return [text for text in map(str, listed) if text]


def read_list(text: str) -> list | None:
    try:
        return LIST.validate_json(text)
    except ValueError:  # no JSON, or no list
        return None
