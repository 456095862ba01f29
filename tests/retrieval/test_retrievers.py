"""The records of retrievers: what the parameters, the checks and the figures read."""

import tomllib

import pytest

from ircotlib.files.paths import ROOT
from ircotlib.retrieval import RETRIEVERS, check_retriever, find_retriever, model_of


@pytest.mark.parametrize("retriever", RETRIEVERS, ids=[r.title for r in RETRIEVERS])
def test_an_example_names_its_retriever_and_what_it_needs_can_be_installed(retriever):
    assert find_retriever(retriever.example) is retriever
    assert check_retriever(retriever.example) == retriever.example
    assert bool(model_of(retriever.example)) == (retriever.takes == "model")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = "".join(extras["optional-dependencies"].get(retriever.extra, []))
    assert retriever.module.replace("_", "-") in installed


@pytest.mark.parametrize("text", ["", "es", "dense:", "dense: x", "embedded ", "ftp://host:1"])
def test_another_text_is_refused_without_repeating_it(text):
    with pytest.raises(ValueError, match="expected one of embedded, dense:FOLDER, ") as error:
        find_retriever(text)
    assert text.strip() in ("", "dense:", "embedded") or text not in str(error.value)
