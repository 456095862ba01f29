"""The box in which chains are judged, in a real browser: by keyboard, reloaded, and undone.

Needs Debian's chromium, or another Chrome, and playwright (the extra `browser`).
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import nbformat
import pytest

from ircotlib.annotate import read_verdicts
from ircotlib.paths import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
if CHROMIUM is None:
    pytest.skip("needs a browser: apt-get install chromium", allow_module_level=True)
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install -e '.[browser]'"
)

SOURCE = """
from ircotlib.annotate_box import annotate_box
from ircotlib.data import Paragraph, Question
from ircotlib.factuality import Item
found = (Paragraph("p", "Silent Lantern", "Ada Holm directed <b id='bad'>Silent Lantern</b>."),)
asked = Question("q", "Who directed Silent Lantern?", ("Ada Holm",), (), "hotpotqa")
texts = [f"Sentence {n} on Ada Holm." for n in range(4)]
annotate_box([Item("a", "hotpotqa", "OneR QA", asked, tuple(texts), found, found)], "ada")
"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SLOW = 60_000  # milliseconds, for a kernel to start on a busy machine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    cell = nbformat.v4.new_code_cell(SOURCE, id="box")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=kernel)
    nbformat.write(notebook, folder / "judge.ipynb")
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    """The address of a JupyterLab on this machine only, that knows nothing of the user's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    env = os.environ | places | {"PYTHONPATH": str(ROOT), "IRCOT_DATA": str(folder / "data")}
    env.pop("IRCOT_BATCH", None)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token=secret"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{address}/api?token=secret"), (folder / "log").read_text)
        yield f"{address}/lab/tree/judge.ipynb?token=secret"
    finally:
        server.terminate()
        server.wait(30)


def answers(address: str) -> bool:
    try:
        return urlopen(address, timeout=5).status == 200
    except OSError:
        return False


def wait_for(holds, describe=str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, describe()
        time.sleep(0.1)


@pytest.fixture
def page():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(SLOW)
        page.on("dialog", lambda dialog: dialog.accept())
        yield page
        browser.close()


def open_box(page, address: str):
    """Open the notebook, run its cell, and click on the text."""
    page.goto(address)
    page.locator("text=/Python 3.*\\| Idle/").first.wait_for()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("document.querySelectorAll('.ircot-page .now').length == 1")
    page.locator(".ircot-page .now").click()


def test_judging_by_keyboard_reloading_and_undoing(lab, folder, page):
    where = folder / "data" / "annotations"

    def said():
        found = read_verdicts("ada", where) if where.exists() else {}
        return "".join(found.get(("a", n), "-")[0] for n in range(4))

    open_box(page, lab)
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
    page.get_by_placeholder("optional").press_sequentially("tf")  # typing is no judging
    assert said() == "tf-u"

    page.reload()
    open_box(page, lab)
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
    assert cell.source.strip() == SOURCE.strip()  # JupyterLab has not taken the keys for its own
    lines = (where / "ada.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines[:3]] == ["true", "false", "unsure"]
