"""README, docs and disk agree: links, commands, names, folders, and the examples run."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import nbformat
import pytest
import yaml
from matplotlib import colors, image

from ircot_laboratory.make import QUESTIONS, SIZE
from ircotlib import datasets
from ircotlib.command.figures import all_notebooks, choose_notebooks, made_by
from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets import all_datasets, find_dataset, iirc, twowiki
from ircotlib.datasets.abstracts import ARCHIVE
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.scoring import score
from ircotlib.files.paths import PROFILES, ROOT
from ircotlib.parameters import (
    OOD,
    SCALE,
    Parameters,
    grid_names,
    parameter_names,
    read_parameters,
)
from ircotlib.program import Retrieve
from ircotlib.prompting.demonstrations import demonstration_sets, read_demonstrations
from ircotlib.prompting.prompt import STYLES
from ircotlib.systems import all_systems

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "prompts/README.md")),
        *sorted((ROOT / "docs").glob("*.md")),
    )
}
README = PAGES["README.md"]
TEXT = "\n".join(PAGES.values())
LONGEST = {"README.md": 120, "CONTRIBUTING.md": 60}


def code_of(page: str, number: int = 0) -> str:
    """A block of Python in a page."""
    return re.findall(r"^```python\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)[number]


def run_python(*arguments, folder, **environment) -> str:
    """The output of Python code that runs without the repository's own data and figures."""
    command = [sys.executable, *arguments]
    told = {"IRCOT_BATCH": "1", "IRCOT_DATA": str(folder / "data"), "OMP_NUM_THREADS": "1"}
    told |= {"IRCOT_FIGURES": str(folder / "figures"), "PYTHONPATH": str(ROOT)}
    environment = os.environ | told | environment
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Pages and disk


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_in_lines_of_100(name):
    lines = PAGES[name].splitlines()
    assert len(lines) <= LONGEST.get(name, 130)
    assert not [line for line in lines if len(line) > 100 and line[0] not in "|{"]


def test_every_page_of_docs_can_be_reached_from_the_readme():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)[)#]", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")}


def test_the_tests_that_the_table_of_faults_names_are_there():
    files = [*(ROOT / "tests").glob("test_*.py")]
    there = [path.stem for path in files]
    for path in files:
        there += re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"`(test_\w+)(…?)`", PAGES["docs/faults.md"])
    for name, cut in named:
        assert any(one.startswith(name) if cut else one == name for one in there), name
    assert len(named) > 40


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    prose = re.sub(r"`[^`]*`|^    .*", "", PAGES[name], flags=re.MULTILINE)
    for link in re.findall(r"\]\(([^):]+)\)", prose):
        path, _, heading = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), link
        assert not heading or heading in headings(target.read_text(encoding="utf-8")), link


def headings(text: str) -> set[str]:
    """The anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_headings_become_anchors():
    assert headings("# A\n## Real questions, one `x`\ntext # no\n") == {
        "a",
        "real-questions-one-x",
    }


def tree() -> list[str]:
    """The folders of the README's tree."""
    paths, folders = [], []
    for line in README.split("## Folders")[1].split("\n[")[0].strip("\n").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2 - 2
        folders[depth:] = [line.split()[0]]
        paths.append("".join(folders))
    return paths


def test_the_tree_has_the_folders_on_the_disk_once():
    def below(folder):
        found = [path for path in folder.iterdir() if path.is_dir()]
        kept = [path for path in found if not re.match(r"\.|__|.*\.egg-info", path.name)]
        return {path.relative_to(ROOT).as_posix() + "/" for path in kept}

    assert sorted(tree()) == sorted(below(ROOT) | below(ROOT / "ircotlib"))


def test_the_table_of_notebooks_has_all_of_them_in_order():
    table = README.split("## Notebooks")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \[(\w+)\]\(notebooks/(\w+)\.ipynb\)", table, re.MULTILINE)
    assert rows == [(name, name) for name in all_notebooks()]


# Commands and names


@pytest.mark.parametrize("name", PAGES)
def test_commands_can_be_given(name):
    text = PAGES[name].replace("\\\n", " ")
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^    |`)make (\w+)", text, re.MULTILINE)) <= set(targets)
    for module, options in re.findall(r"python -m ((?:ircotlib|bench|training)[\w.]*)(.*)", text):
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        given = re.findall(r"(?<!\S)--[a-z]\w*", options.partition("#")[0].partition("`")[0])
        assert not [option for option in given if f'"{option}"' not in source], (module, options)
    made = {notebook: made_by(notebook, "mini") for notebook in all_notebooks()}
    asked = set(re.findall(r"--only (\w+)", text)) - {"NAME"}
    choose_notebooks(sorted(asked), made)  # notebooks, or figures
    assert set(re.findall(r"--profile (\w+)", text)) - {"NAME"} <= profiles()


