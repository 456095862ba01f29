"""A corpus grown by paragraphs that belong to no question."""

import pytest
from ircotlib.experiment.checks import check_places
from ircotlib.experiment.identity import identity
from ircotlib.experiment.needs import check_data

from ircotlib import UserError, open_setup, read_parameters
from ircotlib.data import Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.own import CORPUS, NAME, write_own, write_own_corpus
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import DataError
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup

ANN, BEN, CY = (make_paragraph(name, f"{name} is old.") for name in ("Ann", "Ben", "Cy"))


@pytest.fixture
def asked(tmp_path):
    """A folder with a question, and a file of paragraphs of which its context has one."""
    question = Question("1", "Who is old?", ("Ann",), (ANN.id,), NAME)
    data_dir = write_own(tmp_path / "asked", [(question, [ANN, BEN])])
    more = write_own_corpus(tmp_path / "more", [CY, BEN])
    return data_dir, more / NAME / CORPUS


def test_the_corpus_has_each_paragraph_once_the_contexts_first(asked):
    data_dir, more = asked
    for name in ("", str(more)):
        questions, paragraphs = read_dataset(NAME, data_dir, further=name)
        assert [*paragraphs] == ([ANN, BEN, CY] if name else [ANN, BEN])
        assert questions[0].gold == (ANN.id,)
    more.write_text('{"title": "Dee"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"corpus\.jsonl.*'text'"):
        read_dataset(NAME, data_dir, further=more)
    with pytest.raises(DataError, match=r"corpus full, expected corpus pooled"):
        read_dataset("hotpotqa", data_dir, "full", further=more)


def test_runs_in_a_grown_corpus_are_others_and_others_stay(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    data_dir, more = asked
    p = read_parameters("mini", {"data_dir": str(data_dir), "datasets": [NAME], "dev": 0})
    grown = p.change(further_paragraphs=str(more))
    benches = [open_setup(each, NAME, "try", with_model=False) for each in (p, grown)]
    found = [{hit.title for hit, _ in b.retriever.search("old", 9)} for b in benches]
    assert found == [{"Ann", "Ben"}, {"Ann", "Ben", "Cy"}]
    assert benches[0].runs != benches[1].runs and "further_paragraphs" not in identity(p)
    with more.open("a", encoding="utf-8") as file:
        file.write('{"title": "Dee", "text": "Dee is old."}\n')
    assert len(open_setup(grown, NAME, "try", with_model=False).retriever.corpus) == 4


def test_a_file_that_is_not_there_or_of_no_use_is_an_error_before_any_work(asked, tmp_path):
    data_dir, more = asked
    p = read_parameters("mini", {"data_dir": str(data_dir), "datasets": [NAME]})
    with pytest.raises(UserError, match="further_paragraphs: found no file .*nothing"):
        check_places(p.change(further_paragraphs=str(tmp_path / "nothing")), ())
    grown = p.change(further_paragraphs=str(more), corpus="full")
    with pytest.raises(UserError, match="corpus=full, expected corpus=pooled"):
        check_data(grown, find_dataset("musique"))
