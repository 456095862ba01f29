import pytest
import tiny
from pytest_httpserver import HTTPServer
from serving import Fake


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return tiny.save_each(tmp_path_factory)


@pytest.fixture(params=tiny.KINDS)
def folder(request, folders):
    return folders[request.param]


@pytest.fixture(scope="session")
def servers():
    """Two servers; one takes half a second to stop."""
    with HTTPServer(threaded=True) as one, HTTPServer(threaded=True) as two:
        yield one, two


@pytest.fixture
def fakes(servers):
    for server in servers:
        server.clear()
    return [Fake(server) for server in servers]


@pytest.fixture
def fake(fakes):
    return fakes[0]
