"""README, docs and disk agree: links, names, folders, numbers. All code in the pages
runs here as it stands there, or stands in NOT_HERE with the reason.
"""

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec

import nbformat
import pandas
import pytest

from docs import write_numbers
from ircotlib import answer, open_setup
from ircotlib.__main__ import COMMANDS, main
from ircotlib.command.figures import all_notebooks
from ircotlib.data import Paragraph, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.engine.cache import Calls
from ircotlib.files import PROFILES, ROOT
from ircotlib.parameters import Parameters, grid_names, read_parameters
from ircotlib.program import SENTENCE, Generate, Retrieve
from ircotlib.prompting.demonstrations import read_demonstrations, read_examples
from ircotlib.systems import all_systems

NAMES = ["README.md", "CONTRIBUTING.md", "prompts/README.md"]
NAMES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
KNOWN = {*Parameters.model_fields, *grid_names()}
README, TEXT = PAGES["README.md"], "\n".join(PAGES.values())


# fenced code, or lines that are indented by four spaces below an empty line
BLOCK = re.compile(r"(?ms)^```\w*\n(.*?)^```$|(?<=\n\n)((?: {4}.*?\n|\n(?=\n* {4}))+)")
FENCED, INDENTED = 1, 2
# commands that do not run here, by their beginning, and why
NOT_HERE = {
    "ircotlib figures": "takes minutes; tests/test_notebooks.py runs it",
    "ircotlib fetch --profile sample --set data_dir=FOLDER": "downloads",
    "ircotlib fetch --profile paper --set data_dir=FOLDER": "downloads",
    "ircotlib report": "needs runs; tests/explore/test_report.py runs it",
    "pip": "installs, or downloads",
    "ray": "needs other machines",
    "unzip": "of a download",
    "python - <<'END'": "of a download",
}


def blocks_of(page: str) -> list[str]:
    """The blocks of code in a page."""
    found = BLOCK.finditer(page)
    return [one[FENCED] or re.sub("(?m)^    ", "", one[INDENTED]) for one in found]


BLOCKS = [block for page in PAGES.values() for block in blocks_of(page)]


def code(begin: str) -> str:
    """The block of code that begins so."""
    [found] = [block for block in BLOCKS if block.startswith(begin)]
    return found


def test_the_readme_is_short_and_leads_to_every_page_and_notebook():
    assert len(README.splitlines()) <= 112
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)[)#]", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")}
    rows = re.findall(r"^\| \[(\w+)\]\(notebooks/(\w+)\.ipynb\)", README, re.MULTILINE)
    assert rows == [(name, name) for name in all_notebooks()]


def test_its_numbers_are_those_of_the_figures():
    assert README == write_numbers.write(README), "run python -m docs.write_numbers"


