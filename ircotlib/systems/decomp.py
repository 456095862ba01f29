"""DecomP: decomposes a question into calls of retrieval and reading (Khot et al. 2023, §4.3; the
released program for open-domain questions). IRCoT is compared with it (IRCoT Tables 1 and 3).
"""

import json
import re
from dataclasses import replace

from ircotlib.data import Hop, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import SEARCHAIN, Prompts, System
from ircotlib.text import answer_from_chain

RETRIEVE, READ, END = "retrieve_odqa", "multihop_titleqa", "[EOQ]"
CALL = re.compile(r"\(select\) \[(\w+)\] (.+)")
TITLES = re.compile(r"Titles: (\[.*\])\. Question: (.+)")


def decomp(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 4,  # paragraphs of a sub-question; one of 2, 4, 6, the best on the dev set (paper)
    max_calls: int = 8,  # sub-questions (released program)
    max_tokens: int = 200,
) -> Program:
    """Write sub-questions until [EOQ], and answer each by retrieval and reading, or by reading
    paragraphs found before (DecomP, released program).

    The last answer is the prediction. A line that is not a call ends the program with the answer ""
    and a fault. One record stands for both of the paper's sets of numbers, because the text of 2022
    is not available. Differs from the released program: k paragraphs are retrieved by title and
    text together, not half by each; titles refer to paragraphs found before, which are not
    retrieved again.
    """
    lines, seen, hops = [], {}, []
    answer, reading = "", ""
    for _ in range(max_calls):
        so_far = "\n".join([*lines, "QS:"])
        line = yield Generate(prompts["decompose"](question, thoughts=(so_far,)), LINE, max_tokens)
        lines.append(f"QS: {line}")
        if END in line:
            fault = "" if answer else "no answer before [EOQ]"
            end = {"reading": reading, "fault": fault, "hops": tuple(hops)}
            return Prediction(answer, tuple(seen), tuple(lines), **end)
        module, text, titles = read_call(line)
        if not module:
            fault = f"no call: {line[:60]!r}"
            return Prediction("", tuple(seen), tuple(lines), fault=fault, hops=tuple(hops))
        if module == RETRIEVE:
            stage, paragraphs = "singlehop", (yield Retrieve(text, k))
            seen |= dict.fromkeys(paragraphs)
        else:
            stage, paragraphs = "multihop", tuple(p for p in seen if p.title in titles)
        sub_question = replace(question, text=text, passage=None)
        reading = yield Generate(prompts[stage](sub_question, paragraphs), LINE, max_tokens)
        answer = answer_from_chain(reading) or reading
        hops.append(Hop(text, answer, text if module == RETRIEVE else ""))
        value = [answer]
        if module == RETRIEVE:
            value = {"titles": list(dict.fromkeys(p.title for p in paragraphs)), "answer": [answer]}
        lines.append(f"A: {json.dumps(value, ensure_ascii=False)}")
    fault = f"no [EOQ] in {max_calls} sub-questions"
    end = {"reading": reading, "fault": fault, "hops": tuple(hops)}
    return Prediction(answer, tuple(seen), tuple(lines), **end)


def read_call(line: str) -> tuple[str, str, list[str]]:
    """The module called, its question and the titles given to it; "", "" and [] for no call."""
    call = CALL.fullmatch(line)
    if call and call[1] == RETRIEVE:
        return RETRIEVE, call[2], []
    given = TITLES.fullmatch(call[2]) if call and call[1] == READ else None
    try:
        return (READ, given[2], json.loads(given[1])) if given else ("", "", [])
    except (ValueError, RecursionError):
        return "", "", []


SYSTEMS = (
    System(
        name="DecomP",
        program=decomp,
        stages=("decompose", "singlehop", "multihop"),
        grid={"k": (2, 4, 6)},
        generations=16,
        study=SEARCHAIN,
        reported=("DecomP (2023)", "DecomP (2022)"),
        color="#a06f8f",
        order=310,
    ),
)
