import pytest
import tiny
from pytest_httpserver import HTTPServer
from serving import Fake


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A folder for each kind of tiny model, written by save_pretrained."""
    made = {kind: tmp_path_factory.mktemp(kind) for kind in tiny.KINDS}
    for kind, folder in made.items():
        tiny.save(kind, folder)
    return made


@pytest.fixture(params=tiny.KINDS)
def folder(request, folders):
    return folders[request.param]


@pytest.fixture
def httpserver():
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def fake(httpserver) -> Fake:
    return Fake(httpserver)
