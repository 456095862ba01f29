"""The structure: each package imports only those above it in the table of the
architecture page, and files stay short.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "ircotlib"
FILES = {path: ast.parse(path.read_bytes()) for path in sorted(LIBRARY.rglob("*.py"))}
STUDIES = ROOT / "ircot_studies"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("## Packages") : PAGE.index("## Where is")]
# the row of each package or module
ROWS = {
    name: number
    for number, cell in enumerate(re.findall(r"^\| (`.*?) \|", TABLE, re.MULTILINE))
    for name in re.findall("`(.*?)`", cell)
}
# what the commands' entry and the front door import is imported by name at run time
DOORS = ("__main__", "__init__")


def package_of(path: Path) -> str:
    """The package, or the module beside the packages, that a file belongs to."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The packages and modules of the library that a file imports."""
    names: set[str] = set()
    for node in ast.walk(FILES[path]):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "ircotlib":
            names |= {f"ircotlib.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.split(".")[1] for name in names if name.startswith("ircotlib.")}


def test_the_table_names_every_package():
    assert set(ROWS) == {package_of(path) for path in FILES} - {*DOORS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_a_package_imports_only_those_above_it(path):
    package = package_of(path)
    if package in DOORS:
        return
    below = {name for name in imported(path) if ROWS[name] > ROWS[package]}
    assert not below, f"{package} imports {', '.join(below)}, which the table has below"


def test_no_packages_import_each_other():
    """Modules of one row may import each other, in one direction."""
    arrows = {(package_of(p), name) for p in FILES for name in imported(p)}
    twice = {(a, b) for a, b in arrows if a != b and (b, a) in arrows}
    assert not twice


def test_files_and_functions_are_short():
    studies = {path: ast.parse(path.read_bytes()) for path in STUDIES.glob("*.py")}
    for path, tree in (FILES | studies).items():
        assert path.read_text(encoding="utf-8").count("\n") <= 350, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= 75, f"{path.name}: {node.name} has {lines} lines"


def test_a_single_module_imports_the_laboratory():
    line = re.compile(r"^ *(from|import) ircot_laboratory", re.MULTILINE)
    found = [path for path in FILES if line.search(path.read_text(encoding="utf-8"))]
    assert found == [LIBRARY / "experiment/laboratory.py"]


def test_the_library_does_not_import_the_studies():
    texts = [path.read_text(encoding="utf-8") for path in FILES]
    assert not any("ircot_studies" in text for text in texts)
