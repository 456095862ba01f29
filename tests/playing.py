"""Plays replies to the programs of systems, and writes their prompts."""

import json

from ircotlib.data import Paragraph, Question
from ircotlib.files.paths import PROMPTS
from ircotlib.program import Sampled
from ircotlib.prompting.prompt import Prompt, read_template


def play(program, replies):
    """Send replies in order; return the requests and what the program returned."""
    requests = []
    try:
        for reply in [None, *replies]:
            requests.append(program.send(reply))
    except StopIteration as stop:
        assert len(requests) == len(replies), "replies are left"
        return requests, stop.value
    raise AssertionError(f"the program wants more than {len(replies)} replies: {requests[-1]}")


def writers(system, *stages, demonstrations=()):
    """The prompt writers of a system, from its templates, with these demonstrations."""
    return {
        stage: Prompt(demonstrations, len, read_template(system, stage), 100_000)
        for stage in stages
    }


def own_demonstrations(system, stage, family):
    """The demonstrations of a file of prompts/own."""
    text = (PROMPTS / "own" / system / f"{stage}.{family}.txt").read_text(encoding="utf-8")
    source, _, blocks = text.partition("\n")
    assert source.startswith("# ")
    return blocks.strip("\n").split("\n\n\n")


def drawn(*texts, scores=None):
    """The reply to a Sample."""
    scores = [None] * len(texts) if scores is None else scores
    return tuple(Sampled(*pair) for pair in zip(texts, scores, strict=True))


def count_words(text):
    """How many words a text has, in place of a model's tokens."""
    return len(text.split())


def real_question(path, number):
    """A question of a file of HotpotQA or 2WikiMultihopQA, and the paragraphs of its context."""
    row = json.loads(path.read_text(encoding="utf-8"))[number]
    context = [Paragraph(f"p{i}", title, "".join(s)) for i, (title, s) in enumerate(row["context"])]
    return Question("q", row["question"], (row["answer"],), (), path.parent.name), context
