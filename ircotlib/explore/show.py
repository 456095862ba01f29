"""Shows what a program did: its trace as Markdown, and boxes to browse and to ask a question."""

import os
from collections.abc import Callable, Iterable, Sequence

import ipywidgets
from IPython.display import Markdown, display

from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.records import Riddle, World
from ircotlib.data import Paragraph, Question
from ircotlib.program import (
    Duplicate,
    Extract,
    Generate,
    Message,
    NearestTitle,
    Outcome,
    Retrieve,
    Sample,
    Step,
    Stop,
    unknown,
)
from ircotlib.text import escape


def trace_as_markdown(trace: Sequence[Step], question: Question) -> str:
    """All steps of one question's trace, in order, as Markdown; prompts are folded, and a star
    marks gold paragraphs.
    """
    return "\n\n".join(
        f"**{number}.** {_step(step, question)}" for number, step in enumerate(trace, start=1)
    )


def answer_as_markdown(system: str, outcome: Outcome, question: Question) -> str:
    """What a system did with a question, and its answer, as Markdown."""
    said = escape(outcome.result.answer) or "nothing"
    trace = trace_as_markdown(outcome.trace, question)
    return f"{trace}\n\n**{escape(system)} answers: {said}**"


def question_as_markdown(question: Question, gold: Iterable[Paragraph]) -> str:
    """A question with its first answer and its gold paragraphs, as Markdown."""
    head = f"**{escape(question.text)}** → {escape(question.answers[0])} ({escape(question.kind)})"
    return "\n".join([f"{head}\n", *map(_passage, gold)])


def _passage(paragraph: Paragraph) -> str:
    return f"- **{escape(paragraph.title)}.** {escape(paragraph.text)}"


def _step(step: Step, question: Question) -> str:
    match step.request:
        case Retrieve(query, k):
            found = (escape(p.title) + " ★" * (p.id in question.gold) for p in step.reply)
            return f"*retrieve {k} with* “{escape(query)}”" + _reply(" · ".join(found))
        case NearestTitle(title):
            found = escape(" · ".join(step.reply))
            return f"*find the page titled most like* “{escape(title)}”" + _reply(found)
        case Extract(query, paragraph):
            asked = f"*read* {escape(paragraph.title)} *for* “{escape(query)}”"
            text = escape(step.reply.text)
            return asked + _reply(text and f"**{text}** ({step.reply.confidence:.2f})")
        case Duplicate(query, earlier):
            asked = f"*compare with {len(earlier)} earlier queries* “{escape(query)}”"
            return asked + _reply(f"{step.reply:.2f}")
        case Generate(prompt, stop):
            text = escape(step.reply)
            return f"*generate, stop at {_stop(stop)}*{_prompt(step, prompt)}" + _reply(_bold(text))
        case Sample(prompt, n, temperature, stop):
            drawn = (_bold(escape(one.text)) for one in step.reply)
            head = f"*draw {n} at temperature {temperature}, stop at {_stop(stop)}*"
            return head + _prompt(step, prompt) + _reply("<br>".join(drawn))
    raise unknown(step.request)


def _reply(text: str) -> str:
    return f"\n\n&nbsp;&nbsp;→ {text or 'nothing'}"


def _bold(text: str) -> str:
    return f"**{text}**" if text else "nothing"


def _stop(stop: Stop) -> str:
    if stop is None:
        return "the end"
    return stop if isinstance(stop, str) else " or ".join(escape(repr(text)) for text in stop)


def _prompt(step: Step, prompt: str | tuple[Message, ...]) -> str:
    """A prompt, folded."""
    chat = "" if isinstance(prompt, str) else "\n\n".join(f"{m.role}: {m.text}" for m in prompt)
    head = f"<summary>prompt, {step.prompt_tokens} tokens</summary>"
    return f"\n\n<details>{head}<pre>{escape(chat or prompt)}</pre></details>"


def riddle_as_markdown(riddle: Riddle, world: World) -> str:
    """A question of the laboratory as Markdown, with its answer, its gold chain, and the paragraphs
    that state its facts.
    """
    chain = "\n".join(
        f"{number}. {escape(thought.text)}"
        for number, thought in enumerate(riddle.thoughts, start=1)
    )
    paragraphs = "\n".join(map(_passage, gold_passages(world, riddle)))
    head = f"**{escape(riddle.text)}** → {escape(riddle.answer)} ({riddle.dataset}, {riddle.kind})"
    return f"{head}\n\n{chain}\n\n{paragraphs}"


def page_as_markdown(title: str, worlds: dict[str, World]) -> str:
    """A page of the laboratory as Markdown, in each data set's version; a bar separates the
    paragraphs of a page.
    """
    return "\n".join(
        f"- *{dataset}*: {' | '.join(escape(passage.text) for passage in world.pages[title])}"
        for dataset, world in worlds.items()
    )


def browse_box(names: Sequence[str], describe: Callable[[str], str]) -> None:
    """Show a box in which to type or pick one of many names, and the Markdown that `describe`
    returns for it. In a batch run it shows nothing.
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
    """Show a box that passes a typed question and a chosen system to `ask`, and shows the Markdown
    that it returns. In a batch run it shows nothing.
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
            try:
                display(Markdown(ask(typed.value, system.value)))
            except ValueError as error:  # an empty question
                display(Markdown(escape(str(error))))

    button.on_click(answer)
    display(ipywidgets.VBox([typed, ipywidgets.HBox([system, button]), output]))
