"""Reports: what they say, what they weigh, and how they behave in a real browser.

SCREENSHOTS=FOLDER keeps a picture of one there, for the docs.
"""

import json
import os
import re
import shutil

import pandas as pd
import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.__main__ import main
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run, read_about, read_lines, replay, restore_steps
from ircotlib.experiment.setup import open_setup
from ircotlib.explore import report
from ircotlib.explore.report import LOST, list_test_runs, name_apart, write_report
from ircotlib.explore.trace import tell
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate
from ircotlib.results.runs import count_requests
from ircotlib.results.statistics import paired_p
from ircotlib.systems import all_systems

S = all_systems()
SETTINGS = {"NoR QA": {}, "OneR QA": {"k": 2}, "IRCoT QA": {"k": 2}}
QUESTIONS = 12
MOST, RUNS = 10_000_000, 26 * 8  # bytes; systems x data sets, of 100 questions each
EVIL = (
    """</script><script>window.ran = 1</script><img src=x onerror="window.ran = 2">'"&lt;\u2028"""
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
PAINT = "performance.getEntriesByType('paint').map(each => each.startTime)"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data folder, in which all is made."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        for module in (setup, backends, report):
            patch.setattr(module, "DATA", folder)
        yield folder


def run_all(changes, dataset, settings):
    changes |= {"datasets": [dataset], "model": "data/models/mini-base", "distractors": []}
    bench = open_setup(read_parameters("mini", changes), dataset, "04_ircot")
    for name, setting in settings.items():
        run_system(bench, S[name], **setting)
    return {name: Run(bench, S[name], "test", each).folder for name, each in settings.items()}


@pytest.fixture(scope="module")
def ran(data):
    """The folders of runs on a small laboratory, by system."""
    data_dir = make_laboratory(data / "small", seed=5, size=300, questions=20)
    changes = {"data_dir": str(data_dir), "dev": 2, "test": QUESTIONS}
    return run_all(changes, "hotpotqa", SETTINGS)


@pytest.fixture(scope="module")
def page_file(data, ran):
    """The report of these runs."""
    assert write_report([data / "runs"], file := data / "report.html") == len(SETTINGS)
    return file


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    missing = "needs playwright: pip install -e '.[browser]'"
    sync_api = pytest.importorskip("playwright.sync_api", reason=missing)
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=flags)


@pytest.fixture
def page(browser):
    """A page; nothing may be written to its console, and no request may leave the disk."""
    page, odd = browser.new_page(viewport={"width": 1300, "height": 900}), []
    page.set_default_timeout(20_000)
    page.on("console", lambda message: odd.append(message.text))
    page.on("pageerror", lambda error: odd.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith("file:") else odd.append(r.url))
    yield page
    page.close()
    assert odd == []


def open_page(page, file, place=""):
    page.goto(f"{file.as_uri()}{place}")
    page.locator("#question h3").wait_for()


def rows_of(page, section):
    rows = page.locator(f'section:has(h2:text-is("{section}")) tbody tr').all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def f1_of(folder):
    return pd.read_csv(folder / "scores.csv").set_index("id")["f1"]


def test_tables_and_the_comparison_say_what_the_runs_say(page, page_file, ran):
    open_page(page, page_file, "#run=IRCoT+QA&beside=NoR+QA")
    shown, costs = rows_of(page, "Results"), rows_of(page, "Costs")
    for name, folder in ran.items():
        assert shown[name][0].split("\n")[0] == f"{100 * f1_of(folder).mean():.1f}"
        about = read_about(folder)
        assert float(costs[name][2]) == pytest.approx(count_requests(about)["calls"] / 12, abs=0.01)
    ours, theirs = f1_of(ran["IRCoT QA"]), f1_of(ran["NoR QA"])
    difference = ours - theirs
    claims = rows_of(page, "The papers' claims")
    assert claims["IRCoT QA > NoR QA"] == [f"{100 * difference.mean():+.1f}"]
    wins, losses = (difference > 0).sum(), (difference < 0).sum()
    told = page.locator("#told").inner_text()
    assert f"has {wins} wins, {losses} losses, {12 - wins - losses} ties" in told
    assert told.endswith(f"p = {paired_p(difference):.4g}")
    head = page.locator("header").inner_text()
    assert "Profile mini; model mini-base" in head and "12 questions" in head


