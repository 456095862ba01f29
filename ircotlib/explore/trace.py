"""Traces in words that a reader of the papers understands, for the terminal, boxes and reports."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ircotlib import program
from ircotlib.data import Node, Paragraph, Question
from ircotlib.systems.searchain import SYSTEMS
from ircotlib.systems.searchain.tree import COMPLETION, VERIFICATION
from ircotlib.text import escape, plain

# SearChain's thresholds: of a reader that is sure, and of a query that was asked before (§3.3)
SURE, SAME = (SYSTEMS[-1].defaults[name] for name in ("confidence", "same"))
LOOKED_UP, READ, WROTE = "looked up", "read", "wrote"  # kinds of steps
COMPARED, SKIPPED = "compared", "skipped"  # with earlier queries
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
            titles_found = (found.title + " ★" * (found.id in gold) for found in reply)
            within = "" if titles is None else f" on {', '.join(titles)}"
            return Told(f"looks up “{query}”{within}", tuple(titles_found), LOOKED_UP, query)
        case program.NearestTitle(title):
            return Told(
                f"opens the page titled most like “{title}”", tuple(reply), LOOKED_UP, title
            )
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


def trace_as_text(trace: Sequence[program.Step]) -> str:
    """The steps of a trace, one per line, without prompts."""
    lines = []
    for number, told in enumerate(map(tell, trace), start=1):
        back = (
            ""
            if told.kind in (COMPARED, SKIPPED)
            else f" → {plain(' · '.join(told.parts)) or 'nothing'}"
        )
        lines.append(f"{number}. {plain(told.words)}{back}")
    return "\n".join(lines)


def trace_as_markdown(trace: Sequence[program.Step], question: Question) -> str:
    """The steps of a trace as Markdown: prompts and thoughts folded, gold paragraphs starred."""
    parts = []
    for number, step in enumerate(trace, start=1):
        request, reply, *_ = tell(step, question.gold)
        parts.append(f"**{number}.** *{escape(request)}*")
        if isinstance(step.request, program.Generate | program.Sample):
            prompt = step.request.prompt
            if not isinstance(prompt, str):
                prompt = "\n\n".join(f"{message.role}: {message.text}" for message in prompt)
            head = f"<summary>prompt, {step.prompt_tokens} tokens</summary>"
            parts.append(f"<details>{head}<pre>{escape(prompt)}</pre></details>")
            if any(step.thoughts):
                thoughts = escape("\n\n".join(filter(None, step.thoughts)))
                parts.append(f"<details><summary>thoughts</summary><pre>{thoughts}</pre></details>")
            text = "<br>".join(f"**{escape(part)}**" if part else "nothing" for part in reply)
        else:
            text = " · ".join(map(escape, reply))
        parts.append(f"&nbsp;&nbsp;→ {text or 'nothing'}")
    return "\n\n".join(parts)


def answer_as_markdown(system: str, outcome: program.Outcome, question: Question) -> str:
    """What a system did with a question, and its answer, as Markdown."""
    answer = escape(outcome.result.answer) or "nothing"
    trace = trace_as_markdown(outcome.trace, question)
    return f"{trace}\n\n**{escape(system)} answers: {answer}**"


def question_as_markdown(question: Question, gold: Iterable[Paragraph]) -> str:
    """A question with its first answer and its gold paragraphs, as Markdown."""
    head = f"**{escape(question.text)}** → {escape(question.answers[0])} ({escape(question.kind)})"
    return "\n".join([f"{head}\n", *(f"- **{escape(p.title)}.** {escape(p.text)}" for p in gold)])