def profiles() -> set[str]:
    return {path.stem for path in PROFILES.glob("*.yaml")}


def test_what_is_set_is_a_parameter():
    example = {"two_step_k"}  # of the system that docs/systems.md adds
    changed = set(re.findall(r"--set \"?(\w+)=", TEXT)) - {"NAME"}
    assert len(changed) > 8 and changed - example <= set(parameter_names())


def test_the_profiles_are_described():
    table = PAGES["docs/parameters.md"].split("## Profiles")[1].split("###")[0]
    assert set(re.findall(r"^\| `(\w+)` ", table, re.MULTILINE)) == profiles()
    paper, released = (read_parameters(name).model_dump() for name in ("paper", "released"))
    changed = {name: value for name, value in released.items() if value != paper[name]}
    assert changed == {"profile": "released", "released": True, "max_steps": 10}


def test_every_parameter_is_described_with_its_default_and_the_papers_value():
    paper, page = read_parameters("paper").model_dump(), PAGES["docs/parameters.md"]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.M)
    fields = {name: field for name, field in Parameters.model_fields.items() if name != "profile"}
    assert [name for name, *_ in rows] == list(fields)
    for name, default, value, _ in rows:
        if fields[name].is_required():
            assert default == "–", name
        else:
            assert as_written(default) == jsonable(fields[name].default), name
        assert as_written(value) == jsonable(paper[name]), name


def as_written(cell: str) -> object:
    return yaml.safe_load(cell.strip("`"))


def jsonable(value: object) -> object:
    """A value with lists instead of tuples."""
    return json.loads(json.dumps(value))


def test_every_grid_is_described_with_the_papers_values():
    page, described = PAGES["docs/parameters.md"], {}
    for name, values, systems in re.findall(
        r"^\| `(\w+)` \| `(\[[^|]+\])` \| ([^|]+) \|$", page, re.M
    ):
        described[name] = as_written(values)
        tuned = [s for s in all_systems().values() if s.grid and f"{s.module}_k" == name]
        assert systems == ", ".join(system.name for system in tuned)
        assert all(list(system.grid["k"]) == described[name] for system in tuned)
    plain = {name for name in grid_names() if not name.startswith((SCALE, OOD))}
    assert set(described) == plain
    assert {name.removeprefix(SCALE).removeprefix(OOD) for name in grid_names()} == plain


def test_fields_of_a_system_are_described():
    table = PAGES["docs/systems.md"].split("## The record")[1].split("## Prompts")[0]
    rows = re.findall(r"^\| (`[^|]+) \| ", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"System"}
    [system, *_] = all_systems().values()
    assert named == set(system.__dataclass_fields__)


def test_names_in_the_text_are_those_of_the_program():
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("ircotlib", "bench")
        for path in ROOT.glob(f"{folder}/**/*.py")
    )
    variables = set(re.findall(r"`((?:ELASTICSEARCH|IRCOT|OPENAI)_[A-Z_]+)", TEXT))
    assert len(variables) == 10 and not [name for name in variables if name not in sources]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(re.findall(r"'\.\[(\w+)\]'", TEXT))
    expected = {"browser", "dense", "elasticsearch", "server"}
    assert extras == expected <= set(project["optional-dependencies"])
    files = re.findall(
        r"\b(?:docker|tests|profiles|prompts|data|ircotlib|figures)/[\w/-]+\.\w+", TEXT
    )
    assert len(files) > 20 and not [path for path in set(files) if not named(path)]
    assert set(re.findall(r"`style`: `(\w+)`", TEXT)) <= set(STYLES)
    assert f"{SIZE:,} pages" in TEXT and f"{QUESTIONS} questions" in TEXT


def named(path: str) -> bool:
    """Whether a file exists, or is one that runs or users of the repository make."""
    made = ("data/calls.sqlite", "data/executed/", "data/mine", "prompts/two_step/ask.txt")
    return (ROOT / path).exists() or path.startswith(made)


def test_official_files_are_named():
    official = [dataset.files[0] for dataset in all_datasets().values()]
    names = (*official, iirc.ARTICLES, twowiki.ALIASES, ARCHIVE, *all_datasets())
    assert not [name for name in names if f"`{name}`" not in PAGES["docs/data.md"]]


def test_the_repository_names_no_machine():
    texts = PAGES | {
        path: path.read_text(encoding="utf-8")
        for path in (*ROOT.glob("ircotlib/**/*.py"), *ROOT.glob("profiles/*"))
    }
    for name, text in texts.items():
        assert not re.search(r"(?<![\w.:/-])/(work|root|home|opt)/", text), name


# Examples


