"""Showing what a program did: its trace as text, and a box to ask a question of one's own."""

import html
import os
from collections.abc import Callable, Sequence

import ipywidgets
from IPython.display import Markdown, display

from ircotlib.data import Question
from ircotlib.laboratory.contexts import gold_passages
from ircotlib.laboratory.encyclopedia import World
from ircotlib.laboratory.questions import Riddle
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.scheduler import Step


def trace_as_markdown(trace: Sequence[Step], question: Question) -> str:
    """Every retrieval and generation of one question, in order, as Markdown; prompts are folded,
    gold paragraphs marked with a star.
    """
    return "\n\n".join(
        f"**{number}.** {_step(step, question)}" for number, step in enumerate(trace, start=1)
    )


def _step(step: Step, question: Question) -> str:
    if isinstance(step.request, Retrieve):
        found = (
            " · ".join(p.title + " ★" * (p.id in question.gold) for p in step.reply) or "nothing"
        )
        return f"*retrieve {step.request.k} with* “{step.request.query}”\n\n&nbsp;&nbsp;→ {found}"
    if isinstance(step.request, NearestTitle):
        return f"*find the page titled most like* “{step.request.title}”\n\n&nbsp;&nbsp;→ {' · '.join(step.reply) or 'nothing'}"
    prompt = f"<details><summary>prompt, {step.prompt_tokens} tokens</summary><pre>{html.escape(step.request.prompt)}</pre></details>"
    return f"*generate, stop at {step.request.stop or 'the end'}*\n\n{prompt}\n\n&nbsp;&nbsp;→ **{step.reply or '(nothing)'}**"


def riddle_as_markdown(riddle: Riddle, world: World) -> str:
    """A question of the laboratory with its answer, its gold chain, and the paragraphs that state
    its facts.
    """
    chain = "\n".join(
        f"{number}. {thought.text}" for number, thought in enumerate(riddle.thoughts, start=1)
    )
    paragraphs = "\n".join(
        f"- **{passage.title}.** {passage.text}" for passage in gold_passages(world, riddle)
    )
    return f"**{riddle.text}** → {riddle.answer} ({riddle.style}, {riddle.kind})\n\n{chain}\n\n{paragraphs}"


def page_as_markdown(title: str, worlds: dict[str, World]) -> str:
    """A page of the laboratory as each data-set style has it; a second paragraph of a page follows
    after a bar.
    """
    return "\n".join(
        f"- *{style}*: {' | '.join(passage.text for passage in world.pages[title])}"
        for style, world in worlds.items()
    )


def browse_box(names: Sequence[str], describe: Callable[[str], str]) -> None:
    """Show a box to type or pick one of many names, and the Markdown that `describe` returns for
    it; silent in batch.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    name = ipywidgets.Combobox(
        options=list(names),
        placeholder="type a part of a name",
        ensure_option=True,
        layout={"width": "70%"},
    )
    output = ipywidgets.Output()

    def show(change) -> None:
        output.clear_output()
        with output:
            display(Markdown(describe(change["new"])))

    name.observe(show, names="value")
    display(ipywidgets.VBox([name, output]))


def ask_box(ask: Callable[[str, str], str], systems: Sequence[str], text: str = "") -> None:
    """Show a box that passes a typed question and a chosen system to `ask` and shows the Markdown
    it returns; silent in batch.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    typed = ipywidgets.Text(text, description="question", layout={"width": "70%"})
    system = ipywidgets.Dropdown(options=systems, description="system")
    button, output = (
        ipywidgets.Button(description="Ask", button_style="primary"),
        ipywidgets.Output(),
    )

    def answer(_) -> None:
        output.clear_output()
        with output:
            display(Markdown(ask(typed.value, system.value)))

    button.on_click(answer)
    display(ipywidgets.VBox([typed, ipywidgets.HBox([system, button]), output]))
