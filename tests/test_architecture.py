"""The house: few rooms, each above all that it imports, and a library that stays thin."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "ircotlib"
FILES = {path: path.read_text(encoding="utf-8") for path in sorted(LIBRARY.rglob("*.py"))}
ROOMS = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}


def room_of(path: Path) -> str:
    """The folder, or the module beside the folders, that a file belongs to."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


@cache
def imports() -> dict[str, set[str]]:
    """By room or module: those that it imports."""
    arrows = {room_of(path): set() for path in FILES}
    for path, text in FILES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ircotlib"):
                names = [node.module] if node.module != "ircotlib" else [
                    f"ircotlib.{alias.name}" for alias in node.names
                ]  # fmt: skip
                arrows[room_of(path)] |= {name.split(".")[1] for name in names}
    return {room: targets - {room} for room, targets in arrows.items()}


def floor(room: str, above: tuple[str, ...] = ()) -> int:
    """How many rooms stand one on the other up to a room; single modules are no rooms."""
    assert room not in above, f"a circle: {' -> '.join((*above, room))}"
    below = (floor(each, (*above, room)) for each in imports().get(room, ()))
    return (room in ROOMS) + max(below, default=0)


def test_a_room_imports_only_what_is_below_it():
    assert max(floor(room) for room in imports()) <= 10


def test_the_library_is_thin():
    lengths = {str(path): text.count("\n") for path, text in FILES.items()}
    assert sum(lengths.values()) <= 12_000
    assert [path for path, length in lengths.items() if length > 350] == []
    assert len(ROOMS) <= 20, sorted(ROOMS)


def test_the_laboratory_is_asked_for_in_one_place():
    asks = re.compile(r"^ *(from|import) ircot_laboratory", re.MULTILINE)
    asking = [path for path, text in FILES.items() if asks.search(text)]
    assert [path.relative_to(LIBRARY).as_posix() for path in asking] == ["experiment/laboratory.py"]


def test_the_page_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [room for room in sorted(ROOMS) if f"`{room}`" not in page and room in ROOMS] == []
