"""Any systems may be chosen: what has none of them says so in one line, and the rest is made."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from ircotlib.experiment.checks import check_notebooks

from ircotlib.experiment.compare import compare_systems, join_scores
from ircotlib.files import paths
from ircotlib.files.notebooks import about_notebook, all_notebooks
from ircotlib.files.paths import DATA, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.results import head_to_head, statistics, tables
from ircotlib.results.causes import COUNTED, count_causes
from ircotlib.results.claims import claim, judging
from ircotlib.results.claims.searchain import Measured
from ircotlib.results.figures import lines, maps, panels, rows
from ircotlib.results.reported import COLUMNS, read_reported, with_reported

NO_RUN = join_scores([])
MEANS = statistics.summarise(NO_RUN)
DRAWN = {
    "beside the paper": lambda t: rows.draw_with_reported(
        with_reported(MEANS, read_reported(metric="recall_gain")), t, "recall"
    ),
    "demonstrations": lambda t: rows.draw_by_demonstrations(MEANS, t, "f1"),
    "causes": lambda t: rows.draw_causes(count_causes([]), t),
    "by data set": lambda t: rows.draw_by_dataset(pd.DataFrame(columns=COLUMNS), t),
    "by size": lambda t: lines.draw_by_size(MEANS.assign(parameters=1.0, style=""), t, "f1"),
    "front": lambda t: rows.draw_front(head_to_head.average(NO_TABLE), t),
    "tuning": lambda t: maps.draw_tuning(compare_systems([], []).tuning, t),
}
P = read_parameters("mini")
NO_TABLE = head_to_head.compare_all(NO_RUN, P)


@pytest.mark.parametrize("name", DRAWN)
def test_without_rows_nothing_is_drawn_and_one_line_says_so(name, capsys):
    assert DRAWN[name](f"{name}\nbelow") is None
    assert capsys.readouterr().out == f"nothing to draw: {name}\n"


def test_no_picture_of_other_numbers_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    panels.save_figure(panels.subplots()[0], MEANS, "a")
    panels.save_figure(None, MEANS, "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == ",".join(MEANS) + "\n"


def test_without_runs_a_table_has_its_columns_and_the_papers_numbers():
    assert list(statistics.summarise(NO_RUN, ("dataset", "world")))[:3] == [
        "dataset",
        "world",
        "metric",
    ]
    assert list(NO_TABLE) == head_to_head.COLUMNS and NO_TABLE.empty
    assert list(count_causes([]))[:4] == COUNTED
    made = [tables.table_1(NO_TABLE), tables.table_2({}), tables.table_3({}), tables.table_4({})]
    made += [tables.table_5({}, P), tables.table_8({}, P)]
    for table in made:
        assert table["ours"].isna().all() and table["paper"].notna().all()
    forms = pd.DataFrame(columns=["id", "panel", "hops", "i", "right"])
    asked = pd.DataFrame(columns=["score", "right"])
    measured = Measured(NO_TABLE, NO_RUN, {}, forms, asked, NO_RUN, {})
    assert judging.judge_claims("searchain", measured)[0].empty
    assert list(claim.compare(NO_RUN))[:2] == ["dataset", "claim"]


SELECTIONS = ["NoR QA"], ["OneR QA"], ["OneR", "IRCoT"], ["IRCoT QA", "SearChain"], ["CoT"], []


@pytest.mark.parametrize("systems", SELECTIONS, ids=", ".join)
def test_no_notebook_refuses_a_selection(systems):
    changes = {"systems": systems}
    names = {*all_notebooks()} - {"17_real_outputs"}  # which has outputs of the user's
    planned = check_notebooks(P.change(**changes), changes, sorted(names))
    assert {*planned} == names


# in the notebooks' own process, one after the other
PLAY = """
import json, sys
from pathlib import Path
import matplotlib
matplotlib.use("agg")
for path in sys.argv[2:]:
    cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
    names = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        own = "parameters" in cell["metadata"].get("tags", [])
        exec(f"profile, changes = 'mini', {sys.argv[1]}" if own else "".join(cell["source"]), names)
"""


def test_notebooks_run_to_their_end_with_a_system_that_only_retrieves(tmp_path):
    for name in ("laboratory", "corpora", "indexes"):
        if (DATA / name).is_dir():
            (tmp_path / name).symlink_to(DATA / name)
    changes = {"model": "simulated", "datasets": ["musique"], "head_to_head": ["musique"]}
    changes |= {"systems": ["OneR"], "dev": 2, "test": 3}
    names = ["04_ircot", "06_scale", "08_factuality", "09_explorer", "13_head_to_head"]
    sources = [f"{ROOT}/notebooks/{name}.ipynb" for name in [*names, "99_figures"]]
    figures = tmp_path / "figures"
    environment = os.environ | {"IRCOT_DATA": str(tmp_path), "IRCOT_FIGURES": str(figures)}
    environment |= {"IRCOT_BATCH": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PLAY, repr(changes), *sources]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "nothing to draw: Answer F1 (as IRCoT Figure 4)" in run.stdout
    written = {path.name for path in figures.glob("trials/*/*")}
    assert {"ircot_fig03_recall.png", "ircot_fig08_scale_recall.png", "ircot_tuning.png"} <= written
    assert {"ircot_fig04_f1.csv", "head_to_head.csv"} <= written
    assert not {"ircot_fig04_f1.png", "head_to_head.png", "ircot_census.png"} & written
    assert about_notebook("99_figures").makes[0] in written
