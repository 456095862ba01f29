"""A folder of text and Markdown as a corpus: what is read, and how it is cut."""

import pytest

from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.own import CORPUS, cut_passages, read_documents, write_own
from ircotlib.errors import DataError, UserError

MARKDOWN = """Before.

# Kelso #

Kelso is a river.
It is long.

```sh
# no heading
```

## C#
Two of them.
"""


def test_a_folder_of_texts_is_a_corpus_that_can_be_asked_about(tmp_path):
    notes = tmp_path / "notes"
    (notes / "below").mkdir(parents=True)
    (notes / ".hidden").mkdir()
    (notes / "rivers.md").write_text("\ufeff" + MARKDOWN, encoding="utf-8")
    (notes / "below" / "long.TXT").write_text("One two three four.\n" * 60)
    for name in (".hidden/x.txt", "a.docx"):
        (notes / name).write_text("no")
    (notes / "empty.txt").write_text(" \n")
    write_own(tmp_path, read_documents(notes), CORPUS)
    questions, corpus = read_dataset("own", tmp_path)
    found = {page.title: page.text for page in corpus}
    assert questions == []
    assert [*found] == ["long", "rivers", "rivers: Kelso", "rivers: C#"]
    kelso = "Kelso is a river. It is long. ```sh # no heading ```"
    assert found["rivers: Kelso"] == kelso and found["rivers: C#"] == "Two of them."
    assert [len(p.text.split()) for p in corpus if p.title == "long"] == [100, 40]


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(
        UserError, match=f"^{tmp_path}: found no file that ends in .txt or .md"
    ):
        list(read_documents(tmp_path))
    (tmp_path / "latin.txt").write_bytes("Malmö".encode("latin-1"))
    with pytest.raises(
        DataError, match="latin.txt: 'utf-8' codec .*: save it in UTF-8"
    ):
        list(read_documents(tmp_path))
    (tmp_path / "latin.txt").write_bytes(b"half of \xed\xa0\xbda pair")  # D83D alone
    assert [page.text for page in read_documents(tmp_path)] == ["half of a pair"]


def test_passages_are_whole_sentences_up_to_a_number_of_words():
    text = "One two three. Four five.\n\nSix\nseven. " + "word " * 12 + "end. Last one."
    passages = [*cut_passages(text, words=5)]
    assert passages[:2] == ["One two three. Four five.", "Six seven."]
    assert passages[2:] == ["word word word word word"] * 2 + [
        "word word end. Last one."
    ]
    assert [*cut_passages(" \n\n ")] == []
    for spaceless in (
        "中文字符" * 2900,
        "中文字符。" * 2900,
        "ไทย" * 4000,
        "A" * 9000 + " b.",
    ):
        passages = [*cut_passages(spaceless)]
        assert max(map(len, passages)) < 1100 and len(passages) > 8
        assert "".join("".join(passages).split()) == spaceless.replace(" ", "")
    assert len([*cut_passages("It is a long river. " * 20_000)]) == 1000
