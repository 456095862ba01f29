"""2WikiMultihopQA's official files (Ho et al. 2020), https://github.com/Alab-NII/2wikimultihop"""

import dataclasses
from pathlib import Path

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets.fields import field, read_json_list
from ircotlib.datasets.hotpotqa import read_record

KINDS = ("compositional", "comparison", "inference", "bridge_comparison")
ALIASES = "id_aliases.json"  # JSON lines, in the same archive as the questions


def read_2wikimultihopqa(path: Path) -> list[tuple[Question, tuple[Paragraph, ...]]]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).

    Where the official id_aliases.json lies beside the file, its aliases and demonyms of the answer
    follow the answer, in alphabetical order; otherwise the answer stands alone. Raises ValueError
    naming file, record and field where the file is not in the official format.
    """
    aliases = _read_aliases(Path(path).with_name(ALIASES))
    found = []
    for number, record in enumerate(read_json_list(path), start=1):
        question, context = read_record(
            record, f"{path}, record {number}", "2wikimultihopqa", KINDS, " "
        )
        others = aliases.get(record.get("answer_id"), set()) - set(question.answers)
        found.append(
            (dataclasses.replace(question, answers=(*question.answers, *sorted(others))), context)
        )
    return found


def _read_aliases(path: Path) -> dict[str, set[str]]:
    """Other names by Wikidata id; none where the file is absent."""
    if not path.is_file():
        return {}
    aliases = {}
    for number, row in enumerate(read_jsonl(path), start=1):
        where = f"{path}, line {number}"
        aliases[field(row, "Q_id", str, where)] = {
            *field(row, "aliases", list, where),
            *field(row, "demonyms", list, where),
        }
    return aliases
