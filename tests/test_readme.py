"""README, docs and disk agree: links, commands, folders, numbers; examples run."""

import json
import re
import shlex

import nbformat
import pytest

from docs import write_numbers
from ircotlib.__main__ import COMMANDS
from ircotlib.command.figures import all_notebooks, choose_notebooks
from ircotlib.data import Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.files import PROFILES, ROOT
from ircotlib.parameters import Parameters, grid_names, read_parameters
from ircotlib.program import Retrieve
from ircotlib.systems import all_systems

NAMES = ["README.md", "CONTRIBUTING.md", "prompts/README.md"]
NAMES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
KNOWN = {*Parameters.model_fields, *grid_names()}
README, TEXT = PAGES["README.md"], "\n".join(PAGES.values())


def code_of(page: str) -> str:
    """The first Python in a page."""
    return re.search(r"(?ms)^```python\n(.*?)^```$", PAGES[page])[1]


def test_the_readme_is_short_and_leads_to_every_page_and_notebook():
    assert len(README.splitlines()) <= 112 and len(PAGES) == 3 + 8
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)[)#]", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")}
    rows = re.findall(r"^\| \[(\w+)\]\(notebooks/(\w+)\.ipynb\)", README, re.MULTILINE)
    assert rows == [(name, name) for name in all_notebooks()]


def test_its_numbers_are_those_of_the_figures():
    assert README == write_numbers.write(README), "run python -m docs.write_numbers"


def headings(text: str) -> set[str]:
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", text.lower(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def texts_of(name: str) -> list[str]:
    """A page, or the texts of a notebook."""
    if name in PAGES:
        return [PAGES[name]]
    cells = nbformat.read(ROOT / name, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


NOTEBOOKS = [f"notebooks/{name}.ipynb" for name in all_notebooks()]


@pytest.mark.parametrize("name", [*PAGES, *NOTEBOOKS])
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)\s]+)\)", "\n".join(texts_of(name))):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in headings(target.read_text(encoding="utf-8")), link


def test_the_folders_of_the_readme_are_on_the_disk():
    listed = re.findall(r"^    (\w+)/ ", README, re.MULTILINE)
    made = re.compile(r"[._].*|dist|node_modules|.*\.egg-info")
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert {*listed} == {name for name in folders if not made.fullmatch(name)}


def commands() -> list[list[str]]:
    """The commands of ircotlib in the pages, as lists of arguments."""
    text = TEXT.replace("\\\n", " ")
    lines = re.findall(r"^    (?:[A-Z_]+=\S+ )?(ircotlib [^\n`]*)", text, re.MULTILINE)
    return [shlex.split(line.partition("  #")[0], comments=True)[1:] for line in lines]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_can_be_given(words):
    command, *rest = words
    assert command in COMMANDS
    options = list(zip(rest, rest[1:], strict=False))
    profile = dict(options).get("--profile", "mini")
    assert (PROFILES / f"{profile}.yaml").is_file()
    for option, value in options:
        if option == "--set":
            assert value.partition("=")[0] in {*KNOWN, "two_step_k"}, value
        if option == "--only":
            assert choose_notebooks([value], read_parameters("mini"))


def test_the_data_set_of_the_docs_can_be_added(tmp_path, plugins):
    (plugins / "mine.py").write_text(code_of("docs/data.md"))
    paragraphs = [["A", "It is Ann."], ["B", "b"]]
    asked = {"question": "Who?", "answers": ["Ann"], "gold": [0]}
    line = json.dumps(asked | {"paragraphs": paragraphs})
    (tmp_path / "mine.jsonl").write_text(line + "\n")
    questions, corpus = read_dataset("mine", tmp_path)
    assert [question.text for question in questions] == ["Who?"]
    assert len(list(corpus)) == 2
    assert find_dataset("mine").scores["f1"]("It is Ann", ["Ann"]) > 0


def test_the_system_of_the_docs_can_be_added(plugins):
    (plugins / "two_step.py").write_text(code_of("docs/systems.md"))
    system = all_systems()["Two-step QA"]
    question = Question("1", "Who?", ("Ann",), (), "musique")
    assert next(system.program(question, read=None, k=2)) == Retrieve("Who?", 2)
    p = read_parameters("mini", {"two_step_k": [3]})
    assert p.grid("two_step", "k", [2]) == [3]
