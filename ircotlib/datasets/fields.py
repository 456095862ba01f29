"""Reading the fields of official data files, with errors that say what was found and what was
expected.
"""

import json
from pathlib import Path

KIND_NAMES = {str: "a text", list: "a list", bool: "true or false", int: "a whole number"}


def read_json_list(path: Path) -> list:
    """The records of a file that is one JSON list; raise ValueError naming the file if it is cut
    off, damaged or something else.
    """
    content = Path(path).read_bytes()
    try:
        records = json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        beginning = content[:60].decode("utf-8", "replace")
        raise ValueError(
            f"{path}: expected one JSON list of questions, found {len(content)} bytes that start"
            f" with {beginning!r} and cannot be read ({error}): the file is cut off or damaged (get"
            " it again), or JSON lines"
        ) from error
    if not isinstance(records, list):
        raise ValueError(f"{path}: expected one JSON list of questions, found {excerpt(records)}")
    return records


def field(record: object, name: str, kind: type, where: str):
    """The value of a field of a record; raise ValueError naming `where`, the field, and what was
    found, unless it is a `kind`.
    """
    if not isinstance(record, dict):
        raise ValueError(
            f"{where}: expected a JSON object with a field {name!r}, found {excerpt(record)}"
        )
    if name not in record:
        present = ", ".join(record)
        raise ValueError(
            f"{where}, field {name!r}: expected {KIND_NAMES[kind]}, found only {present}: is it"
            " another data set's file?"
        )
    if not isinstance(record[name], kind):
        raise ValueError(
            f"{where}, field {name!r}: expected {KIND_NAMES[kind]}, found {excerpt(record[name])}"
        )
    return record[name]


def excerpt(value: object) -> str:
    """The beginning of a value, for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
