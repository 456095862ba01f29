"""Traces in words that a reader of the papers understands, for terminals, boxes and reports."""

from collections.abc import Collection, Sequence
from inspect import signature
from typing import NamedTuple

from ircotlib import program
from ircotlib.data import Node
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, searchain
from ircotlib.text import plain

# SearChain's thresholds: of a reader that is sure, and of a query that was asked before (§3.3)
SURE, SAME = (signature(searchain).parameters[name].default for name in ("confidence", "same"))
FEEDBACK = {"": "kept", VERIFICATION: "corrected", COMPLETION: "completed"}


class Told(NamedTuple):
    """A step in words. `parts`: what came back, None if nothing can. `kind`: "looked up", "wrote",
    "compared", "read", or what reading did to SearChain's answer: "kept", "corrected", "completed".
    """

    words: str
    parts: tuple[str, ...] | None
    kind: str


def tell(step: program.Step, gold: Collection[str] = (), nodes: Collection[Node] = ()) -> Told:
    """A step in words, without its prompt. A star marks paragraphs in `gold`. `nodes`: those of the
    prediction, which say what was kept, corrected and completed (SearChain §3.3).
    """
    reply = step.reply
    match step.request:
        case program.Retrieve(query, _, titles):
            found = tuple(page.title + " ★" * (page.id in gold) for page in reply)
            within = "" if titles is None else f" on {', '.join(titles)}"
            return Told(f"looks up “{query}”{within}", found, "looked up")
        case program.NearestTitle(title):
            return Told(f"opens the page titled most like “{title}”", tuple(reply), "looked up")
        case program.Extract(query, paragraph):
            sure = "sure" if reply.confidence > SURE else "not sure"
            answer = (f"{reply.text} ({sure}, {reply.confidence:.1f})",) if reply.text else ()
            at = [node for node in nodes if (node.query, node.passage) == (query, paragraph.id)]
            kind = FEEDBACK[at[0].feedback] if at else "read"
            return Told(f"reads “{paragraph.title}” for “{query}”", answer, kind)
        case program.Duplicate(query):
            words = "was asked before: skipped" if reply > SAME else "was not asked before"
            return Told(f"“{query}” {words}", None, "compared")
        case program.Generate(prompt):
            return Told(_purpose(prompt), (reply,) if reply else (), "wrote")
        case program.Sample(prompt, n):
            texts = tuple(sampled.text for sampled in reply)
            return Told(f"{_purpose(prompt)}, drawn {n} times", texts, "wrote")
    raise TypeError(f"found the request {step.request!r}, expected one of {program.Request}")


def _purpose(prompt: object) -> str:
    return getattr(prompt, "purpose", "") or "the model writes"


def trace_as_text(trace: Sequence[program.Step], nodes: Collection[Node] = ()) -> str:
    """The steps of a trace, one per line, without prompts. `nodes`: as of `tell`."""
    lines = []
    for number, (words, parts, kind) in enumerate((tell(s, nodes=nodes) for s in trace), start=1):
        back = "" if parts is None else f" → {plain(' · '.join(parts)) or 'nothing'}"
        changed = f": {kind}" if kind in FEEDBACK.values() else ""
        lines.append(f"{number}. {plain(words)}{back}{changed}")
    return "\n".join(lines)
