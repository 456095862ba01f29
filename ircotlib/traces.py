"""A trace as it is kept with a run: the lines of predictions.jsonl."""

from dataclasses import asdict, fields

from ircotlib.program import (
    Duplicate,
    Extract,
    Generate,
    NearestTitle,
    Outcome,
    Retrieve,
    Sample,
    Step,
    unknown,
)


def row_of(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: what the system said, and its trace without the prompts."""
    row = {one.name: getattr(outcome.result, one.name) for one in fields(outcome.result)}
    row["paragraphs"] = [paragraph.id for paragraph in outcome.result.paragraphs]
    row["nodes"] = [asdict(node) for node in outcome.result.nodes]
    return {"id": id, **row, "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    """One step of a trace; replay shows the prompts."""
    tokens = {"prompt_tokens": step.prompt_tokens, "tokens": step.tokens}
    match step.request:
        case Retrieve(query, k, titles):
            within = {} if titles is None else {"titles": titles}
            found = [paragraph.id for paragraph in step.reply]
            return {"retrieve": query, "k": k, **within, "found": found}
        case NearestTitle(title):
            return {"nearest title": title, "found": step.reply}
        case Extract(query, paragraph):
            return {"extract": query, "from": paragraph.id, **step.reply._asdict()}
        case Duplicate(query, earlier):
            return {"duplicate": query, "of": earlier, "score": step.reply}
        case Generate(stop=stop):
            return {"generate": step.reply, "stop": stop, **tokens}
        case Sample(stop=stop, temperature=temperature):
            drawn = [text._asdict() for text in step.reply]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}
    raise unknown(step.request)
