"""Writes docs/pictures, the forms and the report as they are today in chromium.

    python -m docs.write_pictures

Needs runs of the profile `quick` (make quick), chromium and the extra `browser`.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import nbformat
from playwright.sync_api import Page, sync_playwright

from ircotlib import find_test_runs, read_parameters
from ircotlib.explore.report import write_report
from ircotlib.files import ROOT

PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = shutil.which("chromium")
FORMS = {
    "annotate": """
from pathlib import Path
from ircotlib import read_parameters
from ircotlib.annotate.box import AnnotateBox
from ircotlib.annotate.factuality import read_items
items = [item for item in read_items(read_parameters("quick")) if item.facts > 2]
AnnotateBox([item for item in items if item.system == "IRCoT QA"], folder=Path())
""",
    "explorer": """
from ircotlib import find_runs, read_parameters
from ircotlib.explore.box import explore_box
explore_box(find_runs(read_parameters("quick"), "04_ircot"))
""",
}


@contextmanager
def serve(sources: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Serve notebooks of one cell each, by name, with voila from a folder; yield the
    address, to which a name is added.
    """
    for name, source in sources.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "voila", f"--port={port}", "--no-browser"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment.pop("IRCOT_BATCH", None)
    server = subprocess.Popen([*command, str(folder)], cwd=folder, env=environment)
    try:
        for _ in range(600):
            try:
                urlopen(address, timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"{address}/voila/render/{{}}.ipynb"
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def open_page() -> Iterator[Page]:
    """An empty page in chromium."""
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.set_default_timeout(180_000)  # for a kernel to start on a busy machine
        yield page
        browser.close()


def judge(page: Page) -> None:
    """In the form for annotators: type a name, and judge two sentences."""
    page.locator(".ircot-annotate input:focus").wait_for()
    page.keyboard.type("ada")
    page.keyboard.press("Enter")
    page.locator(".ircot-page:focus").wait_for()
    for n in range(2):
        page.keyboard.press("t")
        page.locator(f".ircot-page .sign.true >> nth={n}").wait_for()


def compare(page: Page) -> None:
    """In the explorer: IRCoT QA, beside it OneR QA, and a question where it wins."""
    page.locator(".ircot-box h4").wait_for()
    lists = page.locator(".ircot-box select")
    for place, label, columns in ((2, "IRCoT QA", 1), (3, "OneR QA", 2)):
        lists.nth(place).select_option(label=label)
        page.locator(f".ircot-box h4 >> nth={columns - 1}").wait_for()
    lists.nth(4).select_option(label="win")
    first = lists.nth(5).locator("option >> nth=0").filter(has_text="win:")
    question = str(first.text_content()).replace("\xa0", " ").removeprefix("win: ")
    lists.nth(5).select_option(index=0)
    page.locator(".ircot-box h3", has_text=question).wait_for()


def main() -> None:
    runs = find_test_runs(read_parameters("quick"), "04_ircot").values()
    with TemporaryDirectory() as made, open_page() as page:
        folder = Path(made)
        with serve(FORMS, folder) as address:
            for name, act in (("annotate", judge), ("explorer", compare)):
                page.goto(address.format(name))
                act(page)
                page.screenshot(path=PICTURES / f"{name}.png")
        write_report(list(runs), folder / "report.html")
        page.goto((folder / "report.html").as_uri())
        page.locator("#question h4").wait_for()
        page.screenshot(path=PICTURES / "report.png", full_page=True)


if __name__ == "__main__":
    main()
