"""Questions, and what systems did with them, in words that a reader of the papers
understands: as text, and as HTML, in which question.html escapes all that it is given.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from ircotlib import program
from ircotlib.data import Node
from ircotlib.experiment.replay import LOST
from ircotlib.program import Outcome, Step
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, recorded, searchain
from ircotlib.text import plain

SURE = signature(searchain).parameters["confidence"].default  # the reader (§3.3)
FEEDBACK = {"": "kept", VERIFICATION: "corrected", COMPLETION: "completed"}
HERE = Path(__file__).parent
STYLE = Markup((HERE / "question.css").read_text(encoding="utf-8"))


class StepInWords(NamedTuple):
    """A step in words, and in `parts` what came back. `kind`: "looked up", "compared",
    "wrote", "read", or what reading did to SearChain's answer: one of FEEDBACK.
    """

    words: str
    parts: tuple[str, ...] | None
    kind: str


def step_in_words(
    step: Step, gold: Collection[str] = (), nodes: Sequence[Node] = ()
) -> StepInWords:
    """A step in words, without its prompt. A star marks paragraphs in `gold`. `nodes`:
    the prediction's, which say what was kept, corrected, completed (SearChain §3.3).
    """
    reply: Any = step.reply  # of the one type that answers this kind of request
    writes = getattr(step.request, "purpose", "") or "the model writes"
    match step.request:
        case program.Retrieve(query, _, titles):
            pages = tuple(page.title + " ★" * (page.id in gold) for page in reply)
            within = "" if titles is None else f" on {', '.join(titles)}"
            return StepInWords(f"looks up “{query}”{within}", pages, "looked up")
        case program.NearestTitle(title):
            words = f"opens the page titled most like “{title}”"
            return StepInWords(words, tuple(reply), "looked up")
        case program.Extract(query, paragraph):
            sure = "sure" if reply.confidence > SURE else "not sure"
            answer = f"{reply.text} ({sure}, {reply.confidence:.1f})"
            kind = "read"  # unless a node's answer was compared with this passage
            for node in reversed(nodes):  # the first counts, if it was asked again
                if (node.query, node.passage) == (query, paragraph.id):
                    kind = FEEDBACK[node.feedback]
            words = f"reads “{paragraph.title}” for “{query}”"
            return StepInWords(words, (answer,) if reply.text else (), kind)
        case program.Duplicate(query):
            verdict = "asked before: skipped" if reply else "not asked before"
            return StepInWords(f"“{query}” was {verdict}", None, "compared")
        case program.Generate():
            return StepInWords(writes, (reply,) if reply else (), "wrote")
        case program.Sample(n=n):
            texts = tuple(sampled.text for sampled in reply)
            return StepInWords(f"{writes}, drawn {n} times", texts, "wrote")
        case _:
            raise TypeError(f"unknown request {step.request!r}")


def trace_as_text(trace: Sequence[Step], nodes: Sequence[Node] = ()) -> str:
    """The steps of a trace in words, one a line. `nodes`: see `step_in_words`."""
    lines = []
    for number, step in enumerate(trace, start=1):
        words, parts, kind = step_in_words(step, nodes=nodes)
        line = f"{number}. {plain(words)}"
        if parts is not None:
            line += f" → {plain(' · '.join(parts)) or 'nothing'}"
        if kind in FEEDBACK.values():
            line += f": {kind}"
        lines.append(line)
    return "\n".join(lines)


def answers_as_html(outcomes: Mapping[str, Outcome], gold: Collection[str] = ()) -> str:
    """What systems, by name, did with a question: answers, SearChain's tree, and steps
    with their prompts folded. A star marks paragraphs in `gold`.
    """
    shown = [MACROS["answer"](name, did, gold) for name, did in outcomes.items()]
    return MACROS["side_by_side"](shown)


def chains(nodes: Sequence[Node], root: int | None = None) -> list[tuple[Node, list]]:
    """SearChain's tree of reasoning (Figure 1): the nodes of the chains that follow the
    feedback on one node (None: of the first chain), each with what follows it.

    >>> first, second = Node("a?", "", 1, 1), Node("b?", "", 2, 1, after=0)
    >>> [(node.query, len(rows)) for node, rows in chains([first, second])]
    [('a?', 1)]
    """
    rows = []
    start = None
    for place, node in enumerate(nodes):
        if node.number == 1:  # only a chain's first node says what the chain follows
            start = node.after
        if start == root:
            rows.append((node, chains(nodes, place)))
    return rows


def folded(step: Step) -> Iterator[tuple[str, str]]:
    """A head, and what is folded below it: the paragraphs found, or a prompt."""
    reply: Any = step.reply
    match step.request:
        case program.Retrieve() if reply:
            pages = [f"{page.title}\n{page.text}" for page in reply]
            yield f"paragraphs: {len(pages)}", "\n\n".join(pages)
        case program.Generate(prompt) | program.Sample(prompt):
            if isinstance(prompt, tuple):  # the turns of a chat
                prompt = "\n\n".join(f"{turn.role}: {turn.text}" for turn in prompt)
            yield f"prompt, {step.prompt_tokens} tokens", prompt


PAGES = Environment(loader=FileSystemLoader(HERE), autoescape=True)
PAGES.trim_blocks = PAGES.lstrip_blocks = True  # no empty lines where blocks stood
PAGES.globals.update(step_in_words=step_in_words, chains=chains, folded=folded)
PAGES.globals.update(recorded=recorded, feedback=FEEDBACK, style=STYLE, lost=LOST)
MACROS: dict[str, Any] = vars(PAGES.get_template("question.html").module)
