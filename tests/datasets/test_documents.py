"""A folder of text, Markdown and PDF as a corpus: what is read, cut, and left out."""

import re

import pytest

from ircotlib import read_dataset
from ircotlib.__main__ import main
from ircotlib.datasets.documents import cut_passages, read_documents

pypdf = pytest.importorskip("pypdf", reason="needs the extra pdf: pip install -e '.[dev]'")
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, StreamObject


def bring(capsys, *arguments):
    status = main(["import", *map(str, arguments)])
    told = capsys.readouterr()
    return status, told.out + re.sub(r".*\r", "", told.err)


def write_pdf(path, *pages, key=""):
    """Write a PDF with a text on each page, one line a line."""
    writer = PdfWriter()
    names = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}
    font = DictionaryObject({NameObject(f"/{n}"): NameObject(f"/{v}") for n, v in names.items()})
    for text in pages:
        page = writer.add_blank_page(400, 400)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        lines = " 0 -14 Td ".join(f"({line}) Tj" for line in text.split("\n"))
        stream = StreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 300 Td {lines} ET".encode())
        page[NameObject("/Contents")] = stream
    if key:
        writer.encrypt(key)
    writer.write(path)


MARKDOWN = """Before.

# Kelso #

Kelso is a river.
It is long.

```sh
# no heading
```

## Bridges
Two of them.
"""


def test_a_folder_of_texts_is_a_corpus_that_can_be_asked_about(tmp_path, capsys):
    notes = tmp_path / "notes"
    (notes / "below").mkdir(parents=True)
    (notes / ".hidden").mkdir()
    (notes / "rivers.md").write_text("\ufeff" + MARKDOWN, encoding="utf-8")
    (notes / "below" / "long.txt").write_text("One two three four.\n" * 60)
    for name in (".hidden/x.txt", "a.docx"):
        (notes / name).write_text("no")
    write_pdf(notes / "label.pdf", "Quarry was foun-\nded by Ann.", "Its album\nis Telemachus.")
    write_pdf(notes / "locked.pdf", "secret", key="key")
    write_pdf(notes / "scanned.pdf", "")
    (notes / "empty.txt").write_text(" \n")
    (notes / "latin.txt").write_bytes("Malmö".encode("latin-1"))
    (notes / "junk.pdf").write_text("%PDF-1.4 junk")
    status, told = bring(capsys, notes, tmp_path / "own")
    left_out = ["of 9 files", "junk.pdf: ", "latin.txt: ", "locked.pdf: ", "empty.txt: found no"]
    assert status == 0 and all(name in told for name in [*left_out, "scanned.pdf: found no text"])
    assert told.count("left out") == 6
    questions, corpus = read_dataset("own", tmp_path / "own")
    found = {page.title: page.text for page in corpus}
    assert questions == [] and [*found] == [
        "long", "label, page 1", "label, page 2", "rivers", "rivers: Kelso", "rivers: Bridges",
    ]  # fmt: skip
    assert found["label, page 1"] == "Quarry was founded by Ann."
    assert found["label, page 2"] == "Its album is Telemachus."
    assert found["rivers: Kelso"] == "Kelso is a river. It is long. ```sh # no heading ```"
    assert [len(p.text.split()) for p in corpus if p.title == "long"] == [100, 40]
    (tmp_path / "none").mkdir()
    for place, words in (
        (tmp_path / "none", "found no file that ends in"),
        (tmp_path / "gone.md", "found"),
    ):
        status, told = bring(capsys, place, tmp_path / "other")
        assert status == 2 and words in told


def test_passages_are_whole_sentences_of_at_most_so_many_words():
    text = "One two three. Four five.\n\nSix\nseven. " + "word " * 12 + "end. Last one."
    passages = [*cut_passages(text, words=5)]
    assert passages[:2] == ["One two three. Four five.", "Six seven."]
    assert passages[2:] == ["word word word word word"] * 2 + ["word word end. Last one."]
    assert [*cut_passages(" \n\n ")] == []


def test_one_file_is_a_corpus(tmp_path):
    write_pdf(tmp_path / "a.pdf", "A text.")
    assert [page.title for page in read_documents(tmp_path / "a.pdf")] == ["a, page 1"]