def test_filters_choose_questions_and_a_link_leads_to_a_step(page, page_file, ran):
    open_page(page, page_file)
    page.get_by_label("system").select_option("IRCoT QA")
    page.get_by_label("beside").select_option("NoR QA")
    difference = f1_of(ran["IRCoT QA"]) - f1_of(ran["NoR QA"])
    for name, ids in (("wins", difference > 0), ("ties", difference == 0)):
        page.get_by_label("which").select_option(name)
        page.locator("#told").get_by_text(f"{ids.sum()} of 12 questions").wait_for()
        listed = page.locator("#list a").evaluate_all("all => all.map(each => each.id)")
        assert listed == [f"q/{id}" for id in difference.index[ids]]
    page.get_by_label("which").select_option("all")
    id = difference.idxmax()
    lines = read_lines(ran["IRCoT QA"], read_about(ran["IRCoT QA"]))
    page.locator(f"[id='q/{id}']").click()
    assert page.locator("h4").all_inner_texts() == ["IRCoT QA", "NoR QA"]
    key = page.locator(".key").inner_text()
    assert "★ gold" in key and "corrected" not in key  # SearChain is not shown
    steps = page.locator("[id^='step/a']")
    assert steps.count() == len(lines[id]["trace"])
    steps.nth(1).locator("a").click()
    page.locator("li.here").wait_for()
    address = page.url
    page.goto("about:blank")
    open_page(page, page_file, "#" + address.partition("#")[2])  # as it is mailed
    assert page.locator(".here").get_attribute("id") == "step/a2"
    page.goto("about:blank")
    open_page(page, page_file, "#run=Elsewhere&beside=IRCoT+QA")  # of another report
    assert page.locator("#told").inner_text().startswith("no “Elsewhere” is here; 12 of 12")
    open_page(page, page_file, "#" + address.partition("#")[2])
    outcome = replay(ran["IRCoT QA"], [id])[id]
    writes = next(step for step in outcome.trace if isinstance(step.request, Generate))
    prompt = page.locator("[id^='step/a'] details:has-text('prompt,') pre").first
    assert not prompt.is_visible() and prompt.text_content() == writes.request.prompt
    if folder := os.environ.get("SCREENSHOTS"):
        page.set_viewport_size({"width": 1100, "height": 640})
        page.evaluate("document.querySelector('#questions').scrollIntoView()")
        page.screenshot(path=ROOT / folder / "report.png")
    search = page.get_by_label("text")
    search.fill(page.locator("#question h3").inner_text().upper())
    page.get_by_text("1 of 12 questions").wait_for()


