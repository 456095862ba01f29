"""The widgets in JupyterLab in a real browser: a chain judged by keys and reloaded; a
list whose arrow keys stay in it. Needs Debian's chromium and playwright (the extra
`browser`).
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import nbformat
import pytest

from ircotlib.annotate.judgements import read_verdicts
from ircotlib.files import ROOT

if not (shutil.which("chromium") or shutil.which("google-chrome")):
    pytest.skip("needs a browser: apt-get install chromium", allow_module_level=True)
missing = "needs playwright: pip install -e '.[browser]'"
pytest.importorskip("playwright.sync_api", reason=missing)

from docs.write_pictures import open_page

SOURCE = """
from IPython.display import display
from ircotlib.annotate.box import AnnotateBox
from ircotlib.annotate.factuality import Item
from ircotlib.data import Paragraph, Question
film = "Ada Holm directed <b id='bad'>Silent Lantern</b>."
found = (Paragraph("p", "Silent Lantern", film),)
asked = Question("q", "Who directed Silent Lantern?", ("Ada Holm",), (), "hotpotqa")
texts = [f"Sentence {n} on Ada Holm." for n in range(4)]
item = Item("a", "hotpotqa", "OneR QA", asked, tuple(texts), found, found, len(texts))
"""
AGAIN = """
display(AnnotateBox([item], "ada"))
from ipywidgets import Dropdown, VBox
from ircotlib.explore.box import Keys
lists = VBox([Dropdown(options=["a", "b"]), Keys()])
lists.add_class("ircot-box")
display(lists)
"""
NOTEBOOKS = {"judge": SOURCE + AGAIN, "first": SOURCE + "display(AnnotateBox([item]))"}
CELLS = "[...document.querySelectorAll('.jp-Cell')]"
ACTIVE = f"{CELLS}.findIndex(cell => cell.matches('.jp-mod-active'))"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A folder, and the address of the notebooks in it, in a JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for name, source in NOTEBOOKS.items():
        texts = enumerate([source, ""])
        cells = [nbformat.v4.new_code_cell(text, id=f"c{n}") for n, text in texts]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ.copy()
    environment.pop("IRCOT_BATCH", None)
    for name in ("IRCOT_DATA", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        environment[name] = str(folder / name.split("_")[1].lower())
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser"]
    command += [f"--port={port}"]
    command += ["--IdentityProvider.token=secret", "--ip=127.0.0.1"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with (folder / "log").open("w") as log:
        how = {"cwd": folder, "env": environment, "stdout": log, "stderr": log}
        server = subprocess.Popen(command, **how)
    try:
        wait_for(lambda: is_open(f"http://127.0.0.1:{port}/api?token=secret"))
        yield folder, f"http://127.0.0.1:{port}/lab/tree/{{}}.ipynb?token=secret&reset"
    finally:
        server.terminate()
        server.wait(30)


def is_open(address: str) -> bool:
    try:
        return urlopen(address, timeout=5).status == 200
    except OSError:
        return False


def wait_for(holds, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def page():
    with open_page() as page:
        page.on("dialog", lambda dialog: dialog.accept())
        yield page


def run_cell(page, address: str, shown: str) -> None:
    """Open a notebook, run its first cell, and wait for what it shows."""
    page.goto(address)
    page.locator("text=/Python 3.*\\| Idle/").first.wait_for()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    page.locator(shown).first.wait_for()


def test_the_first_judgements_are_filed_under_the_name_that_was_typed(lab, page):
    folder, address = lab
    annotations = folder / "data" / "annotations"
    run_cell(page, address.format("first"), ".ircot-annotate input:focus")
    page.keyboard.type("eve")
    page.keyboard.press("Enter")
    # though nothing else has changed in the text
    page.locator(".ircot-page:focus").wait_for()
    for key, n in (("t", 1), ("f", 2), ("ArrowLeft", 1), ("u", 2)):
        page.keyboard.press(key)
        page.locator(f".ircot-page .now:has-text('Sentence {n}')").wait_for()
    assert read_verdicts("eve", annotations) == {("a", 0): "true", ("a", 1): "unsure"}
    field = page.locator(".ircot-annotate input")
    field.click()
    page.keyboard.press("Enter")  # the same name once more
    page.locator(".ircot-page:focus").wait_for()
    field.fill("eve smith")
    field.press("Enter")
    page.get_by_text("✗ found the name 'eve smith'; type your name first").wait_for()
    assert page.locator(".ircot-annotate input:focus").count() == 1
    assert field.input_value() == "eve smith"
    assert [path.name for path in annotations.iterdir()] == ["eve.jsonl"]


def test_judging_and_choosing_by_keyboard(lab, page):
    folder, address = lab
    address = address.format("judge")

    def said():
        found = read_verdicts("ada", folder / "data" / "annotations")
        return "".join(found.get(("a", n), "-")[0] for n in range(4))

    run_cell(page, address, ".ircot-page:focus .now")
    assert page.locator("#bad").count() == 0
    arrows = [("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowRight", 3)]
    for key, n in [("t", 1), ("f", 2), *arrows]:
        page.keyboard.press(key)
        page.locator(f".ircot-page .now:has-text('Sentence {n}')").wait_for()
    page.keyboard.press("u")
    wait_for(lambda: said() == "tf-u")
    page.reload()
    run_cell(page, address, ".ircot-page:focus .now:has-text('Sentence 2')")
    page.keyboard.press("t")
    wait_for(lambda: said() == "tftu")
    page.locator(".ircot-page .now:has-text('Sentence 3')").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator(".ircot-page .now:has-text('Sentence 2')").wait_for()
    page.get_by_role("button", name="False (f)").click()
    wait_for(lambda: said() == "tffu")
    page.locator(".ircot-page:focus .now:has-text('Sentence 3')").wait_for()
    cell = nbformat.read(folder / "judge.ipynb", as_version=4).cells[0]
    # JupyterLab has not handled the keys itself
    assert cell.source.strip() == NOTEBOOKS["judge"].strip()

    # arrows choose in a list, and no other cell
    chosen = page.locator(".ircot-box select").first
    before = page.evaluate(ACTIVE)
    chosen.focus()
    page.keyboard.press("ArrowDown")
    wait_for(lambda: chosen.evaluate("list => list.selectedIndex") == 1)
    assert page.evaluate(ACTIVE) == before
