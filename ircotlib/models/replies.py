"""Checks of Generate and Sample, and the replies to them as they are stored."""

import json
from collections.abc import Sequence
from math import inf

from ircotlib.program import Generate, Sample, Sampled
from ircotlib.text import check_stop

Request = Generate | Sample


def count_rows(request: Request) -> int:
    """How many texts a request asks for."""
    return request.n if isinstance(request, Sample) else 1


def check(request: Request) -> None:
    """Raise ValueError unless stop, max_tokens, n and temperature make sense; TypeError for any
    other request.
    """
    if not isinstance(request, Request):
        raise TypeError(f"found a {type(request).__name__}, expected a Generate or a Sample")
    check_stop(request.stop)
    if request.max_tokens < 1:
        raise ValueError(f"found max_tokens {request.max_tokens}, expected at least 1")
    if count_rows(request) < 1:
        raise ValueError(f"found n {request.n}, expected at least 1 sample")
    if isinstance(request, Sample) and not 0 < request.temperature < inf:
        found = f"found temperature {request.temperature}"
        raise ValueError(f"{found}, expected one above 0 (or Generate)")


def write_reply(request: Request, prompt_tokens: int, texts: Sequence[tuple]) -> str:
    """The reply as JSON: "text" (for a Sample, "samples": pairs of text and mean log-probability),
    "prompt_tokens" and "tokens". `texts`: each with its mean log-probability, the number of tokens
    computed for it, its end included, and perhaps the thoughts before it.
    """
    samples = [(text, mean) for text, mean, *_ in texts]
    content = {"samples": samples} if isinstance(request, Sample) else {"text": samples[0][0]}
    thoughts = ["".join(more) for _, _, _, *more in texts]
    content |= {"thoughts": thoughts} if any(thoughts) else {}
    content |= {"prompt_tokens": prompt_tokens, "tokens": sum(tokens for _, _, tokens, *_ in texts)}
    return json.dumps(content, ensure_ascii=False)


def read_reply(reply: str) -> str | tuple[Sampled, ...]:
    """The text of a reply; for a Sample, its samples in order."""
    content = json.loads(reply)
    if "samples" in content:
        return tuple(Sampled(*pair) for pair in content["samples"])
    return content["text"]
