"""Shows the laboratory's questions and pages as Markdown, and a widget to browse."""

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape as escape_html

import ipywidgets
from IPython.display import Markdown, display

from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.records import Riddle, World

MARKS: dict[int, str] = {
    **dict.fromkeys((*range(32), *range(127, 160)), " "),  # control characters
    ord("\t"): "\t",
    **{ord(mark): f"&#{ord(mark)};" for mark in "*_`[]\\\n~"},
    ord("$"): "<span>$</span>",  # in an element of its own it does not begin a formula
}


def escape(text: str) -> str:
    """A text in which Markdown finds no HTML, mark-up or formula."""
    return escape_html(text, quote=False).translate(MARKS)


def riddle_as_markdown(riddle: Riddle, world: World) -> str:
    """A question with its answer, gold chain and gold paragraphs, as Markdown."""
    kind = f"({riddle.dataset}, {riddle.kind})"
    head = f"**{escape(riddle.text)}** → {escape(riddle.answer)} {kind}"
    thoughts = enumerate(riddle.thoughts, start=1)
    chain = [f"{n}. {escape(thought.text)}" for n, thought in thoughts]
    passages = gold_passages(world, riddle)
    gold = [f"- **{escape(p.title)}.** {escape(p.text)}" for p in passages]
    return "\n\n".join([head, "\n".join(chain), "\n".join(gold)])


def page_as_markdown(title: str, worlds: Mapping[str, World]) -> str:
    """A page in each data set's version, as Markdown; bars separate its paragraphs."""
    lines = []
    for dataset, world in worlds.items():
        texts = [escape(passage.text) for passage in world.pages[title]]
        lines.append(f"- *{dataset}*: {' | '.join(texts)}")
    return "\n".join(lines)


def browse_box(names: Sequence[str], describe: Callable[[str], str]) -> None:
    """Show a widget in which to type or pick one of many names, and the Markdown that
    `describe` returns for it. In a batch run, show nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    name = ipywidgets.Combobox(
        options=list(names),
        ensure_option=True,
        placeholder="type a part of a name",
        layout={"width": "70%"},
    )
    output = ipywidgets.Output()

    def show(change: dict) -> None:
        output.clear_output()
        with output:
            display(Markdown(describe(change["new"])))

    name.observe(show, names="value")
    display(ipywidgets.VBox([name, output]))
