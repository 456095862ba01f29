"""The worked examples in docstrings give what they say."""

import doctest
from importlib import import_module

import pytest

from ircotlib.files import ROOT

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("ircotlib", "ircot_studies")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    results = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.attempted and not results.failed