def test_the_keyboard_is_enough_on_a_narrow_screen_too(page, page_file):
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="dark")
    open_page(page, page_file)
    wide = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(wide)
    ids = page.locator("#list a").evaluate_all("all => all.map(each => each.id)")

    def chosen(at):
        page.locator(f"[id='{ids[at]}'][aria-selected=true]").wait_for()

    for key, at in (("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        chosen(at)
    page.locator("header a").focus()
    page.keyboard.press("Enter")  # past the links of the tables
    for _ in range(8):  # tab to the list
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "list":
            break
    page.keyboard.press("ArrowDown")
    chosen(2)
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.id") == "list" and outline == "solid"
    page.keyboard.press("Tab")  # to the first step of NoR QA
    page.keyboard.press("Tab")  # to its prompt
    page.keyboard.press("Enter")
    assert page.locator("#question details[open] pre").inner_text() != ""
    assert page.evaluate(wide)


def test_a_whole_head_to_head_is_small_and_shown_at_once(page, page_file, tmp_path):
    text = page_file.read_text(encoding="utf-8")
    packed = re.findall(r'<script type="text/plain".*?</script>\n', text)
    fixed = len(text) - sum(map(len, packed))
    assert fixed < 50_000
    whole = fixed + (len(text) - fixed) / (len(SETTINGS) * QUESTIONS) * RUNS * 100
    assert whole < 0.9 * MOST  # more than that if prompts were stored whole
    times = MOST // len(packed[-1])
    more = "".join(packed[-1].replace('id="packed/', f'id="{n}/') for n in range(times))
    (large := tmp_path / "large.html").write_text(text.replace("</body>", f"{more}</body>"))
    open_page(page, large)
    assert max(page.evaluate(PAINT)) < 1000


def test_without_the_call_cache_a_run_is_shown_without_prompts(
    data, ran, page, monkeypatch, tmp_path, capsys
):
    folder, exported = ran["IRCoT QA"], tmp_path / "own.calls.xz"
    monkeypatch.setattr("ircotlib.command.calls.DATA", data)
    assert main(["calls", "export", str(folder), str(exported)]) == 0
    monkeypatch.setattr(report, "DATA", tmp_path)
    for options in [], ["--calls", str(exported)]:
        assert main(["report", str(folder), str(tmp_path / "page.html"), *options]) == 0
        assert ("without prompts" in capsys.readouterr().err) == (not options)
        open_page(page, tmp_path / "page.html")
        assert page.get_by_text(LOST).count() == (not options)
        shown = page.locator("#question summary").all_inner_texts()
        assert "2 paragraphs" in shown
        assert any("prompt" in text for text in shown) == bool(options)


def test_steps_are_restored_from_the_folder_of_a_run(ran):
    for folder in ran.values():
        lines = read_lines(folder, read_about(folder))
        for id, outcome in replay(folder).items():
            found = {p.id: p for step in outcome.trace if isinstance(step.reply, tuple)
                     for p in step.reply}  # fmt: skip
            restored = list(restore_steps(lines[id], found.get))
            assert [tell(step)[1:] for step in restored] == [tell(s)[1:] for s in outcome.trace]
            assert [step.tokens for step in restored] == [step.tokens for step in outcome.trace]


def test_nothing_that_is_said_runs(data, page, tmp_path):
    paragraphs = [{"title": f"Ann {EVIL}", "text": f"Ann {EVIL} is old.", "is_supporting": True}]
    row = {"id": f"1{EVIL}", "question": f"Who is Ann? {EVIL}", "answers": [f"Ann {EVIL}"]}
    row |= {"kind": EVIL}
    lines = json.dumps(row | {"paragraphs": paragraphs})
    (tmp_path / "questions.jsonl").write_text(lines + "\n")
    changes = {"data_dir": str(tmp_path), "dev": 0}
    folders = run_all(changes, "own", {"OneR QA": {"k": 2}})
    write_report(folders.values(), file := tmp_path / "evil.html")
    open_page(page, file)
    assert page.locator("#question h3").text_content() == row["question"]
    gold = page.locator("#question p:has-text('gold paragraph')").first.text_content()
    assert gold == f"★ gold paragraph: {paragraphs[0]['title']}. {paragraphs[0]['text']}"
    assert EVIL in page.locator("#question pre").first.text_content()
    assert page.locator("img, #questions script").count() == 0
    assert page.evaluate("window.ran") is None


def test_runs_of_one_system_are_named_by_what_sets_them_apart(ran):
    runs = list_test_runs(ran.values())
    row = runs[runs["system"] == "IRCoT QA"]
    other = row.assign(model="large")
    assert list(name_apart(pd.concat([row, other]))) == ["IRCoT QA · mini-base", "IRCoT QA · large"]
    both = pd.concat([row, row.assign(k=4.0)])
    assert list(name_apart(both)) == ["IRCoT QA · k 2", "IRCoT QA · k 4"]
    assert (
        list(name_apart(pd.concat([row, row.assign(dataset="musique", k=4)]))) == ["IRCoT QA"] * 2
    )


@pytest.mark.parametrize(
    ("places", "file", "found"),
    [
        (["runs", "nothing"], "new.html", "nothing: found no finished run"),
        (["runs", "runs"], "new.html", "found this run twice"),
        (["runs"], "other.html", "found a file that is something else, expected a report"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(data, ran, places, file, found, capsys):
    (data / "other.html").write_text("<!doctype html>")
    places = [str(data / place) for place in places]
    assert main(["report", *places, str(data / file)]) == 2
    assert found in capsys.readouterr().err
    assert (data / "other.html").read_text() == "<!doctype html>"
    assert not (data / "new.html").exists()
