"""Sentences of real chains: counted by hand, and as they are kept."""

import gzip

import pandas as pd

from ircot_studies import real_chains
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
    id, text, *lines = real_chains.QUESTION.split(CHAIN)[1].splitlines()
    assert id == "5a8c7595554299585d9e36b6"
    chain = real_chains.Chain(id, text, ["A", "Ann Lee (poet)"], lines)
    # the last sentence ends the chain: nothing is retrieved with it
    assert list(real_chains.count_sentences(chain)) == [(id, 1, 1, 0), (id, 2, 0, 1)]
    of_found = chain._replace(gold=["A"])  # none is missing
    assert not list(real_chains.count_sentences(of_found))


def test_sentences_and_queries_are_kept_as_they_are_counted(
    shared, tmp_path, monkeypatch
):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    monkeypatch.setattr(real_chains, "CHAINS", tmp_path / "real_chains.csv.gz")
    monkeypatch.setattr(real_chains, "KEPT_QUERIES", tmp_path / "real_queries.csv")
    [folder] = (shared / "outputs" / "official_llama").glob("*count__2__*")
    real_chains.main(str(folder), str(shared))
    kept = gzip.decompress((SHIPPED / "data" / "real_chains.csv.gz").read_bytes())
    assert gzip.decompress((tmp_path / "real_chains.csv.gz").read_bytes()) == kept
    kept = (SHIPPED / "data" / "real_queries.csv").read_bytes()
    assert (tmp_path / "real_queries.csv").read_bytes() == kept


def test_in_real_chains_a_sentence_that_names_a_missing_page_brings_more():
    kept = pd.read_csv(SHIPPED / "data" / "real_chains.csv.gz")
    named = kept.groupby("names")["brings"]
    assert named.size().to_dict() == {1: 565, 0: 766}
    assert (100 * named.mean()).round(1).to_dict() == {1: 26.5, 0: 5.0}