def text_of(name: str) -> str:
    """A page, or the texts of a notebook."""
    if name.endswith(".md"):
        return (ROOT / name).read_text(encoding="utf-8")
    cells = nbformat.read(ROOT / name, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


NOTEBOOKS = [f"notebooks/{name}.ipynb" for name in all_notebooks()]
OTHERS = ["CHANGELOG.md", "training/agent/README.md", "docs/site/index.md"]


@pytest.mark.parametrize("name", [*PAGES, *OTHERS, *NOTEBOOKS])
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(name)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8").lower(), re.M)
            plain = [re.sub(r"[^\w\- ]", "", title) for title in titles]
            assert anchor in [title.replace(" ", "-") for title in plain], link


def test_the_folders_of_the_readme_are_on_the_disk():
    listed = re.findall(r"(?m)^(\w+)/ ", code("notebooks/ "))
    made = re.compile(r"[._].*|dist|node_modules|.*\.egg-info")
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert {*listed} == {name for name in folders if not made.fullmatch(name)}


# what runs or downloads writes, and folders of a user's own
MADE = ("data/annotations", "data/calls", "data/executed")
MADE += ("data/raw", "data/runs", "figures/trials", "prompts/two_step", "notebooks/NN_")


@pytest.mark.parametrize("name", [*PAGES, *NOTEBOOKS])
def test_files_and_commands_in_the_text_are_there(name):
    text = text_of(name)
    for path in re.findall(r"`((?:[a-z]+)/[\w./-]+)`", text):
        named = (ROOT / path.partition("/")[0]).is_dir() and not path.startswith(MADE)
        assert not named or (ROOT / path).exists(), path
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall("`make ([a-z]+)", text):
        assert f"\n{target}: " in targets, target
    for module in re.findall(r"`python -m ([\w.]+)", text):
        assert find_spec(module), module


def test_names_are_in_the_files_that_the_architecture_page_links_them_to():
    page = PAGES["docs/architecture.md"]
    named = re.findall(r"\[`(\w+)`\]\(([^)#]+\.py)\)", page)
    named += re.findall(r"`(\w+)` in \[[^]]+\]\(([^)#]+\.py)\)", page)
    assert len(named) > 20
    for name, path in named:
        text = (ROOT / "docs" / path).read_text(encoding="utf-8")
        assert name in text or path.endswith(f"/{name}.py"), name


def lines_of(block: str) -> list[str]:
    """The commands of a block, without their comments."""
    lines = block.replace("\\\n", " ").splitlines()
    return [re.sub(r"^[A-Z_]+=\S+ |  +#.*", "", line).strip() for line in lines]


COMMAND = re.compile(r"(ircotlib|make|pip|python|ray|unzip) ")
LINES = sorted(filter(COMMAND.match, {*lines_of("\n".join(BLOCKS))}))


@pytest.mark.parametrize("line", LINES)
def test_commands_can_be_given(line):
    command, *rest = shlex.split(line)
    if command == "make":  # only says what it would run
        subprocess.run(["make", "-n", *rest], cwd=ROOT, check=True, capture_output=True)
    if command != "ircotlib":
        return
    assert rest[0] in COMMANDS
    options = list(zip(rest, rest[1:], strict=False))
    profile = dict(options).get("--profile", "mini")
    assert (PROFILES / f"{profile}.yaml").is_file()
    for option, value in options:
        if option == "--set":
            assert value.partition("=")[0] in {*KNOWN, "two_step_k"}, value
        if option == "--only":
            assert value in all_notebooks()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data folder of what runs in this process."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.experiment.setup.DATA", folder / "data")
        patch.setattr("ircotlib.experiment.workers.count_workers", lambda *_: 1)
        yield folder / "data"


def runs_here(line: str) -> bool:
    return "--list" in line or not line.startswith(("make", *NOT_HERE))


@pytest.mark.parametrize("line", [*filter(runs_here, LINES)])
def test_commands_run(line, data, tmp_path, monkeypatch, capsys):
    command, *rest = shlex.split(line)
    monkeypatch.chdir(tmp_path)
    if command == "python":  # a copy of the call cache
        with Calls(tmp_path / "data" / "calls.sqlite") as calls:
            calls.put_many({"00": "a reply"})
            subprocess.run([sys.executable, *rest], check=True)
        with Calls(tmp_path / "copy.sqlite") as copy:
            assert copy.get_many(["00"]) == {"00": "a reply"}
        return
    assert main([str(tmp_path) if word == "FOLDER" else word for word in rest]) == 0
    printed = capsys.readouterr().out
    assert printed
    if rest[0] == "ask":  # the README shows some of its lines, with … for what it omits
        for shown in code("2. IRCoT QA writes").splitlines():
            form = ".*".join(map(re.escape, shown.rstrip("… ").split("…")))
            assert re.search(f"(?m)^{form}", printed), shown


def test_all_code_is_checked():
    """Each block is a list of commands, or begins as one that a test here reads."""
    with open(__file__, encoding="utf-8") as file:
        begins = re.findall(r"\bcode\(['\"](.+?)['\"]\)", file.read())
    begins.append("pip download")  # commands and a program, of a download
    for block in BLOCKS:
        commands = all(map(COMMAND.match, lines_of(block)))
        assert commands or block.startswith(tuple(begins)), block
    text = "\n".join(BLOCKS)
    assert all(f"\n{begin}" in text for begin in NOT_HERE)


def test_the_run_of_the_docs(data, capsys):
    exec(code("from ircotlib import all_systems"), {})
    recall, f1 = re.findall(r"(?m)^(\w+) +[01]\.\d+$", capsys.readouterr().out)
    assert (recall, f1) == ("recall", "f1")
    form = code("data/runs/").strip().removeprefix("data/runs/").rstrip("/")
    form = form.replace("<hash>", "*").replace("<profile>", "mini")
    form = form.replace("<notebook>", "mine").replace("<dataset>", "musique")
    form = form.replace("<dev or test>", "test").replace("<system>", "IRCoT-QA")
    [folder] = (data / "runs").glob(form)
    listed = re.findall(r"(?m)^\| `(\w+\.\w+)` \|", PAGES["docs/runs.md"])
    assert {path.name for path in folder.iterdir()} == {*listed}


