"""The folder of a run: whatever is damaged in it is noticed where it is read."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from ircotlib.data import DataError, Question
from ircotlib.datasets.own import write_own
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import (
    EARLIER,
    FILES,
    Run,
    clear_runs,
    hold_runs,
    read_about,
    read_file,
    read_predictions,
    write_about,
)
from ircotlib.explore.questions import compare_runs
from ircotlib.files import paths
from ircotlib.files.paths import replace_files
from ircotlib.files.tables import read_table
from ircotlib.parameters import read_parameters
from ircotlib.results import markdown
from ircotlib.results.causes import find_causes
from ircotlib.results.runs import count_parsed, find_test_runs, read_runs
from ircotlib.systems import all_systems

IDS = ["NA", "nan", "null", "None", "US", "a\rb", "a\nb", "=1+1", "-1", "030", 'x"y', ",", "#"]
KINDS = ["", "NA", "null", "nan", "2hop", "\r", "None"]
OneR = all_systems()["OneR"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with questions of one's own, whose ids and kinds look like other things."""
    asked = []
    for n, id in enumerate(IDS):
        context = [make_paragraph(f"Town {m}", f"Town {m} is in land {m}.") for m in (n, n + 1)]
        gold, kind = (context[0].id,), KINDS[n % len(KINDS)]
        asked.append((Question(id, f"Where is Town {n}?", ("x",), gold, "own", kind), context))
    return write_own(tmp_path_factory.mktemp("own"), asked)


@pytest.fixture(scope="module")
def parameters(place):
    changes = {"data_dir": str(place), "datasets": ["own"], "dev": 0, "test": None}
    return read_parameters("mini", changes)


@pytest.fixture(scope="module")
def ran(place, parameters):
    """The folder of a run of OneR, which was made twice: the second time from the call cache."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(setup, "DATA", place)
        patched.setattr(backends, "DATA", place)
        opened = setup.open_setup(parameters, "own", "04_ircot", with_model=False)
        first = run_system(opened, OneR, k=1)
        assert first.equals(run_system(opened, OneR, k=1))
        again = read_runs(parameters, "04_ircot")
        assert again[list(first)].to_dict("records") == first.to_dict("records")
        yield find_test_runs(parameters, "04_ircot")["own", "OneR"]


def test_ids_and_kinds_are_texts_whatever_they_look_like(ran, tmp_path, monkeypatch):
    table = find_causes(ran)
    assert sorted(table["id"]) == sorted(IDS)
    kinds = {id: KINDS[n % len(KINDS)] for n, id in enumerate(IDS)}
    assert dict(zip(table["id"], table["kind"], strict=True)) == kinds
    assert list(compare_runs(ran, ran)["id"]) == list(table["id"])
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    markdown.save_table(table[["id", "kind", "recall"]], "kept", "Kept.")
    kept = read_table(tmp_path / "kept.csv", {"id": None, "kind": None}, key=["id"])
    assert {row["id"]: row["kind"] for row in kept} == kinds


def read_all(folder):
    """All that is ever read of a run."""
    return read_about(folder), read_predictions(folder).to_dict("records"), count_parsed(folder)


def test_every_flipped_bit_is_noticed(ran):
    draw, whole = random.Random(0), read_all(ran)
    for name in random.Random(1).choices(("run.json", *FILES), k=200):
        path, content = ran / name, bytearray((ran / name).read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        old = path.read_bytes()
        path.write_bytes(content)
        try:
            assert read_all(ran) == whole, f"{name} was read with a flipped bit"
        except DataError as error:
            assert str(error).startswith(f"{path}: found ") and "\n" not in str(error)
            assert "run its notebook again" in str(error)
        finally:
            path.write_bytes(old)
    assert read_all(ran) == whole


def test_of_many_who_write_and_clear_the_same_runs_none_is_disturbed(tmp_path, monkeypatch):
    """Each holds a lock of its own, as processes do."""
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    bench = setup.name_bench(read_parameters("mini"), "musique", "cleared")

    def write(n: int) -> None:
        folder = Run(bench, OneR, "dev", {"k": n % 3}).folder
        with hold_runs(folder), replace_files(folder, "run.json", EARLIER) as partial:
            for name in FILES:
                (partial / name).write_text(f"{n}")
            write_about(partial, {"n": n})

    def clear(n: int) -> None:
        clear_runs([Run(bench, OneR, "dev", {"k": n % 3})])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: (clear if n % 4 == 3 else write)(n), range(60)))
    write(60)
    clear(60)
    [folder] = (bench.runs / "dev").iterdir()
    about = read_about(folder)
    assert [read_file(folder, about, name) for name in FILES] == [b"60", b"60"]
