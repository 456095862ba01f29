"""Writes records into files."""

import json
from pathlib import Path

from ircotlib.data import write_jsonl


def write_records(path: Path, records: list[dict]) -> None:
    """Write records as JSON or, if the name ends so, as JSON lines."""
    (write_jsonl if path.suffix == ".jsonl" else write_json)(path, records)


def write_json(path: Path, content: dict | list) -> None:
    """Write JSON with one record per line, so that the file is easy to read and to compare."""
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    rows = content.items() if isinstance(content, dict) else ((None, record) for record in content)
    lines = (
        f"{json.dumps(key)}: " * (key is not None) + json.dumps(value, ensure_ascii=False)
        for key, value in rows
    )
    path.write_text(f"{opening}\n" + ",\n".join(lines) + f"\n{closing}\n", encoding="utf-8")
