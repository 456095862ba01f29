"""Keeps docs/architecture.md true: draws the rooms of the workbench from their imports, and points
links such as [`run_system`](../ircotlib/running/experiment.py#L30) to the line of that name.

    python docs/rooms.py      writes docs/pictures/rooms.svg and docs/architecture.md

A room is a folder of a package, or a module beside these folders. It stands above all that it
imports. Arrows that follow from others are left out: if A imports B and B imports C, an arrow from
A to C would only hide the rest.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("ircotlib", "ircot_laboratory", "training")
WHOLE = PACKAGES[1:]  # drawn as one box each
LINK = re.compile(r"\[`([\w.]+)`\]\(\.\./([\w/]+\.py)(?:#L\d+)?\)")
WIDTH, BOX, HEIGHT, FLOOR = 1000, 128, 30, 74  # in pixels
COLORS = {"ircotlib": "#dce7f5", "ircot_laboratory": "#e3f1dc", "training": "#f3e6d3"}


def room_of(path: Path, whole: tuple[str, ...] = ()) -> str:
    """The room of a module, as "ircotlib.experiment"; the package alone if it is in `whole`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] in whole else ".".join(parts[:2])


def read_arrows(whole: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """The rooms that each room imports, also inside functions, by the room's name."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    # the front door of a package names everything
    paths = [p for p in paths if not (p.parent.parent == ROOT and p.stem.startswith("__"))]
    modules = {}
    for path in paths:
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    arrows = defaultdict(set)
    for path in paths:
        room = room_of(path, whole)
        arrows[room]
        for imported in _imports(path):
            while imported and imported not in modules:
                imported = imported.rpartition(".")[0]
            if imported and (target := room_of(modules[imported], whole)) != room:
                arrows[room].add(target)
    return dict(arrows)


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def draw(arrows: dict[str, set[str]]) -> str:
    """The picture as SVG; rooms of equal height are in alphabetical order."""

    @cache
    def floor_of(room: str) -> int:
        return max((1 + floor_of(target) for target in arrows[room]), default=0)

    @cache
    def reached(room: str) -> frozenset[str]:
        return frozenset().union(*({t} | reached(t) for t in arrows[room]))

    floors = defaultdict(list)
    for room in sorted(arrows):
        floors[floor_of(room)].append(room)
    top, places = max(floors), {}
    for floor, rooms in floors.items():
        for number, room in enumerate(rooms, start=1):
            aside = 24 if len(rooms) > 1 else 78  # so that long arrows pass beside boxes
            x = WIDTH * number / (len(rooms) + 1) + (-aside if floor % 2 else aside)
            places[room] = round(x), (top - floor) * FLOOR + HEIGHT
    lines, boxes = [], []
    for room, targets in sorted(arrows.items()):
        through = frozenset().union(*(reached(target) for target in targets))
        (x, y), (package, _, name) = places[room], room.partition(".")
        for target in sorted(targets - through):
            end_x, end_y = places[target]
            ends = f'x1="{x}" y1="{y + HEIGHT // 2}" x2="{end_x}" y2="{end_y - HEIGHT // 2 - 4}"'
            lines.append(f'<line {ends} stroke="#888" marker-end="url(#tip)"/>')
        corner = f'x="{x - BOX // 2}" y="{y - HEIGHT // 2}" width="{BOX}" height="{HEIGHT}"'
        boxes.append(f'<rect {corner} rx="5" fill="{COLORS.get(package, "#eee")}" stroke="#666"/>')
        folder = "/" if (ROOT / room.replace(".", "/")).is_dir() else ""
        boxes.append(f'<text x="{x}" y="{y + 5}">{name or package}{folder}</text>')
    size = f'viewBox="0 0 {WIDTH} {top * FLOOR + 2 * HEIGHT}"'
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7"'
    tip += ' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#888"/></marker>'
    style = "text { font: 15px sans-serif; text-anchor: middle; }"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<defs>{tip}</defs>'
    head += f'\n<style>{style}</style>\n<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


def link_lines(text: str) -> str:
    """A page whose links to names in Python files end in the lines of these names. Raises
    ValueError for a name that its file does not define.
    """

    def link(match: re.Match) -> str:
        name, path = match[1], match[2]
        last = re.escape(name.rpartition(".")[2])
        defined = re.compile(rf"^\s*(?:def {last}\(|class {last}\b|{last}(?:: [\w\[\], |]+)? = )")
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        at = next((n for n, line in enumerate(lines, start=1) if defined.match(line)), None)
        if at is None:
            raise ValueError(f"found no {name} in {path}, expected it: correct {PAGE.name}")
        return f"[`{name}`](../{path}#L{at})"

    return LINK.sub(link, text)


if __name__ == "__main__":
    PICTURE.write_text(draw(read_arrows(WHOLE)), encoding="utf-8")
    PAGE.write_text(link_lines(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
