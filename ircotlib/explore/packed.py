"""Runs packed into a page: what they did for each question, as HTML in which each line of a prompt
or a paragraph is a number, because these repeat from step to step and from question to question.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Collection, Sequence
from html import escape

from ircotlib.data import Node, Paragraph
from ircotlib.explore.trace import COMPARED, SKIPPED, tell
from ircotlib.program import Extract, Generate, Retrieve, Sample, Step

Lines = dict[str, int]  # the number of each line, from 0 in the order of the page's list


def pack(name: str, value: object) -> str:
    """A value as an element that browsers neither run nor show: JSON, gzipped, in base 64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", "backslashreplace"), 9, mtime=0)
    named = f'type="text/plain" id="packed/{escape(name)}"'
    return f"<script {named}>{b64encode(packed).decode()}</script>\n"


def refer(text: str, lines: Lines) -> str:
    """The attribute of an element that the page fills with a text: the numbers of its lines."""
    numbers = (lines.setdefault(line, len(lines)) for line in text.split("\n"))
    return f'data-lines="{" ".join(map(str, numbers))}"'


def fold_paragraph(paragraph: Paragraph, gold: Collection[str], lines: Lines) -> str:
    """A paragraph, folded below its title; a star marks those in `gold`."""
    title = escape(paragraph.title) + " ★" * (paragraph.id in gold)
    text = f"<p {refer(paragraph.text, lines)}></p>"
    return f"<details><summary>{title}</summary>{text}</details>"


def fold_text(name: str, text: str, lines: Lines) -> str:
    """A prompt or thoughts, folded below a name."""
    return f"<details><summary>{name}</summary><pre {refer(text, lines)}></pre></details>"


def steps_as_html(
    trace: Sequence[Step], gold: Collection[str], nodes: Sequence[Node], lines: Lines
) -> str:
    """The steps of a trace as items of a list: what was done, what came back, and prompts, thoughts
    and paragraphs folded.
    """
    return "".join(f"<li{_show(step, gold, nodes, lines)}</li>" for step in trace)


def _show(step: Step, gold: Collection[str], nodes: Sequence[Node], lines: Lines) -> str:
    words, parts, kind, _ = tell(step, gold, nodes)
    nothing = () if kind in (COMPARED, SKIPPED) else ("nothing",)
    back = [f"<p>{escape(part)}</p>" for part in parts or nothing]
    match step.request:
        case Retrieve() if step.reply:
            back = [fold_paragraph(found, gold, lines) for found in step.reply]
        case Extract(_, paragraph):
            back.append(fold_paragraph(paragraph, gold, lines))
        case Generate(prompt) | Sample(prompt):
            if not isinstance(prompt, str):
                prompt = "\n\n".join(f"{message.role}: {message.text}" for message in prompt)
            if prompt:  # a run that is not replayed has none
                back.append(fold_text(f"prompt, {step.prompt_tokens} tokens", prompt, lines))
            if any(step.thoughts):
                back.append(fold_text("thoughts", "\n\n".join(step.thoughts), lines))
    return f' class="{kind.replace(" ", "-")}"><p>{escape(words)}</p>{"".join(back)}'