def test_the_questions_of_the_docs_are_read(tmp_path, monkeypatch):
    folder = tmp_path / "FOLDER" / "own"
    folder.mkdir(parents=True)
    (folder / "questions.jsonl").write_text(code('{"id": "1"'))
    [question], corpus = read_dataset("own", folder)
    assert question.answers == ("Ann", "A.") and len(list(corpus)) == 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.csv").write_text("asked,gold\nWho?,007\n")
    (folder / "corpus.jsonl").write_text('{"title": "A", "text": "It is Ann."}\n')
    exec(code("table = pandas"), {"pandas": pandas})
    [question], _ = read_dataset("own", folder)
    assert (question.text, question.answers) == ("Who?", ("007",))


def test_the_data_set_of_the_docs_can_be_added(tmp_path, plugins):
    (plugins / "mine.py").write_text(code('"""My questions'))
    [line] = re.findall(r"A line of `mine.jsonl` is `([^`]+)`", PAGES["docs/data.md"])
    (tmp_path / "mine.jsonl").write_text(" ".join(line.split()))
    [question], corpus = read_dataset("mine", tmp_path)
    assert question.text == "Who?" and question.gold == (next(iter(corpus)).id,)
    assert find_dataset("mine").scores["f1"]("It is Ann", ["Ann"]) > 0


LIBRARY = """
class my_library:
    def build(corpus):
        class Index:
            def best_paragraphs(self, query, k):
                return list(corpus)[:k]
        return Index()

    def complete(prompt, max_tokens):
        return "Mount Etna erupts. So the answer is: Rome."
"""


def test_the_model_and_the_retriever_of_the_docs_run_a_system(
    data, plugins, laboratory, capsys
):
    (plugins / "model.py").write_text(LIBRARY + code("from ircotlib import own_model"))
    own = LIBRARY + code("from ircotlib import own_retriever")
    (plugins / "retriever.py").write_text(own)
    changes = {"model": "mine", "style": "codex", "retriever": "mine"}
    changes |= {"data_dir": str(laboratory), "dev": 0, "test": 1}
    setup = open_setup(read_parameters("mini", changes), "musique", "own")
    result = answer(setup, "IRCoT QA", setup.test[0], k=2, m=1).result
    assert result.answer == "Rome" and len(result.paragraphs) == 2
    exec(code("from ircotlib import Question, answer"), {})
    assert capsys.readouterr().out.startswith("Rome\nParagraph(id=")


def test_the_system_of_the_docs_can_be_added(plugins):
    (plugins / "two_step.py").write_text(code('"""Two-step'))
    two_step_qa = all_systems()["Two-step QA"].program
    question = Question("1", "Who?", ("Ann",), (), "musique")
    known = {"question": question, "paragraph": Paragraph("a", "A", "It is Ann.")}
    exec(code("program = "), known | {"Retrieve": Retrieve, "two_step_qa": two_step_qa})
    p = read_parameters("mini", {"two_step_k": [3]})
    assert p.grid("two_step", "k", [2]) == [3]
    line = code("thought = yield")
    names = {"Generate": Generate, "SENTENCE": SENTENCE}
    exec(f"def program(question, first, prompts):\n    {line}", names)
    asked = names["program"](question, (), {"ask": lambda question, first: "Who?"})
    assert next(asked) == Generate("Who?", SENTENCE)


def test_the_prompts_of_their_page_are_read(tmp_path, monkeypatch):
    shown = (ROOT / "prompts" / "ircot" / "cot.txt").read_text(encoding="utf-8")
    assert shown.rstrip() == code("{demonstrations}").rstrip()
    path = tmp_path / "cot.txt"
    path.write_text(code("# the paper or program"))
    [example] = read_examples(path)
    assert example.startswith("Q: Which novel")
    path.write_text(code("# METADATA"))
    [demonstration] = read_demonstrations(path)
    assert [page.title for page in demonstration.paragraphs][1:] == ["Middlemarch"]
    monkeypatch.chdir(ROOT)
    page = Paragraph("a", "A", "It is Ann.")
    names = {"question": Question("1", "Who?", (), (), ""), "paragraphs": [page]}
    names |= {"thoughts": ["It is Ann."], "count_tokens": len}
    exec(code("from ircotlib.prompting"), names)
    assert names["text"].endswith("Who?\nA: It is Ann.")
