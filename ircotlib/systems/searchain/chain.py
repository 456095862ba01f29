"""Reads chains of query, answers and citations from a model's text (SearChain §3.2, §3.3)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ircotlib.data import Node
from ircotlib.metrics import as_compared
from ircotlib.text import answer_from_chain

START = r"^[ \t]*(?:[-*#>]+[ \t]*|\d+[.)][ \t]+)?"
NAMES = r"unsolved query|query|final (?:content|answer)|answer|question"
MARK = re.compile(rf"({START})?(\[?) ?({NAMES}) ?#?(\d*) ?(:?)(\]?)( ?:)?", re.I | re.M)
COPIED = re.compile(
    r"If you (don['’]t |do not )?know the answer:|^[ \t]*Instruction:.*$", re.I | re.M
)
CITATION = re.compile(r"\[(\d+(?: ?, ?\d+)*)\]")


class Chain(NamedTuple):
    """A chain of query: its nodes in order, its final content, and what could not be read."""

    nodes: tuple[Node, ...]
    final: str
    fault: str = ""


def read_chain(text: str, round: int = 1) -> Chain:
    """Read as much of a chain of query as can be read (SearChain §3.2, Figure 3); never raises.

    These rules are ours. A mark, such as [Query 1]:, needs two of brackets, a colon and the start
    of a line; case and bold do not matter, and [Final Answer] means [Final Content]. Text before
    the first mark and lines copied from the examples' instructions are dropped. A query is one
    line, an answer ends at a blank line, a final content at the next mark; the last final content
    counts. An answer belongs to the last query of its number that has no answer yet, else to the
    query right above it. A query without an answer is unsolved. An unsolved query that repeats the
    query above it is the same node, solved if an answer follows, as in the paper's examples; any
    other unsolved query takes no answer. A [Question] below a query begins another example, so the
    rest is dropped, unless the final content follows directly, as in the paper's examples. A text
    without marks is one final content.
    """
    queries = []
    finals = []  # final contents
    faults = []
    pieces = _pieces(text)
    following = [mark for mark, _, _ in pieces[1:]] + [""]
    for (mark, number, words), after in zip(pieces, following, strict=False):
        if mark == "question" and (finals or (queries and not after.startswith("final"))):
            break
        if mark.startswith("final"):  # [Final Content] (§3.3, Tracing)
            finals.append(words)
        elif mark == "answer":
            faults.append(_answer(queries, number, words))
        elif mark != "question":
            faults.append(_ask(queries, number, words, unsolved=mark == "unsolved query"))
    nodes = _nodes(((query.text, query.answer, not query.answer) for query in queries), round)
    if not (queries or finals):
        finals = [text.strip()]
    if not nodes:
        faults.append("no query")
    if not (any(finals) or any(node.unsolved for node in nodes)):
        faults.append("no final content")
    if len(finals) > 1:
        faults.append("more than one final content")
    return Chain(nodes, (finals or [""])[-1], "; ".join(dict.fromkeys(filter(None, faults))))


def read_released_chain(text: str, round: int = 1) -> Chain:
    """Read a chain as SearChain's released program does: a query is any line with "Query" and "]:",
    its answer the next line with "Answer", even if that belongs to another query. The program does
    not read the final content, so that is read as in `read_chain`.
    """
    lines = text.split("\n")
    queries = []
    for number, line in enumerate(lines, start=1):
        if "Query" in line and "]:" in line:  # released program
            mark, query = line.split("]")[:2]
            answer = next((below for below in lines[number:] if "Answer" in below), "")
            queries.append((query.removeprefix(":").strip(), answer, "Unsolved" in mark))
    return Chain(_nodes(queries, round), read_chain(text).final)


@dataclass(slots=True)
class _Query:
    """A query that was read, with its number as written; `closed`: it takes no answer."""

    number: str
    text: str
    closed: bool
    answer: str = ""


def _pieces(text: str) -> list[tuple[str, str, str]]:
    """The marks in order: each in lower case, with its number or "" and the text up to the next."""
    text = COPIED.sub("", text.replace("**", ""))
    marks = []
    for mark in MARK.finditer(text):
        brackets = bool(mark[2] and mark[6])
        colon = bool(mark[5] or mark[7])
        if (mark[1] is not None) + brackets + colon >= 2:
            marks.append(mark)
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        (mark[3].lower(), mark[4], text[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=False)
    ]


def _ask(queries: list[_Query], number: str, text: str, unsolved: bool) -> str:
    """Add a query; return what is wrong with it, "" if nothing is."""
    query = _bare(text.partition("\n")[0])
    if not query:
        return "a query without text"
    above = queries[-1] if queries and not queries[-1].answer else None
    if not (unsolved and above and as_compared(above.text) == as_compared(query)):
        queries.append(_Query(number, query, closed=unsolved))
    return ""


def _answer(queries: list[_Query], number: str, text: str) -> str:
    """Give an answer to its query; return what is wrong with it, "" if nothing is."""
    waiting = [query for query in queries if not (query.answer or query.closed)]
    named = [query for query in waiting if number and query.number == number]
    above = [query for query in waiting if query is queries[-1]]
    if not (named or above):
        return "an answer without a query"
    (named or above)[-1].answer = _bare(" ".join(re.split(r"\n\s*\n", text)[0].split()))
    return ""


def _bare(text: str) -> str:
    """A text without bold marks, and without quotation marks around the whole (Figure 20)."""
    text = text.strip("* \t")
    return text[1:-1].strip() if re.fullmatch(r'"[^"]*"|“[^”]*”', text) else text


def _nodes(queries: Iterable[tuple[str, str, bool]], round: int) -> tuple[Node, ...]:
    """The nodes of queries, their answers, and whether they are unsolved."""
    numbered = enumerate(queries, start=1)
    return tuple(Node(q, answer, round, n, unsolved) for n, (q, answer, unsolved) in numbered)


def conclude(chains: Sequence[Chain], long_form: bool = False) -> tuple[str, str, str]:
    """The answer, the last final content of a model's replies, and what could not be read of them.

    The answer is what follows "answer is" in the final content; without these words, or for a
    long-form question, it is the whole final content. Marks of references are removed from it.
    """
    final = next((chain.final for chain in reversed(chains) if chain.final), "")
    faults = [f"reply {n}: {c.fault}" for n, c in enumerate(chains, start=1) if c.fault]
    text = re.sub(rf" ?{CITATION.pattern}", "", final).strip()
    answer = None if long_form else answer_from_chain(text)
    return (text if answer is None else _bare(answer)), final, "; ".join(faults)


def citations(final: str) -> list[tuple[int, ...]]:
    """The marks of references in a final content, in order: (1,) for [1], (1, 3) for [1][3] and for
    [1, 3] (SearChain §3.3).
    """
    groups = re.finditer(rf"{CITATION.pattern}(?: ?{CITATION.pattern})*", final)
    return [tuple(map(int, re.findall(r"\d+", group[0]))) for group in groups]
