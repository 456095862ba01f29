"""Requests to a model: checked and cut into batches; and the replies to them as they
are stored.
"""

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
    """Raise ValueError unless stop, max_tokens, n and temperature make sense."""
    check_stop(request.stop)
    if min(request.max_tokens, count_rows(request)) < 1:
        found = f"found max_tokens {request.max_tokens} and n {count_rows(request)}"
        raise ValueError(f"{found}, expected at least 1")
    if not 0 < getattr(request, "temperature", 1) < inf:
        raise ValueError(
            f"found temperature {request.temperature}, expected one above 0"
        )


def cut_batches(
    lengths: Sequence[int],
    rows: int,
    tokens: int,
    counts: Sequence | None = None,
    order=None,
) -> list[list[int]]:
    """The indices of all lengths, in batches: as many in each as `rows` and `tokens`,
    padding included, allow, and at least one. `counts`: the rows of each; `order`: by
    default by length.
    """
    batches = []
    filled = longest = 0  # of the last batch: its rows, and the tokens of its longest
    for index in (
        sorted(range(len(lengths)), key=lengths.__getitem__) if order is None else order
    ):
        count = 1 if counts is None else counts[index]
        filled += count
        longest = max(longest, lengths[index])
        if not batches or filled > rows or filled * longest > tokens:
            batches.append([])
            filled, longest = count, lengths[index]
        batches[-1].append(index)
    return batches


def write_reply(request: Request, prompt_tokens: int, texts: Sequence[tuple]) -> str:
    """The reply as JSON. `texts`: each with its mean log-probability, kept for a
    Sample, the number of tokens computed for it, its end included, and perhaps the
    thoughts before it.
    """
    samples = [(text, mean) for text, mean, *_ in texts]
    content = (
        {"samples": samples} if isinstance(request, Sample) else {"text": samples[0][0]}
    )
    thoughts = ["".join(more) for _, _, _, *more in texts]
    content |= {"thoughts": thoughts} if any(thoughts) else {}
    content |= {
        "prompt_tokens": prompt_tokens,
        "tokens": sum(tokens for _, _, tokens, *_ in texts),
    }
    return json.dumps(content, ensure_ascii=False)


def read_reply(reply: str) -> str | tuple[Sampled, ...]:
    """The text of a reply; for a Sample, its samples in order."""
    content = json.loads(reply)
    if "samples" in content:
        return tuple(Sampled(*pair) for pair in content["samples"])
    return content["text"]
