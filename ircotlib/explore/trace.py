"""Traces in words that a reader of the papers understands, for the terminal, boxes and reports."""

from collections.abc import Collection, Sequence
from inspect import signature
from typing import NamedTuple

from ircotlib import program
from ircotlib.data import Node
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, searchain
from ircotlib.text import plain

# SearChain's thresholds: of a reader that is sure, and of a query that was asked before (§3.3)
SURE, SAME = (signature(searchain).parameters[name].default for name in ("confidence", "same"))
LOOKED_UP, READ, WROTE = "looked up", "read", "wrote"  # kinds of steps
COMPARED, SKIPPED = SILENT = "compared", "skipped"  # with earlier queries: nothing comes back
KEPT, CORRECTED, COMPLETED = "kept", "corrected", "completed"  # by a passage that was read
FEEDBACK = {"": KEPT, VERIFICATION: CORRECTED, COMPLETION: COMPLETED}


class Told(NamedTuple):
    """A step in words. `words`: what was done; `parts`: what came back, piece by piece, () for
    nothing; `kind`: LOOKED_UP, READ, WROTE, COMPARED or SKIPPED, or what reading a passage did to
    an answer of SearChain: KEPT, CORRECTED or COMPLETED; `at`: the query or page that it is about,
    "" for what the model writes.
    """

    words: str
    parts: tuple[str, ...]
    kind: str
    at: str = ""


def tell(step: program.Step, gold: Collection[str] = (), nodes: Collection[Node] = ()) -> Told:
    """A step in words, without its prompt. A star marks paragraphs in `gold`. `nodes`: those of the
    prediction, which say what was kept, corrected and completed (SearChain §3.3).
    """
    reply = step.reply
    match step.request:
        case program.Retrieve(query, _, titles):
            found = tuple(page.title + " ★" * (page.id in gold) for page in reply)
            within = "" if titles is None else f" on {', '.join(titles)}"
            return Told(f"looks up “{query}”{within}", found, LOOKED_UP, query)
        case program.NearestTitle(title):
            words = f"opens the page titled most like “{title}”"
            return Told(words, tuple(reply), LOOKED_UP, title)
        case program.Extract(query, paragraph):
            sure = "sure" if reply.confidence > SURE else "not sure"
            answer = (f"{reply.text} ({sure}, {reply.confidence:.1f})",) if reply.text else ()
            at = [node for node in nodes if (node.query, node.passage) == (query, paragraph.id)]
            kind = FEEDBACK[at[0].feedback] if at else READ
            return Told(f"reads “{paragraph.title}” for “{query}”", answer, kind, query)
        case program.Duplicate(query):
            if reply > SAME:
                return Told(f"“{query}” was asked before: skipped", (), SKIPPED, query)
            return Told(f"“{query}” was not asked before", (), COMPARED, query)
        case program.Generate(prompt) | program.Sample(prompt):
            words = getattr(prompt, "purpose", "") or "the model writes"
            words += ", after thoughts" if any(step.thoughts) else ""
            if isinstance(step.request, program.Sample):
                texts = tuple(sampled.text for sampled in reply)
                return Told(f"{words}, drawn {step.request.n} times", texts, WROTE)
            return Told(words, (reply,) if reply else (), WROTE)
    raise program.unknown(step.request)


def trace_as_text(trace: Sequence[program.Step], nodes: Collection[Node] = ()) -> str:
    """The steps of a trace, one per line, without prompts. `nodes`: as of `tell`."""
    lines = []
    for number, told in enumerate((tell(step, nodes=nodes) for step in trace), start=1):
        line = f"{number}. {plain(told.words)}"
        if told.kind not in SILENT:
            line += f" → {plain(' · '.join(told.parts)) or 'nothing'}"
        lines.append(line + (f": {told.kind}" if told.kind in FEEDBACK.values() else ""))
    return "\n".join(lines)
