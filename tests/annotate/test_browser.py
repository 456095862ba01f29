"""The boxes in a real browser: chains judged by keyboard, reloaded and undone, in JupyterLab and on
the page without code; and runs explored.

Needs Debian's chromium, or another Chrome, and playwright (the extra `browser`). SCREENSHOTS=FOLDER
keeps pictures of the boxes there, for README and docs.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import nbformat
import pandas
import pytest
from papermill import execute_notebook

from ircotlib.annotate.judgements import read_verdicts
from ircotlib.experiment.compare import compare_systems
from ircotlib.experiment.setup import open_benches
from ircotlib.files.paths import NOTEBOOKS, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.results.causes import CAUSES
from ircotlib.systems import all_systems, choose_systems

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
if CHROMIUM is None:
    pytest.skip("needs a browser: apt-get install chromium", allow_module_level=True)
missing = "needs playwright: pip install -e '.[browser]'"
sync_api = pytest.importorskip("playwright.sync_api", reason=missing)

SOURCE = """
from IPython.display import display
from ircotlib.annotate.box import AnnotateBox
from ircotlib.data import Paragraph, Question
from ircotlib.results.factuality import Item
found = (Paragraph("p", "Silent Lantern", "Ada Holm directed <b id='bad'>Silent Lantern</b>."),)
asked = Question("q", "Who directed Silent Lantern?", ("Ada Holm",), (), "hotpotqa")
texts = [f"Sentence {n} on Ada Holm." for n in range(4)]
item = Item("a", "hotpotqa", "OneR QA", asked, tuple(texts), found, found, len(texts))
display(AnnotateBox([item], "ada"))
"""
ASKING = """
from ircotlib import ask_box
ask_box(lambda text, names: f"{' and '.join(names)} asked: <b>{text}</b>", ["One", "Two"], "Who?")
"""
CHANGES = {"datasets": ["musique"], "dev": 1, "test": 4, "distractors": [1], "oner_k": [5]}
CHANGES |= {"ircot_k": [2], "model": "data/models/mini-base"}
SYSTEMS = ["NoR QA", "OneR", "OneR QA", "IRCoT QA w/o reader", "IRCoT QA"]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SLOW = 180_000  # milliseconds, for a kernel to start on a busy machine
ACTIVE = "[...document.querySelectorAll('.jp-Cell')].findIndex(c => c.matches('.jp-mod-active'))"
PICTURES = os.environ.get("SCREENSHOTS")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a notebook that judges, and 08 and 09 for a few runs, which are in data/."""
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for name, source in (("judge", SOURCE), ("asking", ASKING)):
        texts = {"box": source} | ({"below": ""} if name == "asking" else {})
        cells = [nbformat.v4.new_code_cell(text, id=id) for id, text in texts.items()]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
        nbformat.write(notebook, folder / f"{name}.ipynb")
    parameters = {"profile": "mini", "changes": CHANGES}
    for name in ("08_factuality.ipynb", "09_explorer.ipynb"):
        kept, copy = str(NOTEBOOKS / name), str(folder / name)
        execute_notebook(kept, copy, parameters, prepare_only=True, progress_bar=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ircotlib.experiment.setup.DATA", folder / "data")
        patch.setattr("ircotlib.experiment.setup.DATA", folder / "data")
        benches = open_benches(read_parameters("mini", CHANGES), "04_ircot")
        compare_systems(benches, choose_systems(SYSTEMS), demonstration_sets=1)
        agent = open_benches(read_parameters("mini", CHANGES).for_agent(), "11_searchain")
        compare_systems(agent, choose_systems(["SearChain"]), demonstration_sets=1)
    return folder


def environment(folder: Path) -> dict:
    """The environment of a server, without any of the user's settings."""
    places = {"IRCOT_DATA": "data", "IRCOT_FIGURES": "figures"}
    places |= {f"JUPYTER{name}_DIR": f"jupyter{name}" for name in ("_CONFIG", "_RUNTIME")}
    places |= {"JUPYTERLAB_SETTINGS_DIR": "settings"}
    made = {variable: str(folder / name) for variable, name in places.items()}
    kept = {name: value for name, value in os.environ.items() if name != "IRCOT_BATCH"}
    return kept | made | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@contextmanager
def serve(command: list[str], folder: Path, ready: str) -> Iterator[str]:
    """Start a server on this machine; return its address once the page `ready` answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log, address = folder / f"log_{port}", f"http://127.0.0.1:{port}"
    with log.open("w") as out:
        options = ["--no-browser", f"--port={port}"]
        how = {"cwd": folder, "env": environment(folder), "stdout": out, "stderr": out}
        server = subprocess.Popen([sys.executable, *command, *options], **how)
    try:
        wait_for(lambda: answers(address + ready), log.read_text)
        yield address
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def lab(folder):
    """lab(name): the address of a notebook in a JupyterLab, in a workspace of its own."""
    settings = {
        "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are there too
        "apputils-extension/notification": {"fetchNews": "false"},  # no pop-up questions
    }
    for name, values in settings.items():
        path = folder / f"settings/@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values))
    command = ["-m", "jupyterlab", "--allow-root", "--ip=127.0.0.1"]
    command += ["--IdentityProvider.token=secret"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with serve(command, folder, "/api?token=secret") as address:
        yield lambda name: f"{address}/lab/workspaces/{name}/tree/{name}.ipynb?token=secret"


@pytest.fixture(scope="module")
def judging(folder):
    """The address of the page that `make annotate` serves."""
    pytest.importorskip("voila", reason="needs voila: pip install -e '.[browser]'")
    notebook = folder / "08_factuality.ipynb"
    made = ["make", "-n", "annotate", f"NOTEBOOK={notebook}"]
    printed = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    python, *command = shlex.split(printed.replace("\\\n", " ").splitlines()[-1])
    assert python == ".venv/bin/python" and command[:3] == ["-m", "voila", str(notebook)]
    with serve(command, folder, "/voila/static/voila.js") as address:
        yield address


def answers(address: str) -> bool:
    try:
        return urlopen(address, timeout=5).status == 200
    except OSError:
        return False


def wait_for(holds, describe=str, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, describe()
        time.sleep(0.1)


@pytest.fixture
def page():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SLOW)
        page.on("dialog", lambda dialog: dialog.accept())
        yield page
        browser.close()


def open_notebook(page, address: str) -> None:
    page.goto(address)
    page.locator("text=/Python 3.*\\| Idle/").first.wait_for()


def open_box(page, address: str):
    """Open the notebook, run its cell, and click on the text."""
    open_notebook(page, address)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("document.querySelectorAll('.ircot-page .now').length == 1")
    page.locator(".ircot-page .now").click()


def keep_picture(page, part, name: str, height: int) -> None:
    """Save a picture of the top of a part of the page, if SCREENSHOTS names a folder."""
    if PICTURES:
        page.wait_for_timeout(1000)  # until nothing moves any more
        part.evaluate("part => part.scrollIntoView({block: 'start'})")
        place = part.bounding_box()
        clip = place | {"height": min(place["height"], height)}
        page.screenshot(path=ROOT / PICTURES / name, clip=clip)


def test_judging_by_keyboard_reloading_and_undoing(lab, folder, page):
    where = folder / "data" / "annotations"

    def said():
        found = read_verdicts("ada", where) if where.exists() else {}
        return "".join(found.get(("a", n), "-")[0] for n in range(4))

    open_box(page, lab("judge"))
    assert page.locator("#bad").count() == 0
    assert page.locator(".ircot-page mark").all_inner_texts()[:2] == ["Ada", "Holm"]
    for key, next_one in (("t", 1), ("f", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        page.locator(f".ircot-page .now:has-text('Sentence {next_one}')").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator(".ircot-page .now:has-text('Sentence 3')").wait_for()
    page.keyboard.press("u")
    wait_for(lambda: said() == "tf-u", said)
    page.get_by_placeholder("optional").fill("")
    page.get_by_placeholder("optional").press_sequentially("tf")  # typing a note does not judge
    assert said() == "tf-u"

    page.reload()
    open_box(page, lab("judge"))
    assert "Sentence 2" in page.locator(".ircot-page .now").inner_text()
    page.keyboard.press("t")
    page.locator(".ircot-page .now:has-text('Sentence 3')").wait_for()
    assert said() == "tftu"
    page.keyboard.press("z")
    page.locator(".ircot-page .now:has-text('Sentence 2')").wait_for()
    wait_for(lambda: said() == "tf-u", said)
    page.get_by_role("button", name="False (f)").click()
    wait_for(lambda: said() == "tffu", said)
    page.locator(".ircot-page .now:has-text('Sentence 3')").wait_for()
    page.keyboard.press("z")  # the focus is on the button now
    wait_for(lambda: said() == "tf-u", said)
    page.locator(".ircot-page .now:has-text('Sentence 2')").wait_for()
    page.keyboard.press("z")
    wait_for(lambda: said() == "tf--", said)
    cell = nbformat.read(folder / "judge.ipynb", as_version=4).cells[0]
    assert cell.source.strip() == SOURCE.strip()  # JupyterLab has not handled the keys itself
    lines = (where / "ada.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines[:3]] == ["true", "false", "unsure"]


def test_the_page_without_code_by_keyboard(judging, folder, page):
    where = folder / "data/annotations"

    def said():
        return [verdict for _, verdict in read_verdicts("eve", where).items()]

    def begin(place: str):
        page.locator(".ircot-name input:focus").wait_for()
        page.keyboard.type("eve")
        page.keyboard.press("Enter")
        page.locator(".ircot-page:focus .now").wait_for()
        page.locator(f".place:has-text('{place}')").wait_for()

    def press(key: str, count: int):
        page.keyboard.press(key)
        page.get_by_text(re.compile(f"^{count} of \\d+ sentences")).wait_for()

    page.goto(judging)
    begin("Chain 1 of 12, sentence 1 of")
    for count, key in enumerate("tfu", start=1):
        press(key, count)
    assert said() == ["true", "false", "unsure"]
    place = page.locator(".place").inner_text()
    page.reload()
    begin(place)
    press("t", 4)
    press("z", 3)
    assert said() == ["true", "false", "unsure"]
    keep_picture(page, page.locator(".ircot-annotate"), "annotate.png", 560)


def test_the_page_without_code_shows_no_result(judging, page):
    page.goto(judging)
    page.locator(".ircot-page .now").wait_for()
    assert page.locator("h1, h2, h3").all_inner_texts() == ["Judge for yourself"]
    assert page.locator("table, img, pre").count() == 0
    for chain in range(1, 13):
        page.locator(f".place:has-text('Chain {chain} of 12')").wait_for()
        named = [name for name in all_systems() if name in page.content()]
        assert not named, (chain, named)
        page.get_by_role("button", name="chain ▶").click()


def test_exploring_runs(lab, folder, page):
    open_notebook(page, lab("09_explorer"))
    page.keyboard.press("Control+b")  # hides the list of files
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    box = page.locator(".ircot-explore")
    box.locator("h3").wait_for()
    page.locator("th:has-text('made up')").first.wait_for()
    assert set(page.locator("th").all_inner_texts()) >= {*CAUSES, "wrong"}  # the census
    *of_run, beside, _, experiment, which, _, questions = box.locator("select").all()
    profile, _, dataset, part, system, _ = of_run
    chosen = [shown(each) for each in (profile, dataset, part, system)]
    assert chosen == ["mini", "MuSiQue", "test", "IRCoT QA"]
    system.select_option(label="OneR")
    box.locator("h4:has-text('OneR, k 5')").wait_for()
    system.select_option(label="IRCoT QA")
    box.locator("h4:has-text('IRCoT QA, k 2')").wait_for()
    assert box.locator("h4").count() == 1
    beside.select_option(label=named(beside, "NoR QA"))
    box.locator("td h4:has-text('NoR QA')").wait_for()
    ours, theirs = scores(folder, "IRCoT-QA k=2"), scores(folder, "NoR-QA")
    counts = {"win": (ours > theirs).sum(), "loss": (ours < theirs).sum()}
    counts["tie"] = 4 - sum(counts.values())

    def listed(outcome: str, count: int) -> bool:
        texts = questions.locator("option").all_inner_texts()
        told = box.get_by_text(f"{count} of 4", exact=True).count() == 1
        return told and len(texts) == count and all(t.startswith(f"{outcome}:") for t in texts)

    assert counts["win"] > 0
    for choice, outcome in {"losses": "loss", "ties": "tie", "wins": "win"}.items():
        which.select_option(label=choice)
        wait_for(lambda: listed(outcome, counts[outcome]), box.inner_text)
    measured = re.compile(r"· f1 (\d\.\d\d)")
    wait_for(lambda: (f1 := measured.findall(box.inner_text())) and f1[0] > f1[1], box.inner_text)
    prompt = box.locator("td:first-child details", has_text="prompt, ").first
    assert "Wikipedia Title: " not in box.inner_text()  # folded
    prompt.locator("summary").click()
    assert "Wikipedia Title: " in prompt.locator("pre").inner_text()
    which.select_option(label="disagreements")
    wait_for(lambda: questions.locator("option").count() >= counts["win"] + counts["loss"])

    # arrow keys choose a question, and no other cell
    which.select_option(label="all")
    wait_for(lambda: questions.locator("option").count() == 4, box.inner_text)
    questions.focus()
    cell = page.evaluate(ACTIVE)
    for key, chosen in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
        page.keyboard.press(key)
        wait_for(lambda: questions.evaluate("list => list.selectedIndex") == chosen, str)
        assert page.evaluate(ACTIVE) == cell

    # SearChain, of another experiment, beside it
    experiment.select_option(label=named(experiment, "^11 "))
    beside.locator("option", has_text=re.compile("^SearChain$")).wait_for(state="attached")
    beside.select_option(label=named(beside, "^SearChain$"))
    box.locator("td h4:has-text('SearChain')").wait_for()
    step = box.locator("td em", has_text="SearChain writes a chain of queries")
    step.first.wait_for()
    assert box.get_by_text("tree of its chains").count() == 1
    keep_picture(page, box, "explorer.png", 775)


def test_enter_asks_and_what_is_shown_belongs_to_the_question(lab, page):
    open_notebook(page, lab("asking"))
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    text = page.locator(".ircot-explore input[type=text]")
    text.fill("Why?")
    text.press("Enter")
    said = page.locator(".ircot-explore b")
    page.get_by_text("One and Two asked: Why?").wait_for()
    text.press_sequentially(" And when?")  # another question: nothing is shown for it yet
    said.wait_for(state="detached")
    text.press("Enter")
    page.get_by_text("One and Two asked: Why? And when?").wait_for()
    cell = page.evaluate(ACTIVE)
    page.locator(".ircot-explore select").first.focus()
    page.keyboard.press("ArrowDown")
    said.wait_for(state="detached")
    assert page.evaluate(ACTIVE) == cell
    page.get_by_role("button", name="Ask").click()
    page.get_by_text(re.compile("^Two asked: Why\\? And when\\?")).wait_for()


def scores(folder: Path, name: str) -> pandas.Series:
    """Answer F1 of a run by question."""
    [path] = folder.glob(f"data/runs/mini/*/musique/test/{name}*/scores.csv")
    return pandas.read_csv(path).set_index("id")["f1"]


def shown(select) -> str:
    """The option of a list that is selected."""
    return select.evaluate("list => list.selectedOptions[0].text").replace("\xa0", " ")


def named(select, pattern: str) -> str:
    """The one option of a list that a pattern finds."""
    options = [text.replace("\xa0", " ") for text in select.locator("option").all_inner_texts()]
    [found] = [text for text in options if re.search(pattern, text)]
    return found
