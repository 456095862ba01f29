"""Reports: their content, the names of runs, a report in a real browser."""

import gzip
import html
import json
import re
import shutil
from base64 import b64decode

import pandas as pd
import pytest

from ircotlib.__main__ import main
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.replay import replay
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.stored import read_about
from ircotlib.explore.questions import label_runs
from ircotlib.explore.report import write_report
from ircotlib.program import Generate
from ircotlib.results.statistics import holm, p_against, paired_p
from ircotlib.systems import all_systems

EVIL = """</script><script>window.ran = 1</script>"""
EVIL += """<img src=x onerror="window.ran = 2">'"&lt;\u2028"""
HEAD = "11_head_to_head"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page_file(data, ran):
    """The report of the runs on a small laboratory."""
    assert write_report(ran.values(), file := data / "report.html") == len(ran)
    return file


def unpack(text):
    """The packed content of a page, by name."""
    found = re.findall(r'<script type="text/plain" id="(.*?)">(.*?)</script>', text)
    return {
        html.unescape(id): json.loads(gzip.decompress(b64decode(each)))
        for id, each in found
    }


def test_the_table_has_means_intervals_and_what_is_not_significantly_worse(
    page_file, ran
):
    text = page_file.read_text()
    table = text[text.index("<h2>Results") : text.index("<h2>Costs")]
    rows = dict(re.findall('<th scope="row">(.*?)</th>(.*?)</tr>', table, re.S))
    # those that only retrieve stand below, with their recall
    assert list(rows)[-1] == "OneR" and {*rows} == {*ran}
    means = [float(re.search(r">([\d.]+)</a>", row)[1]) for row in rows.values()]
    assert means[:3] == sorted(means[:3], reverse=True)  # the best first
    titles = ["Results: HotpotQA, F1", "Results: HotpotQA, recall"]
    assert re.findall('aria-label="(.*?)"', table) == titles
    assert "–</td>" not in table  # no cell is empty
    names = ("NoR QA", "OneR QA", "IRCoT QA")
    tables = {name: pd.read_csv(ran[name] / "scores.csv") for name in names}
    scores = {name: table.set_index("id")["f1"] for name, table in tables.items()}
    best = max(names, key=lambda name: scores[name].mean())
    others = [name for name in names if name != best]
    p_of_others = holm([paired_p(scores[best] - scores[name]) for name in others])
    p = dict(zip(others, p_of_others, strict=True))
    for name in names:
        mark = "best" if name == best else "near" if p[name] >= 0.05 else ""
        link = f"#data=hotpotqa&amp;run={name.replace(' ', '+')}"
        assert f'<td class="{mark}"><a href="{link}"' in rows[name]
        assert f">{100 * scores[name].mean():.1f}</a>" in rows[name]
        assert re.search(r"<small>\d+–\d+</small>", rows[name])
    # it shares none with the best
    scores["stranger"] = pd.Series({"another question": 0.0})
    assert dict(p_against(pd.DataFrame(scores), best)) == pytest.approx(p)
    about = read_about(ran["IRCoT QA"])
    calls = about["counts"]["Generate"]["requests"] / 10
    table = text[text.index("<h2>Costs") :]
    costs = re.search('<th scope="row">IRCoT QA</th>(.*?)</tr>', table, re.S)
    assert re.findall("<td>(.*?)</td>", costs[1])[2] == f"{calls:.3g}"


def test_a_mean_opens_its_questions_with_their_steps_and_prompts(
    page_file, ran, opened
):
    packed = unpack(page_file.read_text())
    named = {"name": "hotpotqa", "title": "HotpotQA", "runs": list(ran)}
    assert packed["index"] == [named]
    lines = packed["hotpotqa"]["lines"]
    did = packed["hotpotqa/IRCoT QA"]
    assert list(did) == [question.id for question in opened.test]
    for id, outcome in replay(ran["IRCoT QA"]).items():
        shown = "\n".join(lines[number] for number in did[id]["html"])
        asked = [step.request for step in outcome.trace]
        prompts = [each.prompt for each in asked if isinstance(each, Generate)]
        folded = re.findall(r"tokens</summary><pre>(.*?)</pre>", shown, re.DOTALL)
        assert [html.unescape(each) for each in folded] == prompts
        assert did[id]["said"] == outcome.result.answer
    asked = [lines[number] for number in packed["hotpotqa"]["asked"][opened.test[0].id]]
    assert f"<h3>{opened.test[0].text}</h3>" in html.unescape("\n".join(asked))
    # each is stored once
    assert len(lines) < sum(len(each["html"]) for each in did.values())


def about(system, dataset="hotpotqa", experiment=HEAD, shown=None, p=(), **setting):
    """A run's run.json."""
    parameters = {"seed": 0, "model": "data/models/mini-xxl"} | dict(p)
    named = {"system": system, "dataset": dataset, "experiment": experiment}
    named |= {"shown": shown, "grid_of": ""}
    return named | {"setting": setting, "parameters": parameters}


