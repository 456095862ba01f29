"""What a file of real outputs says: FlashRAG's, and plain JSON lines; `official` reads the folders
of IRCoT's program.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from ircotlib.data import Paragraph, parse_json
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import DataError
from ircotlib.program import Generate, Retrieve, Step

FLASHRAG = "intermediate_data.json"
NOT_STATED = "not stated"
_TITLED = re.compile(r'"?(.*?)"?\n(.*)', re.DOTALL)  # FlashRAG's contents: a title, then the text


@dataclass(frozen=True)
class Output:
    """What is said of one question. `prediction`: the answer. `answers`: the gold ones, () if the
    file has none. `paragraphs`: collected, in order, those of which only the title is known without
    text; None: the file does not say. `trace`: () if it does not say. `steps`: how many sentences
    were written, None if it does not say. `score`: the file's own.
    """

    id: str
    prediction: str
    question: str = ""
    answers: tuple[str, ...] = ()
    paragraphs: tuple[Paragraph, ...] | None = None
    thoughts: tuple[str, ...] = ()
    reading: str = ""
    trace: tuple[Step, ...] = ()
    steps: int | None = None
    score: float | None = None


@dataclass(frozen=True)
class Outputs:
    """The outputs of one system with one setting on some questions of a data set. `source`: the
    folder or file. `split`: the name of these questions, "" without one. `shown`: the data set
    whose demonstrations were shown, "" for its own. `committed`: em and f1 that the source itself
    states, from 0 to 1. `notes`: what is odd about it, a line each.
    """

    source: Path
    system: str
    dataset: str
    outputs: Sequence[Output]
    model: str = NOT_STATED
    split: str = ""
    shown: str = ""
    reader: str = "cot"
    setting: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


class _Page(Record):
    title: String = ""
    text: String = ""


class _Line(Record):
    id: str | int
    prediction: String
    question: String = ""
    answers: list[Text] = []
    paragraphs: list[String | _Page] | None = None
    chain: list[String] | String = []
    score: float | int | bool | None = None


def read_json_lines(path: Path) -> Iterator[Output]:
    """The outputs in a file of JSON lines: `id`, `prediction` and, if known, `question`, `answers`
    (gold), `paragraphs` (titles, or records with title and text), `chain` (a list of sentences, or
    a text) and `score`.
    """
    for row, _ in read_records(path, _Line):
        chain = [row.chain] if isinstance(row.chain, str) else row.chain
        pages = None
        if row.paragraphs is not None:
            pairs = [(p, "") if isinstance(p, str) else (p.title, p.text) for p in row.paragraphs]
            pages = tuple(make_paragraph(*pair) for pair in pairs)
        told = {"question": row.question, "answers": tuple(row.answers), "paragraphs": pages}
        told |= {"thoughts": tuple(filter(None, chain)), "steps": len(chain) or None}
        trace = tuple(Step(Generate(""), text, True) for text in chain if text)
        score = None if row.score is None else float(row.score)
        yield Output(str(row.id), row.prediction, trace=trace, score=score, **told)


class _Document(Record):
    id: str | int = ""
    contents: String = ""


class _FlashRag(Record):
    id: str | int
    question: Text
    golden_answers: list[String] = Field(min_length=1)
    output: dict


def read_flashrag(path: Path) -> Iterator[Output]:
    """The outputs in FlashRAG's intermediate_data.json: of each round, if the method has some, what
    was retrieved and written (`retrieval_result_iter_0`, `pred_iter_0`), else `retrieval_result`.
    """
    rows = parse_json(path.read_bytes(), str(path), "one JSON list")
    for number, value in enumerate(rows if isinstance(rows, list) else [rows], start=1):
        where = f"{path}, record {number}"
        row = check(value, _FlashRag, where)
        said = row.output
        if not isinstance(said.get("pred"), str):
            found = f"found only {', '.join(said) or 'nothing'}"
            raise DataError(f"{where}, field 'output': {found}, expected pred: a finished run's")
        rounds = [key for key in said if key.startswith("retrieval_result_iter_")]
        rounds.sort(key=lambda key: int(key.rpartition("_")[2]))
        trace, thoughts, collected = [], [], {}
        for key in rounds or [key for key in said if key == "retrieval_result"]:
            pages = tuple(_read_document(doc, where) for doc in said[key])
            collected |= {page.id: page for page in pages}
            # in its iterative methods, the question and what was written before it
            query = " ".join([row.question, *thoughts[-1:]])
            trace.append(Step(Retrieve(query, len(pages)), pages, True))
            text = said.get(key.replace("retrieval_result", "pred"))
            if text and key in rounds:
                thoughts.append(str(text))
                trace.append(Step(Generate(""), str(text), True))
        told = {"answers": tuple(filter(str.strip, row.golden_answers)), "trace": tuple(trace)}
        told |= {"paragraphs": tuple(collected.values()) if trace else None}
        told |= {"thoughts": tuple(thoughts), "steps": len(thoughts) or None}
        yield Output(str(row.id), said["pred"], row.question, **told)


def _read_document(value: object, where: str) -> Paragraph:
    contents = check(value, _Document, f"{where}, a retrieved document").contents
    titled = _TITLED.fullmatch(contents)
    return make_paragraph(*(titled.groups() if titled else ("", contents)))
