"""What changes on the disk while a kernel runs is read again by the next cell."""

import json
import shutil

import pytest

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.own import write_own
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.setup import open_dataset, open_model
from ircotlib.extraction.repeated_queries import open_duplicates
from ircotlib.files import kept
from ircotlib.files.kept import kept_until_changed
from ircotlib.parameters import read_parameters
from ircotlib.prompting import examples, templates


def own(name: str) -> list:
    page = Paragraph("p", "Ox Hall", f"Ox Hall was built by {name} in 1902.")
    return [(Question("1", "Who built Ox Hall?", (name,), ("p",), "own"), (page,))]


def musique(name: str) -> dict:
    page = {"title": "Ox Hall", "paragraph_text": f"It was built by {name}.", "is_supporting": True}
    asked = {"id": "2hop__1", "question": "Who built Ox Hall?", "answerable": True}
    return asked | {"answer": name, "answer_aliases": [], "paragraphs": [page]}


def iirc(name: str) -> tuple[dict, dict]:
    text = f"Ox Hall was built by {name} in the year 1902 on the old market square."
    answer = {"type": "span", "answer_spans": [{"text": name}]}
    asked = {"question": "Who built it?", "answer": answer}
    asked |= {"context": [{"passage": "Ox Hall", "text": text}]}
    return {"title": "Ox", "text": "An ox.", "questions": [asked]}, {"Ox Hall": text}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write(data set, name): its files, in which somebody of this name built Ox Hall."""
    for module in ("running.bench", "running.backends", "datasets.files"):
        monkeypatch.setattr(f"ircotlib.{module}.DATA", tmp_path / "data")

    def write(dataset: str, name: str):
        folder = tmp_path / "raw" / dataset
        folder.mkdir(parents=True, exist_ok=True)
        if dataset == "own":
            write_own(folder.parent, own(name))
        elif dataset == "musique":
            for variant in ("ans", "full"):
                for split in ("dev", "test", "train"):
                    path = folder / f"musique_{variant}_v1.0_{split}.jsonl"
                    path.write_text(json.dumps(musique(name)))
            (folder.parent / "corpora.csv").write_text("corpus,paragraphs\nmusique,1\n")
        else:
            passage, pages = iirc(name)
            (folder / "dev.json").write_text(json.dumps([passage]))
            (folder / "context_articles.json").write_text(json.dumps(pages))
        return folder.parent

    return write


@pytest.mark.parametrize(
    ("dataset", "corpus"),
    [("own", "pooled"), ("musique", "pooled"), ("iirc", "pooled"), ("musique", "full")],
)
def test_a_data_set_that_was_replaced_is_read_again(write, tmp_path, dataset, corpus):
    p = read_parameters("mini", {"datasets": [dataset], "dev": 0, "corpus": corpus})
    for name in ("Ann", "Ben"):
        p = p.change(data_dir=str(write(dataset, name)))
        _, [asked], retriever = open_dataset(p, dataset)
        assert asked.answers == (name,)
        [(found, _)] = retriever.search("Who built Ox Hall?", 1)
        assert f"built by {name}" in found.text and retriever.corpus.find(found.id) == found
        assert open_dataset(p, dataset)[2] is retriever  # nothing has changed
        shutil.rmtree(tmp_path / "data/corpora/musique-full", ignore_errors=True)  # made again
    (tmp_path / "raw" / dataset).rename(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match=f"no questions of {dataset}"):
        open_dataset(p, dataset)


def test_prompts_that_were_edited_are_read_again(tmp_path, monkeypatch):
    for module in (templates, examples):
        monkeypatch.setattr(module, "PROMPTS", tmp_path)
    (tmp_path / "some").mkdir()
    shown = tmp_path / "some" / "cot.multihop.txt"
    for word in ("Q", "Ask"):
        (tmp_path / "some" / "cot.txt").write_text(f"{{demonstrations}}{word}: {{question}}\n")
        template = templates.read_template("some", "cot", "gpt3")
        assert template.text.startswith(word)
        for asked in ("Who?", "Why?"):  # as long
            shown.write_text(f"{word}: {asked}")
            assert examples.read_examples(shown, template) == (f"{word}: {asked}",)
    (tmp_path / "some" / "cot.gpt3.txt").write_text("{demonstrations}Of a style: {question}\n")
    assert templates.read_template("some", "cot", "gpt3").text.startswith("Of a style")


def test_models_and_facts_are_opened_again_once_their_folders_change(tmp_path):
    from ircot_laboratory.make import make_laboratory
    from ircotlib.files.paths import MODELS

    shutil.copytree(MODELS / "mini-base", tmp_path / "model")
    make_laboratory(tmp_path / "lab", 5, 100, 10)
    changes = {"model": str(tmp_path / "model"), "data_dir": str(tmp_path / "lab")}
    p = read_parameters("mini", changes)
    model, facts = open_model(p), find_facts(p, "musique")
    assert open_model(p) is model and find_facts(p, "musique") is facts
    assert open_duplicates() is open_duplicates("") or open_duplicates() is open_duplicates()
    config = tmp_path / "model/config.json"
    config.write_text(config.read_text() + " ")
    make_laboratory(tmp_path / "lab", 6, 100, 10)
    again, other = open_model(p), find_facts(p, "musique")
    assert again is not model and again.fingerprint != model.fingerprint
    assert other is not facts


def test_what_cannot_be_made_is_tried_again_and_one_value_is_kept(tmp_path):
    path, made = tmp_path / "some.txt", []

    @kept_until_changed(lambda name: [tmp_path / name])
    def read(name: str) -> str:
        made.append(name)
        return (tmp_path / name).read_text()

    with pytest.raises(FileNotFoundError):
        read("some.txt")
    for text in ("one", "two", "one"):
        path.write_text(text)
        assert read("some.txt") == read("some.txt") == text
    assert len(made) == 4
    assert kept._state(tmp_path / "none") is None and kept._state(tmp_path)[0][0] == "some.txt"
