"""Sentences of real chains: counted by hand, and as they are kept."""

import gzip

import pandas as pd

from docs import real_chains
from ircotlib.files import SHIPPED

CHAIN = """
5a8c7595554299585d9e36b6
Who?
A: ["A"]
A: It is by Ann Lee.
A: Exit? No.
A: ["A", "B"]
A: It is by Ann Lee. She had a cat.
A: Exit? No.
A: ["A", "B", "Ann Lee (poet)"]
A: It is by Ann Lee. She had a cat. So the answer is: Bo.
A: ["pid___1", "pid___2"]
Q: Who?
"""


def test_a_sentence_of_a_real_chain_names_a_missing_page_and_brings_one():
    id, _, *lines = real_chains.QUESTION.split(CHAIN)[1].splitlines()
    assert id == "5a8c7595554299585d9e36b6"
    counted = real_chains.count_sentences(lines, ["A", "Ann Lee (poet)"])
    # the last sentence ends the chain: nothing is retrieved with it
    assert list(counted) == [(1, 1, 0), (2, 0, 1)]
    assert not list(real_chains.count_sentences(lines, ["A"]))  # none is missing


def test_real_chains_are_kept_as_they_are_counted(shared, tmp_path, monkeypatch):
    [folder] = (shared / "outputs" / "official_llama").glob("*count__2__*")
    monkeypatch.setattr(real_chains, "KEPT", tmp_path / "real_chains.csv.gz")
    real_chains.main(str(folder))
    kept = gzip.decompress((SHIPPED / "data" / "real_chains.csv.gz").read_bytes())
    assert gzip.decompress((tmp_path / "real_chains.csv.gz").read_bytes()) == kept


def test_in_real_chains_a_sentence_that_names_a_missing_page_brings_more():
    kept = pd.read_csv(SHIPPED / "data" / "real_chains.csv.gz")
    named = kept.groupby("names")["brings"]
    assert named.size().to_dict() == {1: 565, 0: 766}
    assert (100 * named.mean()).round(1).to_dict() == {1: 26.5, 0: 5.0}
