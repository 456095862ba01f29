"""README, docs and disk agree: links, commands, names, folders, and the examples run."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module

import nbformat
import pandas as pd
import pytest
import yaml
from matplotlib import colors, image

from ircotlib.__main__ import COMMANDS
from ircotlib.command.figures import choose_notebooks
from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.scoring import score
from ircotlib.files.notebooks import all_notebooks
from ircotlib.files.paths import PROFILES, ROOT
from ircotlib.parameters import Parameters, parameter_names, read_parameters
from ircotlib.prompting.demonstrations import read_demonstrations
from ircotlib.systems import all_systems

NAMES = ["README.md", "CONTRIBUTING.md", "prompts/README.md"]
NAMES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
README, TEXT = PAGES["README.md"], "\n".join(PAGES.values())
PROFILE_NAMES = {path.stem for path in PROFILES.glob("*.yaml")}
MINI = read_parameters("mini")
MADE = ("data/calls.sqlite", "data/executed/", "data/mine", "prompts/two_step/ask.txt")  # by users


def code_of(page: str) -> str:
    """The first Python in a page."""
    return re.search(r"^```python\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)[1]


def test_the_readme_is_short_and_leads_to_every_page_and_notebook():
    assert len(README.splitlines()) <= 120
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)[)#]", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")}
    rows = re.findall(r"^\| \[(\w+)\]\(notebooks/(\w+)\.ipynb\)", README, re.MULTILINE)
    assert rows == [(name, name) for name in all_notebooks()]


def headings(text: str) -> set[str]:
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    assert headings("# A\n## Real, one `x`\n# no\n") == {"a", "real-one-x", "no"}
    prose = re.sub(r"`[^`]*`|^    .*", "", PAGES[name], flags=re.MULTILINE)
    for link in re.findall(r"\]\(([^):]+)\)", prose):
        path, _, heading = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        if target.suffix == ".md":
            assert not heading or heading in headings(target.read_text(encoding="utf-8")), link


def test_the_folders_of_the_readme_are_on_the_disk():
    folders = []
    for line in README.split("## Folders")[1].split("\n[")[0].strip("\n").splitlines():
        above = folders[-1].split("/")[0] + "/" if line.startswith("      ") else ""
        folders.append(above + line.split()[0])
    top = (path for path in ROOT.iterdir() if path.is_dir())
    top = {f"{path.name}/" for path in top if not re.match(r"\.|__|dist$|.*\.egg-info", path.name)}
    assert len(folders) == len(set(folders)) and top <= set(folders)
    assert not [folder for folder in folders if not (ROOT / folder).is_dir()]


def test_what_the_text_names_is_there():
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("[bi]*/**/*.py"))
    variables = set(re.findall(r"`((?:ELASTICSEARCH|IRCOT|OPENAI)_[A-Z_]+)", TEXT))
    assert variables and not [name for name in variables if name not in sources]
    extras = set(re.findall(r"'\.\[(\w+)\]'", TEXT))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extras and extras <= set(project["optional-dependencies"])
    folders = "docker|tests|profiles|prompts|data|ircotlib|figures"
    files = set(re.findall(rf"\b(?:{folders})/[\w/-]+\.\w+", TEXT))
    assert not [path for path in files if not (ROOT / path).exists() and not path.startswith(MADE)]
    tests = [*(ROOT / "tests").rglob("test_*.py")]
    defined = re.findall(r"^def (test_\w+)", "".join(path.read_text() for path in tests), re.M)
    defined += [path.stem for path in tests]
    for name, cut in re.findall(r"`(test_\w+)(…?)`", PAGES["docs/faults.md"]):
        assert any(other.startswith(name) if cut else other == name for other in defined), name


@pytest.mark.parametrize("page", PAGES)
def test_files_and_what_is_in_them_are_called_by_their_names(page):
    for name, target in re.findall(r"\[([\w.]+\.py)\]\(([^)#]+)", PAGES[page]):
        assert target.rpartition("/")[2] == name, (name, target)
    told_in = r"((?:`\w+`[\s,and]*)+)(?:which [^.;`]*,)?\s*\bare in\s+\[\w+\.py\]\(([^)#]+)\)"
    for names, target in re.findall(told_in, PAGES[page]):
        text = ((ROOT / page).parent / target).read_text(encoding="utf-8")
        assert all(f" {name}(" in text for name in re.findall(r"`(\w+)`", names)), (names, target)


def test_the_repository_names_no_machine():
    paths = *ROOT.glob("irco*/**/*.py"), *ROOT.glob("profiles/*")
    for name, text in (PAGES | {path: path.read_text(encoding="utf-8") for path in paths}).items():
        assert not re.search(r"(?<![\w.:/-])/(work|root|home|opt)/", text), name


@pytest.mark.parametrize("name", PAGES)
def test_commands_can_be_given(name, capsys):
    text = PAGES[name].replace("\\\n", " ")
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^    |`)make (\w+)", text, re.MULTILINE)) <= set(targets)
    given = r"(?:^    |`|… )(?:ircotlib|python -m) ((?!pytest)[\w.]+)(.*)"
    for command, options in re.findall(given, text, re.MULTILINE):
        options = re.findall(r"(?<!\S)--[a-z]\w*", re.split("[`#]", options)[0])
        if "." in command:
            path = ROOT / command.replace(".", "/")
            path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
            known = path.read_text(encoding="utf-8")
        else:
            with pytest.raises(SystemExit, match="0"):
                import_module(COMMANDS[command]).main(["--help"])
            known = capsys.readouterr().out
        assert not [option for option in options if option not in known], (command, options)
    own = {"NAME", "20_mine"}  # the user's
    choose_notebooks(sorted(set(re.findall(r"--only (\w+)", text)) - own), MINI)
    assert set(re.findall(r"--profile (\w+)", text)) - {"NAME"} <= PROFILE_NAMES
    changed = set(re.findall(r"--set \"?(\w+)=", text)) - {"NAME"}
    assert changed <= {*parameter_names(), "two_step_k"}  # of the system that docs/systems.md adds


def test_every_parameter_is_described_with_its_default_and_the_papers_value():
    page, paper = PAGES["docs/parameters.md"], read_parameters("paper").model_dump(mode="json")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page, re.M)
    fields = Parameters.model_fields
    assert [name for name, *_ in rows] == [name for name in fields if name != "profile"]
    for name, *cells in rows:
        default = None if fields[name].is_required() else fields[name].default
        values = [None if cell == "–" else yaml.safe_load(cell.strip("`")) for cell in cells]
        assert values == [json.loads(json.dumps(default)), paper[name]], name
    profiles = page.split("## Profiles")[1].split("###")[0]
    assert set(re.findall(r"^\| `(\w+)` ", profiles, re.MULTILINE)) == PROFILE_NAMES


def test_every_grid_is_described_with_the_papers_values():
    grids, page = {}, PAGES["docs/parameters.md"]
    rows = re.findall(r"^\| `(\w+)` \| `(\[[^|]+\])` \| ([^|]+) \|$", page, re.M)
    for system in filter(lambda system: system.grid, all_systems().values()):
        grids.setdefault(f"{system.module}_k", []).append(system)
    assert {name for name, *_ in rows} == set(grids)
    for name, values, systems in rows:
        assert systems == ", ".join(system.name for system in grids[name])
        assert all(list(system.grid["k"]) == yaml.safe_load(values) for system in grids[name])
    # the fields of a system
    table = PAGES["docs/systems.md"].split("## The record")[1].split("## Prompts")[0]
    rows = re.findall(r"^\| (`[^|]+) \| ", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"System"}
    assert named == set(next(iter(all_systems().values())).__dataclass_fields__)


def test_the_example_in_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path)
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path)
    exec(code_of("docs/runs.md"), {})
    printed = capsys.readouterr().out
    assert re.search(r"^recall +\d\.\d+\nf1 ", printed) and printed.endswith("\n6 rows\n")
    assert "Wikipedia Title: " in printed  # the prompt that was replayed


def test_the_data_set_of_the_docs_can_be_added(tmp_path, plugins):
    page = PAGES["docs/data.md"]
    (plugins / "mine_of_docs.py").write_text(code_of("docs/data.md"), encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text(re.search(r"```json\n(.+\n)```", page)[1])
    [question], paragraphs = read_dataset("mine", tmp_path)
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B"]
    assert question.answers == ("Ann", "A.") and question.gold == (paragraphs[0].id,)
    assert find_dataset("mine").title == "My questions"
    scores = score(question, Prediction("Ann", (paragraphs[0],)))
    assert (scores["recall"], scores["f1"], scores["em"]) == (1, 1, 1)


def test_the_prompts_of_the_docs_can_be_read_and_written(tmp_path):
    page = PAGES["prompts/README.md"]
    shown = re.search(r"^    # METADATA.*?^    A: [^\n]*\n", page, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "own.txt").write_text(re.sub(r"^    ", "", shown, flags=re.MULTILINE))
    [demonstration] = read_demonstrations(tmp_path / "own.txt")
    titles = [paragraph.title for paragraph in demonstration.paragraphs]
    assert titles == ["Jane Austen", "Middlemarch"]
    given = {"count_tokens": lambda text: len(text.split()), "thoughts": ["It is."]}
    given["question"] = Question("q", "Who?", ("A",), (), "musique")
    given["paragraphs"] = demonstration.paragraphs
    exec(code_of("prompts/README.md"), given)
    assert given["text"].startswith("Wikipedia Title: ")
    assert given["text"].endswith("reasoning step-by-step.\nWho?\nA: It is.")
    cot = (ROOT / "prompts/ircot/cot.txt").read_text()
    assert re.sub(r"^(?=.)", "    ", cot, flags=re.MULTILINE) in page
    shown = README.split("**System.**")[1].split("\n\n")[1]
    assert re.sub(r"^    ", "", shown, flags=re.MULTILINE) in code_of("docs/systems.md")


def test_the_words_that_belong_to_a_method_are_in_prompts_or_programs():
    page = PAGES["prompts/README.md"].split("## Words that belong to a method")[1].split("\n## ")[0]
    places = [*ROOT.glob("prompts/**/*.txt"), *ROOT.glob("ircotlib/systems/**/*.py")]
    places += [*ROOT.glob("ircotlib/prompting/*.py")]
    texts = "\0".join(path.read_text(encoding="utf-8") for path in places)
    words = re.findall(r"`([^`]+)`", page)
    assert len(words) > 30 and not [each for each in words if each not in texts]


TWO_STEP = ["Two-step", "Two-step QA"]
SETS = {"datasets": "[musique]", "dev": 4, "test": 6, "distractors": "[1]", "oner_k": "[5]"}
SETS |= {"ircot_k": "[2]", "two_step_k": "[3, 5]", "gpt3": "", "model": "data/models/mini-base"}


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """Where the command of docs/systems.md has run in a copy with the system it adds."""
    folder = tmp_path_factory.mktemp("added")
    copy = folder / "copy"
    for name in ("ircotlib", "ircot_laboratory", "notebooks", "profiles", "prompts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "data").mkdir()
    (copy / "data/models").symlink_to(ROOT / "data/models")
    for name in ("pyproject.toml", "data/reported.csv", "data/reported_cases.csv"):
        shutil.copy(ROOT / name, copy / name)
    (copy / "ircotlib/systems/two_step.py").write_text(code_of("docs/systems.md"), encoding="utf-8")
    command = re.search(r"ircotlib (figures --only .*) --set", PAGES["docs/systems.md"])[1]
    changes = [f"--set={name}={value}" for name, value in SETS.items()]
    own = {"IRCOT_DATA": str(folder / "data"), "IRCOT_FIGURES": str(folder / "figures")}
    own |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy)}
    command = [sys.executable, "-m", "ircotlib", *command.split(), *changes]
    options = {"cwd": folder, "env": os.environ | own, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr
    return folder


def read(added, table: str) -> pd.DataFrame:
    return pd.read_csv(drawn_in(added) / f"ircot_{table}.csv")


def drawn_in(added):
    """The folder of the trial's figures."""
    [folder] = added.glob("figures/trials/*")
    return folder


