"""docs/reference.md has every command, system, data set, retriever and name of the front door, and
no other; the front door's names are what editors read, and notebooks use nothing behind it.
"""

import ast
import re
from importlib import import_module

import nbformat
import pytest

import ircotlib
from docs.reference import PAGE, write
from ircotlib.files.notebooks import all_notebooks
from ircotlib.files.paths import NOTEBOOKS


def test_the_reference_is_written_from_the_code():
    page = PAGE.read_text(encoding="utf-8")
    assert page == write(), "run python -m docs.reference"
    assert len(re.findall(r"^\| ", page, re.MULTILINE)) > 230


def test_each_name_of_the_front_door_is_where_its_stub_says():
    for name, module in ircotlib._MODULES.items():
        value = getattr(ircotlib, name)
        known = vars(import_module(module)).get(name)
        assert value is known or value.__name__ == f"{module}.{name}", name
    assert set(ircotlib.__all__) <= {*dir(ircotlib)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ircotlib.nothing  # noqa: B018


@pytest.mark.parametrize("name", all_notebooks())
def test_notebooks_use_the_front_door_and_nothing_behind_it(name):
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    imports = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]
    ours = [node for node in imports if node.module.partition(".")[0] == "ircotlib"]
    assert all(node.module == "ircotlib" for node in ours)
    assert {alias.name for node in ours for alias in node.names} <= {*ircotlib.__all__}
