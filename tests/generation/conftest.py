import pytest
import tiny


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