def test_the_example_in_python_runs(tmp_path):
    printed = run_python("-c", code_of("docs/runs.md"), folder=tmp_path)
    assert re.search(r"^recall +\d\.\d+\nf1 ", printed) and printed.endswith("\n6 rows\n")
    assert "Wikipedia Title: " in printed  # the prompt that was replayed


def test_the_data_set_of_the_docs_can_be_added(tmp_path, monkeypatch):
    page, folder = PAGES["docs/data.md"], tmp_path / "own"
    folder.mkdir()
    (folder / "mine_of_docs.py").write_text(code_of("docs/data.md"), encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text(re.search(r"```json\n(.+\n)```", page)[1])
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(folder)])
    [question], paragraphs = read_dataset("mine", tmp_path)
    sys.modules.pop("ircotlib.datasets.mine_of_docs")
    assert [paragraph.title for paragraph in paragraphs] == ["A", "B"]
    assert question.answers == ("Ann", "A.") and question.gold == (paragraphs[0].id,)
    assert find_dataset("mine").title == "My questions"
    found = score(question, Prediction("Ann", (paragraphs[0],)))
    assert (found["recall"], found["f1"], found["em"]) == (1, 1, 1)


def test_the_prompts_of_the_docs_can_be_read_and_written(tmp_path):
    page = PAGES["prompts/README.md"]
    shown = re.search(r"^    # METADATA.*?^    A: [^\n]*\n", page, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "own.txt").write_text(re.sub(r"^    ", "", shown, flags=re.MULTILINE))
    [one] = read_demonstrations(tmp_path / "own.txt")
    assert [paragraph.title for paragraph in one.paragraphs] == ["Jane Austen", "Middlemarch"]
    assert [one] == demonstration_sets([one])[0]
    given = {"count_tokens": lambda text: len(text.split()), "thoughts": ["It is."]}
    given |= {
        "question": Question("q", "Who?", ("A",), (), "musique"),
        "paragraphs": one.paragraphs,
    }
    exec(code_of("prompts/README.md"), given)
    assert given["text"].startswith("Wikipedia Title: ")
    assert given["text"].endswith("reasoning step-by-step.\nWho?\nA: It is.")
    cot = (ROOT / "prompts/ircot/cot.txt").read_text()
    assert re.sub(r"^(?=.)", "    ", cot, flags=re.MULTILINE) in page


# A system is added by one file


SETS = {
    "datasets": "[musique]",
    "dev": "4",
    "test": "6",
    "distractors": "[1]",
    "oner_k": "[5]",
    "ircot_k": "[2]",
    "two_step_k": "[3, 5]",
    "model": "data/models/mini-base",
}


