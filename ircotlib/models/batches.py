"""Requests to a model, checked and cut into batches; and replies as they are stored."""

import json
from collections.abc import Iterable, Sequence

from ircotlib.program import Generate, Sample, Sampled
from ircotlib.text import check_stop

Request = Generate | Sample


def count_rows(request: Request) -> int:
    """How many texts a request asks for."""
    return request.n if isinstance(request, Sample) else 1


def check(request: Request) -> None:
    """Raise ValueError unless stop, max_tokens, n and temperature make sense."""
    check_stop(request.stop)
    rows = count_rows(request)
    temperature = getattr(request, "temperature", 1)  # 0 is what Generate is for
    if request.max_tokens < 1 or rows < 1 or not temperature > 0:
        raise ValueError(
            f"found max_tokens {request.max_tokens}, n {rows} and temperature"
            f" {temperature}, expected more than 0"
        )


def cut_batches(
    lengths: Sequence[int],
    rows: int,
    tokens: float,
    counts: Sequence[int] | None = None,
    order: Iterable[int] | None = None,
) -> list[list[int]]:
    """The indices of all lengths, in batches: as many in each as `rows` and `tokens`,
    padding included, allow, and at least one. `counts`: the rows of each; `order`: by
    default by length.

    >>> cut_batches([9, 4, 50, 4], rows=3, tokens=40)  # 3 rows of 9; 50 is alone
    [[1, 3, 0], [2]]
    """
    if order is None:
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches: list[list[int]] = []
    filled = longest = 0  # of the last batch: its rows, and the tokens of its longest
    for index in order:
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

    >>> write_reply(Sample("Q", 2), 7, [("Ann", -0.5, 2), ("Ben", -1.0, 3)])
    '{"samples": [["Ann", -0.5], ["Ben", -1.0]], "prompt_tokens": 7, "tokens": 5}'
    """
    samples = [(text, mean) for text, mean, *_ in texts]
    thoughts = ["".join(more) for _, _, _, *more in texts]
    content: dict[str, object] = {"text": samples[0][0]}
    if isinstance(request, Sample):
        content = {"samples": samples}
    if any(thoughts):
        content["thoughts"] = thoughts
    content["prompt_tokens"] = prompt_tokens
    content["tokens"] = sum(tokens for _, _, tokens, *_ in texts)
    return json.dumps(content, ensure_ascii=False)


def read_reply(reply: str, request: Request | None = None) -> str | tuple[Sampled, ...]:
    """The text of a reply; for a Sample, its samples in order."""
    content = json.loads(reply)
    if "samples" in content:
        return tuple(Sampled(*pair) for pair in content["samples"])
    return content["text"]