def printed(added, notebook: str, words: str) -> str:
    """The output of the cell with these words in an executed notebook."""
    [path] = added.glob(f"data/executed/mini/trials/*/{notebook}.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    [cell] = [cell for cell in cells if cell.cell_type == "code" and words in cell.source]
    texts = (out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs)
    return "".join(map(str, texts))


def test_an_added_system_is_tuned_and_run(added):
    paths = added.glob("data/runs/mini/04_ircot-*/*/*/*/run.json")
    runs = [json.loads(path.read_text()) for path in paths]
    tried = Counter((run["system"], run["part"], run["parameters"]["reader"]) for run in runs)
    ours = [tried[name, part, "cot"] for name in TWO_STEP for part in ("dev", "test")]
    assert ours == [2, 1, 2, 2]  # settings; demonstration sets
    assert {run["setting"]["k"] for run in runs if run["system"] in TWO_STEP} == {3, 5}
    assert {"NoR QA", "OneR", "IRCoT QA"} <= {name for name, _, _ in tried}
    reading = {"NoR QA", "OneR QA", "Two-step QA", "IRCoT QA"}  # with both readers
    assert {name for name, _, reader in tried if reader == "direct"} == reading


def test_an_added_system_is_in_tables_claims_and_notebooks(added):
    answering = ["NoR QA", "OneR QA", "Two-step QA", "IRCoT QA w/o reader", "IRCoT QA"]
    systems = {"fig03_recall": ["OneR", "Two-step", "IRCoT"], "fig04_f1": answering}
    for name, in_order in systems.items():  # of the records
        assert list(read(added, name).query("profile == 'mini'")["system"]) == in_order
    claims = read(added, "differences").set_index("claim")["metric"]
    assert claims["Two-step > OneR"] == "recall" and claims["Two-step QA > OneR QA"] == "f1"
    tuning = read(added, "tuning").query("system in @TWO_STEP")
    tried = list(zip(tuning["metric"], tuning["k"], strict=True))
    assert tried == [("recall", 3), ("recall", 5), ("f1", 3), ("f1", 5)]
    [row] = read(added, "table1").query("system == 'Two-step QA'").to_dict("records")
    assert row["questions"] == "2hop" and row["ours F1"] >= 0 and pd.isna(row["paper F1"])
    assert re.search(r"Two-step QA +[35] +1 *\n", printed(added, "04_ircot", "show_table(chosen)"))
    assert "Two-step > OneR" in printed(added, "04_ircot", 'value="verdict"')
    assert "Two-step QA > OneR QA" in printed(added, "99_figures", "compare(runs)")


def test_an_added_system_is_drawn_in_its_colour(added):
    green = colors.to_rgb(re.search(r'color="(#\w+)"', code_of("docs/systems.md"))[1])
    for folder, drawn in ((drawn_in(added), True), (ROOT / "figures", False)):
        for name in ("fig03_recall", "fig04_f1"):
            picture = image.imread(folder / f"ircot_{name}.png")[:, :, :3]
            pixels = (abs(picture - green) < 0.002).all(axis=2).sum()
            assert (pixels > 100) == drawn and (pixels == 0) != drawn
