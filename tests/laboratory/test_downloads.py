"""The papers' protocol in small: a laboratory's downloads, as the profile `paper` reads them, and
the simulated reader on every full corpus.
"""

import os
import subprocess
import sys

import pytest
from ircotlib.experiment.checks import check_comparison
from ircotlib.experiment.plans import read_comparisons

from ircot_laboratory.make import make_dataset, make_laboratory
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS
from ircotlib.command.fetch import missing, read_downloads
from ircotlib.datasets import files, find_dataset
from ircotlib.datasets.musique import read_musique
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.files.notebooks import all_notebooks
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems

WORLD = {"seed": 5, "size": 300, "questions": 20}


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsal") / "downloads"
    return make_laboratory(folder, **WORLD, downloads=True)


@pytest.fixture
def paper(downloads, tmp_path, monkeypatch):
    """The profile, with nothing changed but what names folders and models, and fewer questions."""
    for module in (files, setup, backends):
        monkeypatch.setattr(module, "DATA", tmp_path)
    return read_parameters("paper", changes_of(downloads))


def changes_of(downloads) -> dict:
    changes = {"data_dir": str(downloads), "demonstrations": str(downloads / "prompts")}
    return changes | {"model": "simulated", "duplicates": "", "test": 8, "dev": 2}


def test_nothing_is_missing_that_the_profile_reads(paper, downloads):
    assert list(missing(paper.change(datasets=[*ALL_DATASETS]), read_downloads())) == []
    own = "10_your_own", "17_real_outputs"  # have data of their own
    for name in (name for name in all_notebooks() if name not in own):
        for comparison in read_comparisons(name, "paper", changes_of(downloads)):
            check_comparison(name, comparison)


def test_the_full_variant_of_musique_has_each_question_twice(downloads):
    folder = downloads / "musique"
    names = [f"musique_{variant}_v1.0_train.jsonl" for variant in ("ans", "full")]
    answerable, of_full = (read_musique(folder / name) for name in names)
    assert answerable == of_full and 0 < len(answerable) <= WORLD["questions"]
    lines = [len((folder / name).read_text().splitlines()) for name in names]
    assert lines[1] == 2 * lines[0]
    asked = {question.text for question, _ in answerable}
    assert asked.isdisjoint(riddle.text for riddle in make_dataset("musique", **WORLD).riddles)


@pytest.mark.parametrize("dataset", ALL_DATASETS)
def test_systems_answer_from_the_full_corpus_of_each_data_set(paper, downloads, dataset):
    bench = setup.open_setup(paper, dataset, "rehearsal")
    full = find_dataset(dataset).full_corpus
    texts = {paragraph.text for paragraph in bench.retriever.corpus}
    written = make_dataset("zsre" if full.name == "kilt" else dataset, **WORLD).world
    pages = {passage.text for page in written.pages.values() for passage in page}
    pooled = set()
    if full.drop_repeats:  # of the contexts of all splits, more than of one
        pooled = {paragraph.text for paragraph in files.read_dataset(dataset, downloads)[1]}
    assert pooled < texts < pages if pooled else texts == pages
    assert all(bool(question.gold) == (dataset in DATASETS) for question in bench.test)
    measure, means = next(iter(find_dataset(dataset).scores)), {}
    for system in choose_systems(["IRCoT QA", "SearChain"]):
        setting = {"k": 8, "m": 1} if "k" in system.grid else {}
        means[system.name] = run_system(bench, system, **setting)[measure].mean()
    # SearChain does not show IIRC's main passage
    assert means["IRCoT QA" if dataset == "iirc" else "SearChain"] > 0.99


def test_notebooks_make_their_figures_with_a_shipped_model(downloads, tmp_path):
    model = "data/models/mini-base"
    changes = {"data_dir": downloads, "demonstrations": downloads / "prompts", "duplicates": ""}
    changes |= {"model": model, "extractor": "data/models/mini-reader", "context_tokens": 700}
    changes |= {"datasets": "[musique]", "test": 4, "dev": 2, "demonstration_sets": 1}
    changes |= {"distractors": "[1]", "oner_k": "[5]", "ircot_k": "[2, 4]", "workers": 1}
    command = [sys.executable, "-m", "ircotlib", "figures", "--profile", "paper"]
    command += ["--only", "04_ircot", "--only", "08_factuality"]
    command += [part for name in changes for part in ("--set", f"{name}={changes[name]}")]
    folders = {"IRCOT_DATA": str(tmp_path), "IRCOT_FIGURES": str(tmp_path / "figures")}
    environment = os.environ | folders | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "not made" not in run.stdout
    made = {path.name for path in tmp_path.glob("figures/trials/*/*.png")}
    names = "tuning fig03_recall fig04_f1 fig07_factual_errors".split()
    assert made == {f"ircot_{name}_paper.png" for name in names}
