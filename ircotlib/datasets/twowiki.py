"""2WikiMultihopQA's official files (Ho et al. 2020), https://github.com/Alab-NII/2wikimultihop"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets import Dataset, FullCorpus
from ircotlib.datasets.downloads import read_list
from ircotlib.datasets.fields import field, read_json_list
from ircotlib.datasets.hotpotqa import read_context, read_record
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

QUESTION_TYPES = ("compositional", "comparison", "inference", "bridge_comparison")
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
            record, f"{path}, record {number}", "2wikimultihopqa", QUESTION_TYPES, " "
        )
        others = aliases.get(record.get("answer_id"), set()) - set(question.answers)
        found.append(
            (dataclasses.replace(question, answers=(*question.answers, *sorted(others))), context)
        )
    return found


def read_contexts(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the contexts of 2WikiMultihopQA's questions; test questions, which lack
    answers, are welcome.
    """
    for record, where in read_list(path):
        yield from read_context(record, where, " ")


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


SOURCE = "https://github.com/Alab-NII/2wikimultihop"
DATASET = Dataset(
    name="2wikimultihopqa",
    title="2WikiMQA",
    files=("dev.json", "dev_657.json"),
    source=SOURCE,
    read=read_2wikimultihopqa,
    # its scorer is a copy of HotpotQA's
    scores={"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em},
    full=FullCorpus(
        name="2wikimultihopqa",
        files=("dev.json", "test.json", "train.json"),
        source=f"{SOURCE} (the paper's number is of data_ids.zip, of December 2020;"
        " data_ids_april7.zip cuts some sentences in other places)",
        count=430_225,
        read=read_contexts,
        once=True,
    ),
    order=2,
)
