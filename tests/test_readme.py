"""README and disk agree: the tree, the commands, the files it names."""

import inspect
import os
import re
import subprocess
import sys
import tomllib

import pytest

from ircotlib.datasets import downloads, load, twowiki
from ircotlib.laboratory.make import QUESTIONS, SIZE
from ircotlib.paths import PROFILES, ROOT
from ircotlib.regenerate import MAKES, choose_parameters
from ircotlib.systems.oner import oner_qa

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md", "prompts/README.md")
}


def tree() -> list[str]:
    """The paths of the README's tree, folders with a slash at the end."""
    paths, folders = [], []
    for line in filter(
        None, README.split("## Where things are")[1].split("## Sources")[0].splitlines()
    ):
        depth = (len(line) - len(line.lstrip())) // 2 - 2
        folders[depth:] = [line.split()[0]]
        paths.append("".join(folders))
    return paths


def test_everything_in_the_tree_is_on_the_disk():
    assert len(tree()) > 60
    assert not [path for path in tree() if not (ROOT / path).exists()]


def test_everything_kept_is_in_the_tree_once():
    top = [
        path.name + "/" * path.is_dir()
        for path in ROOT.glob("[!.]*")
        if path.suffix != ".egg-info" and path.name != "__pycache__"
    ]
    modules = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("ircotlib/**/*.py")
        if path.name != "__init__.py"
    ]
    assert not sorted({*top, *modules} - {*tree()})
    assert len({*tree()}) == len(tree())


def test_notebooks_and_links_are_there():
    assert re.findall(r"^\| \[(\w+)\]", README, re.MULTILINE) == list(MAKES)
    for name, text in PAGES.items():
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (ROOT / name).parent.joinpath(link).exists(), (name, link)


@pytest.mark.parametrize("name", PAGES)
def test_commands_can_be_given(name):
    text = PAGES[name]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^    |`)make (\w+)", text, re.MULTILINE)) <= set(targets)
    for module, options in re.findall(r"python -m ([\w.]+)([^`#\n]*)", text):
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert not [
            option for option in re.findall(r"--\w+", options) if f'"{option}"' not in source
        ], (module, options)
    choose_parameters([], "mini", dict.fromkeys(re.findall(r"--set \"?(\w+)=", text)))
    assert set(re.findall(r"--only (\w+)", text)) <= set(MAKES)
    assert set(re.findall(r"--profile (\w+)", text)) <= {
        path.stem for path in PROFILES.glob("*.yaml")
    }
    assert not [
        path
        for path in re.findall(r"\b(?:docker|tests)/[\w-]+\.\w+", text)
        if not (ROOT / path).exists()
    ]


def test_names_in_the_text_are_those_of_the_program():
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("ircotlib/**/*.py"))
    variables = set(re.findall(r"`((?:ELASTICSEARCH|IRCOT)_[A-Z_]+)", README))
    assert len(variables) == 5 and not [name for name in variables if name not in sources]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(re.findall(r"'\.\[(\w+)\]'", README)) == {"elasticsearch"} <= set(extras)
    official = [names[0] for names in load.FILES.values()]
    assert not [
        name
        for name in (*official, load.ARTICLES, twowiki.ALIASES, downloads.ARCHIVE)
        if f"`{name}`" not in README
    ]
    assert f"{SIZE:,} pages" in README and f"{QUESTIONS} questions" in README


def test_the_system_shown_is_the_one_that_runs():
    body = inspect.getsource(oner_qa).split('"""')[2].strip("\n")
    assert re.sub(r"^", "    ", body, flags=re.MULTILINE) in README


def test_the_example_in_python_runs(tmp_path):
    code = README.split("**From Python:**")[1].split("\n## ")[0]
    environment = os.environ | {
        "IRCOT_DATA": str(tmp_path / "data"),
        "PYTHONPATH": str(ROOT),
        "IRCOT_BATCH": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", inspect.cleandoc(code)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "recall" in done.stdout


def test_the_repository_names_no_machine():
    for path in (*ROOT.glob("*.md"), *ROOT.glob("ircotlib/**/*.py"), *ROOT.glob("profiles/*")):
        assert not re.search(
            r"(?<![\w.:/-])/(work|root|home|opt)/", path.read_text(encoding="utf-8")
        ), path