def test_the_system_of_the_docs_is_short_and_makes_the_requests_it_says():
    code, made = code_of("docs/systems.md"), {"__name__": "ircotlib.systems.two_step"}
    program = code[code.index("def ") :].splitlines()
    assert len([line for line in program if line.strip()]) <= 15
    shown = README.split("**System.**")[1].split("\n\n")[1]
    assert re.sub(r"^    ", "", shown, flags=re.MULTILINE) in code
    exec(code, made)
    lost, mack = (
        Paragraph("a", "Lost Gravity", "A ride."),
        Paragraph("b", "Mack Rides", "Its maker."),
    )
    question = Question("q", "Who made Lost Gravity?", ("Mack Rides",), ("b",), "musique")
    playing = made["two_step"](question, k=2)
    assert next(playing) == Retrieve(question.text, 2)
    assert playing.send((lost,)) == Retrieve("Lost Gravity", 2)
    with pytest.raises(StopIteration) as end:
        playing.send((lost, mack))
    assert end.value.value == Prediction(paragraphs=(lost, mack))
    playing = made["two_step"](question, k=2)
    next(playing)
    with pytest.raises(StopIteration) as end:
        playing.send(())
    assert end.value.value == Prediction()


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A copy of the repository with the system of docs/systems.md, after its command was run with
    fewer questions and a small model.
    """
    place = tmp_path_factory.mktemp("added")
    copy = place / "copy"
    for name in ("ircotlib", "notebooks", "profiles", "prompts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "data").mkdir()
    (copy / "data/models").symlink_to(ROOT / "data/models")
    for name in ("pyproject.toml", "data/reported.csv", "data/reported_cases.csv"):
        shutil.copy(ROOT / name, copy / name)
    (copy / "ircotlib/systems/two_step.py").write_text(code_of("docs/systems.md"), encoding="utf-8")
    command = re.search(r"python (-m ircotlib.command.figures.*) --set", PAGES["docs/systems.md"])[
        1
    ]
    changes = [f"--set={name}={value}" for name, value in SETS.items()]
    run_python(*command.split(), *changes, folder=place, PYTHONPATH=str(copy))
    return place


def read_table(path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_an_added_system_is_tuned_and_run(added):
    runs = [
        json.loads(path.read_text())
        for path in added.glob("data/runs/mini/04_ircot-*/*/*/*/run.json")
    ]
    by_reader = {
        reader: [
            (r["system"], r["part"], *r["setting"].values())
            for r in runs
            if r["parameters"]["reader"] == reader
        ]
        for reader in ("cot", "direct")
    }
    settings = by_reader["cot"]
    ours = sorted(one for one in settings if one[0].startswith("Two-step"))
    [best] = {one[2] for one in ours if one[:2] == ("Two-step", "test")}
    [best_qa] = {one[2] for one in ours if one[:2] == ("Two-step QA", "test")}
    assert ours == [
        ("Two-step", "dev", 3),
        ("Two-step", "dev", 5),
        ("Two-step", "test", best),
        ("Two-step QA", "dev", 3, 1),
        ("Two-step QA", "dev", 5, 1),
        *(("Two-step QA", "test", best_qa, 1, number) for number in range(3)),
    ]
    assert {"NoR QA", "OneR", "IRCoT QA"} <= {one[0] for one in settings}
    reading = {"NoR QA", "OneR QA", "Two-step QA", "IRCoT QA"}  # systems that run with both readers
    assert {one[0] for one in by_reader["direct"]} == reading
    assert not any((ROOT / "data/runs").glob("mini/04_ircot-*/*/*/Two-step*"))


def test_an_added_system_is_in_tables_and_claims(added):
    recall, f1 = (
        read_table(added / f"figures/ircot_{name}.csv") for name in ("fig03_recall", "fig04_f1")
    )
    measured = [
        [row["system"] for row in table if row["profile"] == "mini"] for table in (recall, f1)
    ]
    answering = ["NoR QA", "OneR QA", "Two-step QA", "IRCoT QA w/o reader", "IRCoT QA"]
    assert measured == [["OneR", "Two-step", "IRCoT"], answering]  # in the order of the records
    claims = {
        row["claim"]: row["metric"] for row in read_table(added / "figures/ircot_differences.csv")
    }
    assert claims["Two-step > OneR"] == "recall" and claims["Two-step QA > OneR QA"] == "f1"
    tuning = read_table(added / "figures/ircot_tuning.csv")
    tried = [(row["metric"], row["k"]) for row in tuning if row["system"].startswith("Two-step")]
    assert tried == [("recall", "3"), ("recall", "5"), ("f1", "3"), ("f1", "5")]
    (row,) = [row for row in read_table(added / "figures/ircot_table1.csv")
              if row["system"] == "Two-step QA"]  # fmt: skip
    assert row["questions"] == "2hop" and row["ours F1"] and not row["paper F1"]


def test_an_added_system_is_in_the_notebooks(added):
    chosen, claims = (printed(added, "04_ircot", words) for words in ("chosen.astype", "claims[["))
    assert re.search(r"Two-step QA +[35] +1 *\n", chosen)
    assert "Two-step > OneR" in claims and "Two-step QA > OneR QA" in claims
    assert "Two-step QA > OneR QA" in printed(added, "99_figures", "compare(runs)")


def test_claims_without_runs_are_left_out_and_said(added):
    said = printed(added, "99_figures", "judge_claims(claimed)")
    for notebook in ("06_scale", "07_ood"):
        assert f"found no test runs of {notebook} on musique" in said
        assert f"ircotlib figures --only {notebook} --profile mini" in said
    sources = {row["source"] for row in read_table(added / "figures/ircot_claims.csv")}
    main = {"§5, Figure 3", "§5, Figure 4", "§5, App. E", "App. F, Table 6"}
    assert sources == main | {"App. E, Table 4: the other reader", "App. E, Table 4"}


def printed(added, notebook: str, words: str) -> str:
    """The output of the cell with these words in an executed notebook."""
    cells = nbformat.read(added / f"data/executed/mini/{notebook}.ipynb", as_version=4).cells
    [cell] = [cell for cell in cells if cell.cell_type == "code" and words in cell.source]
    shown = (out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs)
    return "".join(map(str, shown))


def test_an_added_system_is_drawn_in_its_colour(added):
    green = re.search(r'GREEN = .*"(#\w+)"', code_of("docs/systems.md"))[1]
    for name in ("fig03_recall", "fig04_f1"):
        assert pixels(added / f"figures/ircot_{name}.png", green) > 100
        assert pixels(ROOT / f"figures/ircot_{name}.png", green) == 0


def pixels(path, colour: str) -> int:
    """How many pixels of a picture have exactly this colour."""
    picture = image.imread(path)[:, :, :3]
    return int((abs(picture - colors.to_rgb(colour)) < 0.002).all(axis=2).sum())
