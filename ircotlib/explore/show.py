"""Shows questions and what systems did with them as Markdown, and a box to ask a question."""

import os
from collections.abc import Callable, Iterable, Sequence

import ipywidgets
from IPython.display import Markdown, display

from ircotlib.data import Paragraph, Question
from ircotlib.explore.trace import trace_as_markdown
from ircotlib.program import Outcome
from ircotlib.text import escape


def answer_as_markdown(system: str, outcome: Outcome, question: Question) -> str:
    """What a system did with a question, and its answer, as Markdown."""
    answer = escape(outcome.result.answer) or "nothing"
    trace = trace_as_markdown(outcome.trace, question)
    return f"{trace}\n\n**{escape(system)} answers: {answer}**"


def question_as_markdown(question: Question, gold: Iterable[Paragraph]) -> str:
    """A question with its first answer and its gold paragraphs, as Markdown."""
    head = f"**{escape(question.text)}** → {escape(question.answers[0])} ({escape(question.kind)})"
    return "\n".join([f"{head}\n", *(f"- **{escape(p.title)}.** {escape(p.text)}" for p in gold)])


def ask_box(ask: Callable[[str, str], str], systems: Sequence[str], text: str = "") -> None:
    """Show a box that passes a typed question and a chosen system to `ask`, and shows the Markdown
    that it returns. In a batch run it shows nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    question = ipywidgets.Text(text, description="question", layout={"width": "70%"})
    system = ipywidgets.Dropdown(options=systems, description="system")
    button = ipywidgets.Button(description="Ask", button_style="primary")
    output = ipywidgets.Output()

    def answer(_) -> None:
        output.clear_output()
        with output:
            try:
                display(Markdown(ask(question.value, system.value)))
            except ValueError as error:  # an empty question
                display(Markdown(escape(str(error))))

    button.on_click(answer)
    display(ipywidgets.VBox([question, ipywidgets.HBox([system, button]), output]))
