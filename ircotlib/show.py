"""Showing what a program did: its trace as text, and a box to ask a question of one's own."""

import html
import os
from collections.abc import Callable, Sequence

import ipywidgets
from IPython.display import Markdown, display

from ircotlib.data import Question
from ircotlib.program import Retrieve
from ircotlib.scheduler import Step


def trace_as_markdown(trace: Sequence[Step], question: Question) -> str:
    """Every retrieval and generation of one question, in order, as Markdown; prompts are folded, gold paragraphs marked with a star."""
    return "\n\n".join(f"**{number}.** {_step(step, question)}" for number, step in enumerate(trace, start=1))


def _step(step: Step, question: Question) -> str:
    if isinstance(step.request, Retrieve):
        found = " · ".join(p.title + " ★" * (p.id in question.gold) for p in step.reply) or "nothing"
        return f"*retrieve {step.request.k} with* “{step.request.query}”\n\n&nbsp;&nbsp;→ {found}"
    prompt = f"<details><summary>prompt, {step.prompt_tokens} tokens</summary><pre>{html.escape(step.request.prompt)}</pre></details>"
    return f"*generate, stop at {step.request.stop or 'the end'}*\n\n{prompt}\n\n&nbsp;&nbsp;→ **{step.reply or '(nothing)'}**"


def ask_box(ask: Callable[[str, str], str], systems: Sequence[str], text: str = "") -> None:
    """Show a box that passes a typed question and a chosen system to `ask` and shows the Markdown it returns; silent in batch."""
    if os.environ.get("IRCOT_BATCH"):
        return
    typed = ipywidgets.Text(text, description="question", layout={"width": "70%"})
    system = ipywidgets.Dropdown(options=systems, description="system")
    button, output = ipywidgets.Button(description="Ask", button_style="primary"), ipywidgets.Output()

    def answer(_) -> None:
        output.clear_output()
        with output:
            display(Markdown(ask(typed.value, system.value)))

    button.on_click(answer)
    display(ipywidgets.VBox([typed, ipywidgets.HBox([system, button]), output]))
