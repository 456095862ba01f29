"""Shows the laboratory: its questions and pages as Markdown, and a widget to browse
them.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape as escape_html

import ipywidgets
from IPython.display import Markdown, display

from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.records import Riddle, World

CONTROLS = {
    number: " "
    for number in (*range(32), *range(127, 160))
    if chr(number) not in "\t\n"
}
MARKS = CONTROLS | str.maketrans({mark: f"&#{ord(mark)};" for mark in "*_`[]\\\n~"})
# in an element of its own it does not begin a formula
MARKS[ord("$")] = "<span>$</span>"


def escape(text: str) -> str:
    """A text in which Markdown finds no HTML, mark-up or formula."""
    return escape_html(text, quote=False).translate(MARKS)


def riddle_as_markdown(riddle: Riddle, world: World) -> str:
    """A question of the laboratory as Markdown, with its answer, its gold chain, and
    the paragraphs that state its facts.
    """
    head = f"**{escape(riddle.text)}** → {escape(riddle.answer)} ({riddle.dataset}, {riddle.kind})"
    chain = [
        f"{n}. {escape(thought.text)}"
        for n, thought in enumerate(riddle.thoughts, start=1)
    ]
    gold = [
        f"- **{escape(p.title)}.** {escape(p.text)}"
        for p in gold_passages(world, riddle)
    ]
    return "\n\n".join([head, "\n".join(chain), "\n".join(gold)])


def page_as_markdown(title: str, worlds: Mapping[str, World]) -> str:
    """A page of the laboratory as Markdown, in each data set's version; a bar separates
    the paragraphs of a page.
    """
    texts = {
        dataset: " | ".join(escape(passage.text) for passage in world.pages[title])
        for dataset, world in worlds.items()
    }
    return "\n".join(f"- *{dataset}*: {text}" for dataset, text in texts.items())


def browse_box(names: Sequence[str], describe: Callable[[str], str]) -> None:
    """Show a widget in which to type or pick one of many names, and the Markdown that
    `describe` returns for it. In a batch run, show nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        return
    options = {"placeholder": "type a part of a name", "layout": {"width": "70%"}}
    name = ipywidgets.Combobox(options=list(names), ensure_option=True, **options)
    output = ipywidgets.Output()

    def show(change: dict) -> None:
        output.clear_output()
        with output:
            display(Markdown(describe(change["new"])))

    name.observe(show, names="value")
    display(ipywidgets.VBox([name, output]))
