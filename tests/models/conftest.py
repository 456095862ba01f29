import pytest
import tiny
from pytest_httpserver import HTTPServer
from serving import Fake


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A folder for each kind of tiny model."""
    made = {kind: tmp_path_factory.mktemp(kind) for kind in tiny.KINDS}
    for kind, folder in made.items():
        tiny.save(kind, folder)
    return made


@pytest.fixture(params=tiny.KINDS)
def folder(request, folders):
    return folders[request.param]


@pytest.fixture(scope="session")
def one_server():
    """A server for all tests: it takes half a second to stop."""
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def httpserver(one_server):
    one_server.clear()
    return one_server


@pytest.fixture
def fake(httpserver, quick):
    return Fake(httpserver)


@pytest.fixture
def quick(monkeypatch):
    """Seconds instead of minutes for what the client waits."""
    openai = pytest.importorskip("openai", reason="needs: pip install -e '.[server]'")
    from ircotlib.models import server

    for name, value in (("TIMEOUT", 0.5), ("RETRIES", 2), ("PAUSES", (0.01, 0.02))):
        monkeypatch.setattr(server, name, value)
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.01)
