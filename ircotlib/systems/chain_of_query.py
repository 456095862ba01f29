"""Reads SearChain's chains of query from what a model writes (SearChain §3.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ircotlib.data import Node
from ircotlib.metrics import as_compared

# Of brackets, a colon and the start of a line, two make a mark, such as [Query 1]:
# (ours); case and bold do not matter.
START = r"^[ \t]*(?:[-*#>]+[ \t]*|\d+[.)][ \t]+)?"  # a list's sign may come before it
NAMES = r"unsolved query|query|final (?:content|answer)|answer|question"
MARK = re.compile(
    rf"(?P<start>{START})?(?P<open>\[?) ?(?P<name>{NAMES}) ?#?(?P<number>\d*)"
    r" ?(?P<colon>:?)(?P<close>\]?)(?P<below> ?:)?",
    re.IGNORECASE | re.MULTILINE,
)
# copied from examples, as instructions are
COPIED = re.compile(
    r"If you (don['’]t |do not )?know the answer:|^[ \t]*Instruction:.*$",
    re.IGNORECASE | re.MULTILINE,
)
QUOTED = re.compile(r'"[^"]*"|“[^”]*”')


class Chain(NamedTuple):
    """A chain of query: nodes in order, final content, and what could not be read."""

    nodes: tuple[Node, ...]
    final: str
    fault: str = ""


@dataclass
class Query:
    """A query of a chain that is being read."""

    text: str
    number: str  # as it is written, or ""
    unsolved: bool  # and so takes no answer
    answer: str = ""


def read_chain(text: str, round: int = 1) -> Chain:
    """Read as much of a chain of query as can be read (SearChain §3.2, Figure 3).

    Text before the first mark is dropped; a text without marks is one final content. A
    query is one line, an answer ends at a blank line; the last final content counts. A
    query without an answer is unsolved.
    """
    queries, finals, faults = read_marks(split_at_marks(text))
    if not queries and not finals:
        finals = [text.strip()]
    if not queries:
        faults.append("no query")
    if not any(finals) and all(query.answer for query in queries):
        faults.append("no final content")
    if len(finals) > 1:
        faults.append("more than one final content")
    nodes = [
        Node(query.text, query.answer, round, number, unsolved=not query.answer)
        for number, query in enumerate(queries, start=1)
    ]
    fault = "; ".join(dict.fromkeys(faults))
    return Chain(tuple(nodes), finals[-1] if finals else "", fault)


def read_marks(
    marks: Sequence[tuple[str, str, str]],
) -> tuple[list[Query], list[str], list[str]]:
    """The queries, final contents and faults below the marks of `split_at_marks`."""
    queries: list[Query] = []
    finals: list[str] = []
    faults: list[str] = []
    for position, (mark, number, words) in enumerate(marks):
        if mark == "question":
            # another example begins, unless a final content follows (paper's examples)
            following = marks[position + 1 : position + 2]
            final_follows = bool(following) and following[0][0].startswith("final")
            if finals or (queries and not final_follows):
                break
        elif mark.startswith("final"):  # [Final Content] (§3.3, Tracing)
            finals.append(words)
        elif mark == "answer":
            query = awaiting(queries, number)
            if query is None:
                faults.append("an answer without a query")
            else:
                paragraph = re.split(r"\n\s*\n", words)[0]
                query.answer = bare(" ".join(paragraph.split()))
        elif query_text := bare(words.partition("\n")[0]):
            # one that repeats the query above is the same node (paper's examples)
            unsolved = mark == "unsolved query"
            above = queries[-1].text if queries and not queries[-1].answer else ""
            repeats = above and as_compared(above) == as_compared(query_text)
            if not (unsolved and repeats):
                queries.append(Query(query_text, number, unsolved))
        else:
            faults.append("a query without text")
    return queries, finals, faults


def awaiting(queries: Sequence[Query], number: str) -> Query | None:
    """The query that an answer belongs to: the last one of its number that has none
    yet, else the one right above it.
    """
    waiting = [query for query in queries if not query.answer and not query.unsolved]
    of_number = [query for query in waiting if number and query.number == number]
    if of_number:
        return of_number[-1]
    return waiting[-1] if waiting and waiting[-1] is queries[-1] else None


def read_released_chain(text: str, round: int = 1) -> Chain:
    """Read a chain as the released program does: a query is any line with "Query" and
    "]:", its answer the next line with "Answer", even another query's. The final
    content is read as ours.
    """
    lines = text.split("\n")
    nodes: list[Node] = []
    for number, line in enumerate(lines, start=1):
        if "Query" in line and "]:" in line:
            mark, query = line.split("]")[:2]
            query = query.removeprefix(":").strip()
            answer = next((below for below in lines[number:] if "Answer" in below), "")
            unsolved = "Unsolved" in mark
            nodes.append(Node(query, answer, round, len(nodes) + 1, unsolved))
    return Chain(tuple(nodes), read_chain(text).final)


def split_at_marks(text: str) -> list[tuple[str, str, str]]:
    """The marks in order: name in lower case, number or "", the text up to the next.

    >>> split_at_marks("[Query 1]: Who?\\n**answer**: Ann")
    [('query', '1', 'Who?'), ('answer', '', 'Ann')]
    """
    text = COPIED.sub("", text.replace("**", ""))
    marks = []
    for mark in MARK.finditer(text):
        bracketed = mark["open"] and mark["close"]
        colon = mark["colon"] or mark["below"]
        at_start = mark["start"] is not None
        if sum(map(bool, (at_start, bracketed, colon))) >= 2:
            marks.append(mark)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [
        (mark["name"].lower(), mark["number"], text[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=False)
    ]


def bare(text: str) -> str:
    """A text without bold and, around the whole, quotation marks (Figure 20)."""
    text = text.strip("* \t")
    return text[1:-1].strip() if QUOTED.fullmatch(text) else text