LARGE = {"model": "b/large"}
NAMED = {
    "ReAct | ReAct": [about("ReAct"), about("ReAct", "musique", k=4)],
    "ReAct w/o | ReAct w/o, K 4": [about("ReAct w/o"), about("ReAct w/o", k=4)],
    "A | A, K 4 | A, K 6": [about("A"), about("A", k=4), about("A", "musique", k=6)],
    "IRCoT, K 2 | IRCoT, K 4": [about("IRCoT", k=2), about("IRCoT", k=4)],
    f"A, experiment {HEAD} | A, experiment 1": [about("A"), about("A", experiment="1")],
    "A, K 13 | A, K 15": [about("A", p={"k": 4}, k=13), about("A", p={"k": 4}, k=15)],
    "CoT, model mini-xxl | CoT, model large": [about("CoT"), about("CoT", p=LARGE)],
    "CoT | CoT, shown musique": [about("CoT"), about("CoT", shown="musique")],
    "IRCoT | IRCoT": [about("IRCoT", demonstration_set=n) for n in range(2)],
}


@pytest.mark.parametrize("labels", NAMED)
def test_runs_of_one_system_are_named_by_their_differences(labels):
    assert " | ".join(label_runs(NAMED[labels])) == labels


def test_no_name_of_a_run_has_a_folder_of_the_machine_that_made_it():
    worlds = [{"data_dir": folder} for folder in ("/home/eve/worlds/7-300", "")]
    runs = [about("A", p=p) for p in worlds]
    assert label_runs(runs) == ["A, data 7-300", "A"]
    sets = [about("A", demonstration_set=n) for n in range(2)]
    assert label_runs(sets, sets=True) == ["A, set 0", "A, set 1"]


def test_errors_are_one_line(data, ran, tmp_path, capsys):
    for places, file, found in [
        (["nothing"], "new.html", "nothing: found no run on test questions"),
        (["runs"], "new.ipynb", "new.ipynb, expected the page's name"),
    ]:
        assert main(["report", *map(str, places), str(tmp_path / file)]) == 2
        assert found in capsys.readouterr().err and not (tmp_path / file).exists()


def test_a_copy_of_a_run_counts_once(ran, tmp_path):
    copy = shutil.copytree(ran["NoR QA"], tmp_path / "copy")
    places = [ran["NoR QA"], copy, ran["NoR QA"].parent]
    assert write_report(places, tmp_path / "new.html") == len(ran)


@pytest.fixture(scope="module")
def evil_file(data, opened):
    """The report of a run on a question, a paragraph and a kind full of markup."""
    name = f"Ann {EVIL}"
    page = {"title": name, "text": f"{name} is old.", "is_supporting": True}
    row = {"id": f"1{EVIL}", "question": f"Who is Ann? {EVIL}", "answers": [name]}
    folder = data / "evil"
    folder.mkdir()
    line = json.dumps(row | {"kind": EVIL, "paragraphs": [page]})
    (folder / "questions.jsonl").write_text(line + "\n")
    p = opened.parameters.change(data_dir=str(folder), dev=0, datasets=["own"])
    setup, system = open_setup(p, "own", "04_ircot"), all_systems()["OneR QA"]
    run_system(setup, system, k=2)
    run = Run(setup, system, "test", {"k": 2})
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"experiment": EVIL}))
    write_report([run.folder], file := data / "evil.html")
    return file


def test_texts_from_files_are_escaped(evil_file):
    text = evil_file.read_text()
    packed = unpack(text)
    shown = "\n".join(packed["own"]["lines"])
    assert "<img" not in text + shown and shown.count("&lt;img") >= 4
    assert text.count("<script") == text.count("</script>") == len(packed) + 1


def test_a_report_in_a_browser(page_file, evil_file, ran):
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page, odd, asked = browser.new_page(), [], []
        page.on("console", lambda message: odd.append(message.text))
        page.on("pageerror", lambda error: odd.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        page.locator("#question h3").wait_for()
        page.locator("td a[href*=IRCoT]").first.click()
        page.locator("#question h4:text-is('IRCoT QA')").wait_for()
        page.locator("[name=beside]").select_option("NoR QA")
        page.locator("#question h4:text-is('NoR QA')").wait_for()
        tables = {name: pd.read_csv(ran[name] / "scores.csv") for name in ran}
        wins = (tables["IRCoT QA"]["f1"] > tables["NoR QA"]["f1"]).sum()
        assert f"win {wins}" in page.locator("#counts").inner_text()
        page.locator("[name=which]").select_option("win")
        page.get_by_text(f"{wins} of 10 questions").wait_for()
        signs = page.locator("#question .columns p").evaluate_all(
            "all => all.map(p => getComputedStyle(p, '::before').content)"
        )
        assert signs == ['"✓ "', '"✗ "']  # ours is right, the other is not
        page.locator("[name=text]").fill("no question has this")
        page.locator("[name=text]").press("Enter")
        page.get_by_text("No question is left").wait_for()
        page.locator("[name=text]").fill("")
        page.locator("[name=text]").press("Enter")
        page.locator("#question h4:text-is('NoR QA')").wait_for()
        id = page.locator("[name=q]").input_value()
        address = page.url
        page.goto("about:blank")
        page.goto(address)  # as it is mailed
        page.locator("#question h4:text-is('NoR QA')").wait_for()
        assert page.locator("[name=q]").input_value() == id
        prompt = page.locator("#question details:has-text('prompt,') pre").first
        assert not prompt.is_visible()
        page.goto(evil_file.as_uri())
        page.locator("#question h3").wait_for()
        assert page.locator("#question h3").text_content() == f"Who is Ann? {EVIL}"
        assert page.locator("img, #questions script").count() == 0
        assert page.evaluate("window.ran") is None and odd == []
        assert all(address.startswith(("file:", "about:")) for address in asked)
        browser.close()
