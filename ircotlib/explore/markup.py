"""Questions, and what systems did with them, in words that a reader of the papers
understands: as text, and as HTML for notebooks, widgets and reports. Everything from
models, queries, pages and files is text, which question.html escapes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from ircotlib import program
from ircotlib.data import Node, Paragraph, Question
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, recorded, searchain
from ircotlib.text import plain

# SearChain's thresholds: of a reader that is sure, and of a query that was asked before
# (§3.3)
SURE, SAME = (
    signature(searchain).parameters[name].default for name in ("confidence", "same")
)
FEEDBACK = {"": "kept", VERIFICATION: "corrected", COMPLETION: "completed"}
HERE = Path(__file__).parent
# its marks keep JupyterLab from reading formulas between two dollar signs
FRAME = Markup(
    '<div class="ircot tex2jax_ignore mathjax_ignore"><style>{}</style>{}</div>'
)
STYLE = Markup((HERE / "question.css").read_text(encoding="utf-8"))


class Told(NamedTuple):
    """A step in words. `parts`: what came back. `kind`: "looked up", "wrote",
    "compared", "read", or what reading did to SearChain's answer: "kept", "corrected",
    "completed".
    """

    words: str
    parts: tuple[str, ...] | None
    kind: str


def tell(
    step: program.Step, gold: Collection[str] = (), nodes: Collection[Node] = ()
) -> Told:
    """A step in words, without its prompt. A star marks paragraphs in `gold`. `nodes`:
    those of the prediction, which say what was kept, corrected and completed (SearChain
    §3.3).
    """
    reply, writes = (
        step.reply,
        getattr(getattr(step.request, "prompt", ""), "purpose", ""),
    )
    writes = writes or "the model writes"
    match step.request:
        case program.Retrieve(query, _, titles):
            found = tuple(page.title + " ★" * (page.id in gold) for page in reply)
            within = "" if titles is None else f" on {', '.join(titles)}"
            return Told(f"looks up “{query}”{within}", found, "looked up")
        case program.NearestTitle(title):
            return Told(
                f"opens the page titled most like “{title}”", tuple(reply), "looked up"
            )
        case program.Extract(query, paragraph):
            sure = "sure" if reply.confidence > SURE else "not sure"
            answer = (
                (f"{reply.text} ({sure}, {reply.confidence:.1f})",)
                if reply.text
                else ()
            )
            at = [
                node
                for node in nodes
                if (node.query, node.passage) == (query, paragraph.id)
            ]
            kind = FEEDBACK[at[0].feedback] if at else "read"
            return Told(f"reads “{paragraph.title}” for “{query}”", answer, kind)
        case program.Duplicate(query):
            words = (
                "was asked before: skipped" if reply > SAME else "was not asked before"
            )
            return Told(f"“{query}” {words}", None, "compared")
        case program.Generate():
            return Told(writes, (reply,) if reply else (), "wrote")
        case program.Sample(n=n):
            texts = tuple(sampled.text for sampled in reply)
            return Told(f"{writes}, drawn {n} times", texts, "wrote")
        case _:
            raise TypeError(f"unknown request {step.request!r}")


def trace_as_text(trace: Sequence[program.Step], nodes: Collection[Node] = ()) -> str:
    """The steps of a trace, one per line, without prompts. `nodes`: as of `tell`."""
    lines = []
    for number, (words, parts, kind) in enumerate(
        (tell(s, nodes=nodes) for s in trace), start=1
    ):
        back = "" if parts is None else f" → {plain(' · '.join(parts)) or 'nothing'}"
        changed = f": {kind}" if kind in FEEDBACK.values() else ""
        lines.append(f"{number}. {plain(words)}{back}{changed}")
    return "\n".join(lines)


def question_as_html(question: Question, gold: Sequence[Paragraph]) -> Markup:
    """A question with its gold answers and paragraphs."""
    return WRITTEN.question(question.text, question.answers, question.kind, gold)


def answer_as_html(
    name: str,
    outcome: program.Outcome,
    gold: Collection[str] = (),
    facts: Sequence[str] = (),
) -> Markup:
    """A system's answer, SearChain's tree, and all steps with their prompts folded. A
    star marks paragraphs in `gold`. `facts`: more lines about the answer.
    """
    found = outcome.result
    facts = [*facts, found.fault and f"not parsed: {found.fault}"]
    return WRITTEN.answer(name, found.answer, facts, outcome.trace, found.nodes, gold)


def answers_as_html(
    outcomes: Mapping[str, program.Outcome], gold: Collection[str] = ()
) -> Markup:
    """What systems, by name, did with a question, side by side."""
    return side_by_side(
        [answer_as_html(name, outcomes[name], gold) for name in outcomes]
    )


def side_by_side(answers: Sequence[Markup], head: str = "") -> Markup:
    """HTML of answers in columns, below a head, with its style, for a notebook."""
    columns = Markup().join(Markup("<div>{}</div>").format(each) for each in answers)
    return FRAME.format(
        STYLE, head + Markup('<div class="columns">{}</div>').format(columns)
    )


def chains(nodes: Sequence[Node], root: int | None = None) -> list[tuple[Node, list]]:
    """SearChain's tree of reasoning (Figure 1): the nodes of the chains that follow the
    feedback on one node (None: of the first chain), each with what follows it.
    """
    rows, start = [], None
    for place, node in enumerate(nodes):
        start = node.after if node.number == 1 else start
        if start == root:
            rows.append((node, chains(nodes, place)))
    return rows


def folded(step: program.Step) -> Iterator[tuple[str, str]]:
    """The part of a step that is folded away: the paragraphs that it found, or its
    prompt.
    """
    match step.request:
        case program.Retrieve() if step.reply:
            pages = "\n\n".join(f"{page.title}\n{page.text}" for page in step.reply)
            yield f"paragraphs: {len(step.reply)}", pages
        case program.Generate(prompt) | program.Sample(prompt):
            turns = prompt if isinstance(prompt, tuple) else ()
            text = "\n\n".join(f"{turn.role}: {turn.text}" for turn in turns) or prompt
            yield f"prompt, {step.prompt_tokens} tokens", text


# no empty lines where blocks stood
_BARE = {"trim_blocks": True, "lstrip_blocks": True}
PAGES = Environment(loader=FileSystemLoader(HERE), autoescape=True, **_BARE)
PAGES.globals |= {"tell": tell, "feedback": FEEDBACK, "recorded": recorded}
PAGES.globals |= {"chains": chains, "folded": folded}
WRITTEN = PAGES.get_template("question.html").module
