"""The pages that Sphinx writes from the code, and the list of tables."""

import ast
import inspect
import re
from itertools import groupby
from types import ModuleType

import ircotlib
from ircotlib.files.paths import FIGURES, ROOT

TOP = """# The front door

What notebooks and programs of your own use: `from ircotlib import …`. One sentence on each is in
the [reference](docs/reference.md).
"""


def list_names() -> list[tuple[str, list[str]]]:
    """The names of the front door, by their rooms."""
    stub = ast.parse((ROOT / "ircotlib" / "__init__.pyi").read_text(encoding="utf-8"))
    lines = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    rooms = groupby(lines, key=lambda line: line.module.partition(".")[0])
    return [(room, [name.name for line in part for name in line.names]) for room, part in rooms]


def api_as_markdown() -> str:
    """The page of the front door."""
    parts = [TOP]
    for room, names in list_names():
        parts += [f"## {room}", "```{eval-rst}"]
        for name in names:
            each = getattr(ircotlib, name)
            if isinstance(each, ModuleType):
                parts.append(f".. automodule:: {each.__name__}\n   :members:")
            elif inspect.isclass(each) and each.__module__.startswith("ircotlib"):
                parts.append(f".. autoclass:: ircotlib.{name}\n   :members:")
            elif inspect.isfunction(each):
                parts.append(f".. autofunction:: ircotlib.{name}")
            else:
                parts.append(f".. py:data:: ircotlib.{name}\n   :value: {_short(each)}")
        parts.append("```\n")
    return "\n\n".join(parts)


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}…"


def tables_as_markdown() -> str:
    """The list of the tables in figures/."""
    names = [path.stem for path in FIGURES.glob("*.md")]
    names.sort(key=lambda name: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", name)])
    lines = ["# Tables", "", "```{toctree}", *(f"figures/{name}" for name in names), "```", ""]
    return "\n".join(lines)
