"""The rooms: what each imports is what its docstring says, and docs/architecture.md shows them."""

import ast
import re

import pytest

from docs.rooms import PACKAGES, PAGE, PICTURE, ROOT, WHOLE, draw, link_lines, read_arrows

ARROWS = read_arrows()
ROOMS = sorted(room for room in ARROWS if (ROOT / room.replace(".", "/")).is_dir())


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_imports(room):
    package = room.partition(".")[0]
    own = {target.removeprefix(f"{package}.") for target in ARROWS[room]}
    targets = {
        target.partition(".")[0] if target.startswith(PACKAGES) else target for target in own
    }
    path = ROOT / room.replace(".", "/") / "__init__.py"
    documented = " ".join(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split())
    expected = f"Imports: {', '.join(sorted(targets)) or 'nothing'}."
    assert documented.endswith(expected), f"{path}: expected its docstring to end in {expected}"


def test_no_room_imports_one_that_imports_it():
    below = {}

    def reached(room, path=()):
        assert room not in path, f"a circle: {' -> '.join((*path, room))}"
        if room not in below:
            ways = [{target} | reached(target, (*path, room)) for target in ARROWS[room]]
            below[room] = set().union(*ways)
        return below[room]

    assert all(room not in reached(room) for room in ARROWS)


def test_few_modules_stand_beside_the_rooms_and_no_file_is_long():
    modules = [path.stem for path in (ROOT / "ircotlib").glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= 8, modules
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert len(lengths) > 200
    assert [path for path, length in lengths.items() if length > 350] == []


def test_the_laboratory_is_asked_for_where_it_is_needed_only():
    importing = re.compile(r"^ *(?:from|import) ircot_laboratory", re.MULTILINE)
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "ircotlib").rglob("*.py")
    }
    asking = {path: importing.findall(text) for path, text in texts.items()}
    asking = {path: lines for path, lines in asking.items() if lines}
    assert set(asking) == {"ircotlib/running/laboratory.py"}
    assert all(line.startswith("    ") for lines in asking.values() for line in lines)


def test_the_page_and_the_picture_are_up_to_date():
    again = "run python docs/rooms.py"
    assert PICTURE.read_text(encoding="utf-8") == draw(read_arrows(WHOLE)), again
    page = PAGE.read_text(encoding="utf-8")
    assert link_lines(page) == page, again
