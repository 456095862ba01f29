"""docs/constants.md has every number of every system, and the code says whose each is."""

import ast
from numbers import Number

import pytest

from docs.constants import INIT, OURS, PAGE, PAPER, PROGRAM, Constant, find_constants, show, write
from ircotlib.systems import all_systems


def test_the_page_is_written_from_the_code():
    assert PAGE.read_text(encoding="utf-8") == write(), "run python -m docs.constants"


def test_the_code_says_whose_each_number_is():
    nobodys = [constant for constant in find_constants() if not (constant.owner and constant.whose)]
    assert not nobodys, "say in a comment beside it: §, paper, released program or ours"


@pytest.mark.parametrize(
    ("said", "whose"),
    [
        ("sentences (§3.1, footnote 4); the released program has 10", PAPER),
        ("of one generation (released program; 300 for GPT-3)", PROGRAM),
        ("ours; the released program has 1,000", OURS),
        ("k of hours and programmers, in App", ""),
        ("", ""),
    ],
)
def test_whose_a_number_is_is_named_first(said, whose):
    assert Constant("a system", "k", "5", said).whose == whose


def test_every_number_that_a_program_takes_is_on_the_page():
    listed = {(owner, c.name, c.value) for c in find_constants() for owner in c.owner.split(", ")}
    for name, system in all_systems().items():
        numbers = {key: value for key, value in system.defaults.items()
                   if isinstance(value, Number) and not isinstance(value, bool)}  # fmt: skip
        numbers |= {key: list(values) for key, values in system.grid.items()}
        numbers |= {"examples": system.examples} if system.examples else {}
        taken = {(name, key, show(value)) for key, value in numbers.items()}
        assert taken <= listed, name


def test_no_number_is_hidden_in_a_function():
    """It would be on no page: it must be a default, or be given by name."""
    hidden = []
    for path in INIT.parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        nodes = [node for each in functions for line in each.body for node in ast.walk(line)]
        named = [node for node in nodes if isinstance(node, ast.keyword | ast.Subscript)]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        named += [call for call in calls if ast.unparse(call.func).endswith("round")]  # decimals
        seen = {node for each in named for node in ast.walk(each)}
        numbers = [node for node in nodes if isinstance(node, ast.Constant) and node not in seen]
        numbers = [node for node in numbers if isinstance(node.value, int | float)]
        hidden += [f"{path}:{node.lineno}: {node.value}" for node in numbers if node.value > 2]
    assert not hidden
