"""The papers' protocol in small: a laboratory's downloads, as `paper` reads them."""

import pytest

from ircot_laboratory.make import make_dataset, make_laboratory
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS
from ircotlib.command.fetch import missing
from ircotlib.datasets import files, find_dataset
from ircotlib.experiment import setup
from ircotlib.parameters import read_parameters

WORLD = {"seed": 5, "size": 300, "questions": 20}


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsal") / "downloads"
    return make_laboratory(folder, **WORLD, downloads=True)


@pytest.fixture
def paper(downloads, tmp_path, monkeypatch):
    """The profile, with nothing changed but what names folders, and fewer questions."""
    for module in (files, setup):
        monkeypatch.setattr(module, "DATA", tmp_path)
    changes = {"data_dir": str(downloads), "demonstrations": str(downloads / "prompts")}
    return read_parameters("paper", changes | {"test": 8, "dev": 2})


def test_nothing_is_missing_that_the_profile_reads(paper):
    assert not list(missing(paper.change(datasets=[*ALL_DATASETS])))


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_the_full_corpus_of_each_data_set_is_read_and_searched(
    paper, downloads, dataset
):
    opened = setup.open_setup(paper, dataset, "rehearsal", with_model=False)
    full = find_dataset(dataset).full_corpus
    texts = {paragraph.text for paragraph in opened.retriever.corpus}
    written = make_dataset("zsre" if full.name == "kilt" else dataset, **WORLD).world
    pages = {passage.text for page in written.pages.values() for passage in page}
    pooled = set()
    if full.name in ("2wikimultihopqa", "musique"):  # of all splits
        _, paragraphs = files.read_dataset(dataset, downloads)
        pooled = {paragraph.text for paragraph in paragraphs}
    assert pooled < texts < pages if pooled else texts == pages
    assert all(bool(question.gold) == (dataset in DATASETS) for question in opened.test)
    assert len(opened.test) == 8
    for question in opened.test:
        hits = opened.retriever.search(question.text, 15)
        assert {paragraph.text for paragraph, _ in hits} <= texts
