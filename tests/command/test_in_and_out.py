"""What docs/in_and_out.md brings in, as it stands there; what it takes out: test_export.py."""

import re
import shlex

import pytest

from ircotlib import read_dataset
from ircotlib.__main__ import main
from ircotlib.files.paths import ROOT

pytest.importorskip("datasets.arrow_dataset", reason="needs the extra hub: pip install -e '.[dev]'")
import datasets

PAGE = (ROOT / "docs" / "in_and_out.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ircotlib (import .*)$", PAGE, re.MULTILINE)


def test_what_the_page_brings_in_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", "http://127.0.0.1:9")
    table = datasets.Dataset.from_dict({"asked": ["Who founded it?"], "gold": [["Ann Lee"]]})
    table.to_parquet("table.parquet")
    table.rename_columns({"asked": "question", "gold": "answers"}).save_to_disk("my_copy")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "label.md").write_text("Ann Lee founded the Foreign Quarry label.")
    given = [*map(shlex.split, COMMANDS)]
    assert len(given) == 4
    for number, command in enumerate(given):
        command[2] = f"own{number}"
        assert main(command) == (number == 0)  # the hub cannot be reached
    assert "then give the folder" in capsys.readouterr().err
    files = ["own1/own/questions.jsonl", "own2/own/questions.jsonl", "own3/own/corpus.jsonl"]
    assert all((tmp_path / file).read_text().count("\n") == 1 for file in files)
    python = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    exec(python, {})
    [question], [page] = read_dataset("own", tmp_path / "IMPORTED")
    assert question.answers == ("Ann Lee",) and page.title == "label"
