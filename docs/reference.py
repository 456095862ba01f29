"""Writes docs/reference.md: every command, system, data set, retriever and name of the front door,
each with the first sentence of what its code says of it.

    python -m docs.reference
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

import ircotlib
from ircotlib.__main__ import COMMANDS
from ircotlib.command.systems import SOURCE
from ircotlib.datasets import all_datasets
from ircotlib.retrieval import RETRIEVERS
from ircotlib.systems import all_systems

SENTENCE, OURS = re.compile(r"(?<=\.)(?<!App\.)\s(?=[A-Z`])"), re.compile(r"\bours\b|Differs from")
PAGE = Path(__file__).with_name("reference.md")
TOP = """# Reference

Everything that has a name. This page is written from the code (`python -m docs.reference`), and a
test holds it there. [Parameters](parameters.md) are on a page of their own.
"""

DIFFERENCES = """The systems were written anew from their papers and released programs. In the words
of their code, what is ours, or otherwise than there; [constants](constants.md) says whose their
numbers are.

"""


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, in one line."""
    words = " ".join((text or "").partition("\n\n")[0].split())
    return SENTENCE.split(words)[0].replace("|", "\\|")


def table(*rows: tuple[str, ...]) -> str:
    """Rows, of which the first is the head, in Markdown."""
    head, *others = rows
    lines = [head, ("---",) * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def list_commands() -> str:
    """The commands, as `ircotlib --help` lists them."""
    modules = {name: import_module(module) for name, module in COMMANDS.items()}
    rows = [(f"`ircotlib {name}`", first_sentence(m.__doc__)) for name, m in modules.items()]
    return table(("command", "what it does"), *rows)


def list_systems() -> str:
    """The systems, in the order of tables and figures."""
    rows = []
    for name, system in all_systems().items():
        source = SOURCE.search(inspect.getdoc(system.program) or "")
        file = Path(inspect.getsourcefile(system.program)).relative_to(PAGE.parents[1]).as_posix()
        cited = " ".join(source[1].split()) if source else "ours"
        shown = Path(file.removesuffix("/__init__.py")).name
        rows.append((name, system.study.name, cited, f"[{shown}](../{file})"))
    return table(("system", "study", "source", "program"), *rows)


def list_differences() -> str:
    """What docstrings of systems' programs say is ours, or differs from paper and program."""
    systems = {}  # by what is said
    for name, system in all_systems().items():
        for program in filter(None, (system.inner, system.program)):
            parts = SENTENCE.split(" ".join((inspect.getdoc(program) or "").split()))
            if said := " ".join(part for part in parts if OURS.search(part)).replace("|", "\\|"):
                systems.setdefault(said, []).append(name)
    return table(("systems", "difference"), *((", ".join(n), said) for said, n in systems.items()))


def list_datasets() -> str:
    """The data sets, in the order of tables and figures."""
    rows = [(f"`{name}`", d.title, ", ".join(d.scores)) for name, d in all_datasets().items()]
    return table(("data set", "title", "scores of answers"), *rows)


def list_retrievers() -> str:
    """The retrievers that come with the workbench."""
    rows = [(f"`{retriever.example}`", retriever.title) for retriever in RETRIEVERS]
    return table(("retriever", "in figures"), *rows)


def list_names() -> str:
    """The names of the front door, by module."""
    rows = []
    for name in ircotlib.__all__:
        value, module = getattr(ircotlib, name), ircotlib._MODULES[name]
        documented = inspect.ismodule(value) or inspect.isclass(value) or inspect.isfunction(value)
        says = first_sentence(inspect.getdoc(value)) if documented else "a constant"
        rows.append((f"`{name}`", module.removeprefix("ircotlib."), says))
    return table(("name", "in `ircotlib.`", "what it is"), *rows)


def write() -> str:
    """The text of the page."""
    parts = {
        "Commands": list_commands(),
        "Systems": list_systems(),
        "Differences": DIFFERENCES + list_differences(),
        "Data sets": list_datasets(),
        "Retrievers": list_retrievers(),
        "From Python": "`from ircotlib import …`:\n\n" + list_names(),
    }
    return TOP + "".join(f"\n## {title}\n\n{text}" for title, text in parts.items())


if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")
