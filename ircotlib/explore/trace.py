"""Traces and questions in words, as text and as Markdown."""

from collections.abc import Collection, Iterable, Sequence

from ircotlib import program
from ircotlib.data import Paragraph, Question
from ircotlib.text import escape, plain


def tell(step: program.Step, gold: Collection[str] = ()) -> tuple[str, list[str]]:
    """A step in words, without its prompt: the request, and the parts of the reply. A star marks
    paragraphs in `gold`.
    """
    reply = step.reply
    thought = ", after thoughts" if any(step.thoughts) else ""
    match step.request:
        case program.Retrieve(query, k):
            titles = [paragraph.title + " ★" * (paragraph.id in gold) for paragraph in reply]
            return f"retrieve {k} with “{query}”", titles
        case program.NearestTitle(title):
            return f"find the page titled most like “{title}”", list(reply)
        case program.Extract(query, paragraph):
            answer = [f"{reply.text} ({reply.confidence:.2f})"] if reply.text else []
            return f"read “{paragraph.title}” for “{query}”", answer
        case program.Duplicate(query, earlier):
            return f"compare with {len(earlier)} earlier queries “{query}”", [f"{reply:.2f}"]
        case program.Generate(stop=stop):
            return f"generate, stop at {_name_stop(stop)}{thought}", [reply]
        case program.Sample(n=n, temperature=temperature, stop=stop):
            request = f"draw {n} at temperature {temperature}, stop at {_name_stop(stop)}{thought}"
            return request, [sampled.text for sampled in reply]
    raise program.unknown(step.request)


def _name_stop(stop: program.Stop) -> str:
    if stop is None:
        return "the end"
    return stop if isinstance(stop, str) else " or ".join(map(repr, stop))


def trace_as_text(trace: Sequence[program.Step]) -> str:
    """The steps of a trace, one per line, without prompts."""
    lines = []
    for number, (request, reply) in enumerate(map(tell, trace), start=1):
        lines.append(f"{number}. {plain(request)} → {plain(' · '.join(reply)) or 'nothing'}")
    return "\n".join(lines)


def trace_as_markdown(trace: Sequence[program.Step], question: Question) -> str:
    """The steps of a trace as Markdown: prompts and thoughts folded, gold paragraphs starred."""
    parts = []
    for number, step in enumerate(trace, start=1):
        request, reply = tell(step, question.gold)
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
