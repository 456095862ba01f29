"""The structure: few packages, each above all that it imports, and a library that stays
thin.
"""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "ircotlib"
FILES = {
    path: path.read_text(encoding="utf-8") for path in sorted(LIBRARY.rglob("*.py"))
}
PACKAGES = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}


def package_of(path: Path) -> str:
    """The package, or the module beside the packages, that a file belongs to."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


@cache
def imports() -> dict[str, set[str]]:
    """The packages and modules that each package or module imports."""
    arrows = {package_of(path): set() for path in FILES}
    for path, text in FILES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "ircotlib"
            ):
                names = [node.module] if node.module != "ircotlib" else [
                    f"ircotlib.{alias.name}" for alias in node.names
                ]  # fmt: skip
                arrows[package_of(path)] |= {name.split(".")[1] for name in names}
    return {package: targets - {package} for package, targets in arrows.items()}


def depth(name: str, above: tuple[str, ...] = ()) -> int:
    """How many packages import each other in a row, down from this one; modules do not
    count.
    """
    assert name not in above, f"a circle: {' -> '.join((*above, name))}"
    below = (depth(each, (*above, name)) for each in imports().get(name, ()))
    return (name in PACKAGES) + max(below, default=0)


def test_packages_import_each_other_in_one_direction():
    assert max(map(depth, imports())) <= 10


def test_the_library_is_thin():
    lengths = {str(path): text.count("\n") for path, text in FILES.items()}
    assert sum(lengths.values()) <= 15_200
    assert [path for path, length in lengths.items() if length > 440] == []
    assert len(PACKAGES) <= 20, sorted(PACKAGES)


def test_a_single_module_imports_the_laboratory():
    line = re.compile(r"^ *(from|import) ircot_laboratory", re.MULTILINE)
    found = [path for path, text in FILES.items() if line.search(text)]
    assert [path.relative_to(LIBRARY).as_posix() for path in found] == [
        "experiment/laboratory.py"
    ]


def test_the_page_names_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in sorted(PACKAGES) if f"`{name}`" not in page] == []
