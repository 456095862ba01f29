"""README and disk agree: the tree, the commands, and the numbers it quotes."""

import csv
import re

from ircotlib.paths import FIGURES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def tree() -> list[str]:
    """The paths of the README's tree."""
    lines = README.split("## Where things are")[1].split("## Sources")[0].splitlines()
    paths, inside = [], ""
    for line in filter(None, lines):
        name = line.split()[0]
        inside = "ircotlib/" if line.startswith("      ") else ""
        paths.append(inside + name)
    return paths


def test_everything_in_the_tree_is_on_the_disk():
    assert len(tree()) > 25
    assert not [path for path in tree() if not (ROOT / path).exists()]


def test_every_module_is_in_the_tree():
    listed = README.split("## Where things are")[1]
    modules = [path for path in (ROOT / "ircotlib").glob("*") if path.name not in ("__init__.py", "__pycache__")]
    assert not [path.name for path in modules if f"      {path.name}" not in listed]


def test_commands_and_links_exist():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake (\w+)", README)) <= {*targets, "a"}
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link


def test_quoted_numbers_are_those_of_the_figures():
    for name in ("ircot_fig03_recall", "ircot_fig04_f1"):
        with (FIGURES / f"{name}.csv").open() as file:
            for row in csv.DictReader(file):
                if row["profile"] == "mini":
                    quoted = f"{float(row['mean']):.1f} ({float(row['low']):.1f} to {float(row['high']):.1f})"
                    assert quoted in README, (row["system"], quoted)
    with (FIGURES / "sample_oner_recall.csv").open() as file:
        assert all(f"{float(row['recall']):.1f}" in README for row in csv.DictReader(file))


def test_the_repository_names_no_machine():
    for path in (*ROOT.glob("*.md"), *ROOT.glob("ircotlib/**/*.py"), *ROOT.glob("profiles/*")):
        assert not re.search(r"(?<![\w.:/-])/(work|root|home|opt)/", path.read_text(encoding="utf-8")), path
