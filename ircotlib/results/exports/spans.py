"""Traces as spans of OpenInference, which Phoenix and other viewers of traces read:
https://github.com/Arize-ai/openinference (spec/semantic_conventions.md)
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from datetime import datetime, timedelta

from ircotlib import program
from ircotlib.data import Paragraph, Question
from ircotlib.datasets.pooled import digest
from ircotlib.program import Outcome, Step, unknown

STEP = timedelta(milliseconds=1)


def spans_of(
    question: Question, outcome: Outcome, system: str, model: str, run: str, ended: datetime
) -> Iterator[dict]:
    """The spans of a question: a CHAIN, and below it one for each request, in order.

    `run`: a text of this run only, of which ids are made, the same each time. A trace has no times:
    each request is given a millisecond, from `ended` on, the end of the run.
    """
    trace = digest(f"{run} {question.id}", 32)
    ids = [digest(f"{trace} {number}", 16) for number in range(len(outcome.trace) + 1)]
    about = {"question": question.id, "dataset": question.dataset, "answers": question.answers}
    chain = {"input.value": question.text, "output.value": outcome.result.answer}
    chain |= {"metadata": _json(about | {"system": system})}
    steps = [(type(step.request).__name__, *_describe(step, model)) for step in outcome.trace]
    for number, (name, kind, values) in enumerate([(system, "CHAIN", chain), *steps]):
        parent = ids[0] if number else None
        start = ended + STEP * number
        times = {"start_time": start, "end_time": start + STEP * (1 if number else len(ids))}
        span = {"name": name, "context": {"trace_id": trace, "span_id": ids[number]}}
        span |= {"parent_id": parent, "span_kind": kind, "status_code": "OK"}
        span |= {time: moment.isoformat() for time, moment in times.items()}
        yield span | {"attributes": {"openinference.span.kind": kind} | values}


def _describe(step: Step, model: str) -> tuple[str, dict]:
    """The kind and the attributes of the span of a request."""
    reply = step.reply
    match step.request:
        case program.Retrieve(query, k):
            return "RETRIEVER", {"input.value": query, "metadata": _json({"k": k})} | _list(reply)
        case program.NearestTitle(title):
            found = (Paragraph(name, name, name) for name in reply)
            return "RETRIEVER", {"input.value": title} | _list(found)
        case program.Extract(query, paragraph):
            values = {"query": query, "paragraph": asdict(paragraph)}
            return "TOOL", _tool("extract", values, reply._asdict())
        case program.Duplicate(query, earlier):
            return "TOOL", _tool("duplicate", {"query": query, "earlier": earlier}, reply)
        case program.Generate():
            return "LLM", _read_texts(step, [reply], model)
        case program.Sample():
            return "LLM", _read_texts(step, [text for text, _ in reply], model)
    raise unknown(step.request)


def _list(paragraphs: Iterable[Paragraph]) -> dict:
    values = {}
    for number, paragraph in enumerate(paragraphs):
        document = f"retrieval.documents.{number}.document"
        values |= {f"{document}.id": paragraph.id, f"{document}.content": paragraph.text}
        values |= {f"{document}.metadata": _json({"title": paragraph.title})}
    return values


def _tool(name: str, asked: object, reply: object) -> dict:
    return {"tool.name": name, "input.value": _json(asked), "output.value": _json(reply)}


def _read_texts(step: Step, texts: list[str], model: str) -> dict:
    """Of a model's texts: a prompt is one message of the user, or those of a chat."""
    request = step.request
    asked = {field.name: getattr(request, field.name) for field in fields(request)}
    prompt = asked.pop("prompt")
    prompts = [("user", prompt)] if isinstance(prompt, str) else prompt
    values = {"llm.model_name": model, "llm.invocation_parameters": _json(asked)}
    values |= {"llm.token_count.prompt": step.prompt_tokens}
    values |= {"llm.token_count.completion": step.tokens}
    values |= {"llm.token_count.total": step.prompt_tokens + step.tokens}
    replies = [("assistant", text) for text in texts]
    for side, messages in {"input": prompts, "output": replies}.items():
        values[f"{side}.value"] = "\n\n".join(text for _, text in messages)
        for number, (role, text) in enumerate(messages):
            message = f"llm.{side}_messages.{number}.message"
            values |= {f"{message}.role": role, f"{message}.content": text}
    return values


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
