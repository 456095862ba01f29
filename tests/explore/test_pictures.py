"""The forms in chromium, as docs/write_pictures.py shows them: judging, comparing."""

import shutil

import pytest

if not (shutil.which("chromium") or shutil.which("google-chrome")):
    pytest.skip("needs a browser: apt-get install chromium", allow_module_level=True)
missing = "needs playwright and voila: pip install -e '.[browser]'"
for package in ("playwright.sync_api", "voila"):
    pytest.importorskip(package, reason=missing)

from docs.write_pictures import compare, judge, open_page, serve

SOURCES = {
    "annotate": """
from pathlib import Path
from ircotlib.annotate.box import AnnotateBox
from ircotlib.annotate.factuality import Item
from ircotlib.data import Question
asked = Question("q", "Who directed Silent Lantern?", ("Ada Holm",), (), "hotpotqa")
texts = tuple(f"Sentence {n} on Ada Holm." for n in range(4))
AnnotateBox([Item("a", "hotpotqa", "OneR QA", asked, texts, (), (), 4)], folder=Path())
""",
    "explorer": """
from pathlib import Path
from ircotlib.explore.box import explore_box
explore_box(map(Path, {folders}))
""",
}


def test_the_forms_work_in_a_page_of_voila(data, ran, tmp_path, monkeypatch):
    monkeypatch.setenv("IRCOT_DATA", str(data))
    sources = dict(SOURCES)
    folders = [str(folder) for folder in ran.values()]
    sources["explorer"] = sources["explorer"].format(folders=folders)
    with serve(sources, tmp_path) as address, open_page() as page:
        page.goto(address.format("annotate"))
        judge(page)
        assert (tmp_path / "ada.jsonl").read_text().count('"true"') == 2
        page.goto(address.format("explorer"))
        compare(page)
        chosen = page.locator(".ircot-box select").evaluate_all(
            "lists => lists.map(list => list.selectedOptions[0].textContent)"
        )
        experiment, data, *_, question = [each.replace("\xa0", " ") for each in chosen]
        assert (experiment, data) == ("04_ircot", "HotpotQA, test")
        assert question.startswith("win: ")
        assert page.locator(".ircot-box .right").count() == 1
        assert page.locator(".ircot-box .wrong").count() == 1
