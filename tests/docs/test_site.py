"""The site: its pages say what is computed, its links lead somewhere, Sphinx has no complaint."""

import json
import re

import pandas as pd
import pytest

from docs.site.__main__ import build, lay
from docs.site.check import find_faults
from docs.site.log import LOG, read_main
from docs.site.reproduce import (
    ABSENT,
    NEAR,
    OFF,
    OK,
    TABLES,
    VERDICTS,
    command_of,
    judge,
    judge_tables,
    reproduce_as_markdown,
)
from docs.site.sources import lay_pages
from ircotlib.command.figures import choose_notebooks
from ircotlib.files.paths import FIGURES, ROOT
from ircotlib.parameters import read_parameters


@pytest.mark.parametrize(
    ("metric", "paper", "ours", "n", "verdict"),
    [
        ("f1", 50.0, 59.0, 100, OK),  # half of the interval is 9.6
        ("f1", 50.0, 68.0, 100, NEAR),  # 9.1
        ("f1", 50.0, 69.0, 100, OFF),
        ("f1", 99.0, 100.0, 100, OK),
        ("f1", 90.0, 100.0, 100, OFF),
        ("rounds", 2.0, 2.2, float("nan"), OK),
        ("rounds", 2.0, 2.5, 100, NEAR),
        ("rounds", 2.0, 2.51, 100, OFF),
        ("f1", 50.0, float("nan"), 100, ABSENT),
    ],
)
def test_a_number_is_judged_by_the_rule_of_the_page(metric, paper, ours, n, verdict):
    assert judge(metric, paper, ours, n) == verdict


def test_the_page_has_each_number_of_the_tables_and_the_command_that_makes_it():
    judged, page = judge_tables(), reproduce_as_markdown()
    assert [*judged] == TABLES
    for (_, name), cells in judged.items():
        kept = pd.read_csv(FIGURES / f"{name}.csv")
        columns = [name for name in kept if name in ("paper", "paper EM", "paper F1")]
        assert len(cells) == kept[columns].notna().sum().sum() > 0
        names = command_of(name).split(" --only ")[1:]
        assert name in {p.stem for p in FIGURES.glob("*.csv")} and len(names) > 1
        assert choose_notebooks(names, read_parameters("mini")) == sorted(names)
    total = sum(map(len, judged.values()))
    assert page.count('<td class="cell">') == total
    counted = [int(n) for row in re.findall(r"^\| \[.+?\) \|(.+?)\| `", page, re.M) for n in
               row.split("|")]  # fmt: skip
    assert len(counted) == len(TABLES) * len(VERDICTS) and sum(counted) == total


def test_the_last_line_of_the_log_is_about_the_kept_figures():
    last = pd.read_csv(LOG, dtype=str).iloc[-1]
    assert dict(last[[*read_main()]]) == read_main()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", last["date"]) and last["what changed"]


def test_links_to_code_lead_to_a_page_that_shows_it(tmp_path):
    lay_pages(tmp_path, ("docs/architecture.md", "docs/reference.md"))
    page = (tmp_path / "docs" / "architecture.md").read_text()
    [(path, line)] = set(re.findall(r'<a href="\.\./(\S+/scheduler.py.html)#L-(\d+)">', page))
    code = (tmp_path / "code" / path).read_text()
    source = (ROOT / "ircotlib" / "playing" / "scheduler.py").read_text().splitlines()
    assert source[int(line) - 1].startswith("def run(")
    assert f'id="L-{line}"' in code
    assert (tmp_path / "docs" / "pictures" / "rooms.svg").is_file()
    assert "](reference.md)" in page and "](systems.md)" not in page


def test_a_broken_link_and_a_foreign_script_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">a</a> <a href="b.html#y">b</a> <a href="c.html">c</a>'
        '<a href="#z">d</a> <a href="https://example.org">e</a> <script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p>')
    assert find_faults(tmp_path) == [
        "a.html: found no anchor b.html#y",
        "a.html: found no c.html",
        "a.html: found no anchor #z",
        "a.html: fetches https://example.org/x.js",
    ]


def test_sphinx_makes_the_pages_without_a_warning(tmp_path):
    """Of notebooks, tables and the front door, which take most of the time, only their titles."""
    for package in ("sphinx", "myst_nb", "furo", "sphinx_design"):
        pytest.importorskip(package, reason="needs Sphinx: pip install -e '.[docs]'")
    sources = tmp_path / "sources"
    lay(sources)
    for path in sources.glob("notebooks/*.ipynb"):
        notebook = json.loads(path.read_text())
        path.write_text(json.dumps(notebook | {"cells": notebook["cells"][:1]}))
    for path in (*sources.glob("figures/*.md"), sources / "api.md"):
        path.write_text(path.read_text().splitlines()[0])
    assert build(sources, tmp_path / "html") == []
    assert "Reproduce" in (tmp_path / "html" / "index.html").read_text()
    assert "cover_em" in (tmp_path / "html" / "searchindex.js").read_text()
