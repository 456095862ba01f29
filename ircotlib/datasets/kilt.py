"""KILT's official files (Petroni et al. 2021): its tasks zsRE, T-REx, FEVER and ELI5 as JSON lines,
and the pages for them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext
from ircotlib.datasets.official import AGAIN, Record, String, Text, find_file, read_records
from ircotlib.datasets.pooled import digest
from ircotlib.datasets.wording import ask_claim, ask_relation
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, one_verdict, rouge_l

SOURCE = "https://github.com/facebookresearch/KILT"
PAGES = "kilt_knowledgesource.json"  # 35 GB
WORDS = 100  # in a passage, as DPR splits Wikipedia (SearChain §4.1)
VERDICTS = ("SUPPORTS", "REFUTES")


class _Output(Record):
    answer: String = ""


class _Asking(Record):
    id: Text
    input: Text
    output: list[_Output]


class _Claim(Record):
    id: int
    claim: Text
    label: Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


class _Explained(Record):
    question: Text
    answer: Text


class _Page(Record):
    id: Text = Field(alias="_id")
    wikipedia_title: String
    text: list[String]


def read_kilt(
    path: Path, dataset: str, ask: Callable[[str], str] = str
) -> Iterator[QuestionContext]:
    """The questions of a task, in order, without contexts and gold: KILT's evidence is a place on a
    page. `ask` words an input as a question.
    """
    for record, where in read_records(path, _Asking):
        texts = (output.answer.strip() for output in record.output)
        answers = tuple(dict.fromkeys(filter(None, texts)))
        if not answers:
            raise DataError(f"{where}: found no output with an answer: is it a test set?")
        try:
            text = ask(record.input.strip())
        except ValueError as error:
            raise DataError(f"{where}, field input: {error}: {AGAIN}") from None
        yield Question(record.id, text, answers, (), dataset), ()


def read_fever(path: Path) -> Iterator[QuestionContext]:
    """Claims that pages support or refute (Thorne et al. 2018), of KILT's or the original file, in
    order; others are left out, as in KILT.
    """
    if "kilt" in path.name:
        yield from read_kilt(path, "fever", ask_claim)
        return
    for record, _ in read_records(path, _Claim):
        if record.label in VERDICTS:
            text = ask_claim(record.claim)
            yield Question(str(record.id), text, (record.label,), (), "fever"), ()


def read_eli5(path: Path) -> Iterator[QuestionContext]:
    """Questions with their explanations (Fan et al. 2019), of KILT's file or one JSON list, in
    order. Those of a list get ids from a hash.
    """
    if path.suffix != ".json":
        yield from read_kilt(path, "eli5")
        return
    for record, _ in read_records(path, _Explained):
        id = f"eli5-{digest(record.question, 8)}"
        yield Question(id, record.question, (record.answer,), (), "eli5"), ()


def read_pages(path: Path) -> Iterator[Paragraph]:
    """The pages of KILT's knowledge source as passages of at most 100 words, without headings and
    bullet marks, read as a stream.

    Differs from KILT's own passages: those are whole sentences of at most 100 tokens.
    """
    for page, _ in read_records(path, _Page):
        lines = (line for line in page.text[1:] if not line.startswith("Section::::"))
        # DPR's passages (SearChain §4.1): 100 words each, whatever sentence they end in
        words = " ".join(line.removeprefix("BULLET::::") for line in lines).split()
        for number, first in enumerate(range(0, len(words), WORDS)):
            text = " ".join(words[first : first + WORDS])
            yield Paragraph(f"{page.id}-{number}", page.wikipedia_title, text)


def read_beside(path: Path) -> Iterator[Paragraph]:
    """The passages of the knowledge source in the folder of a task's questions, the one above, or
    the folder `kilt` of either.
    """
    near = (path.parent, path.parent.parent)
    folders = [folder / part for folder in near for part in ("kilt", "")]
    return read_pages(find_file("pages of KILT", [PAGES], folders, KNOWLEDGE_SOURCE.source))


KNOWLEDGE_SOURCE = FullCorpus(
    name="kilt",
    files=(PAGES,),
    source=f"{SOURCE} (http://dl.fbaipublicfiles.com/KILT/{PAGES})",
    count=None,  # nobody has counted passages cut in this way
    read=read_pages,
)
_task = partial(
    Dataset,
    source=SOURCE,
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
)
_slot_filling = partial(  # "subject [SEP] relation"
    _task, scores={"cover_em": cover_em, "em": exact_match}, example_family="slotfilling"
)
DATASETS = (
    _slot_filling(  # Levy et al. 2017
        name="zsre",
        title="zsRE",
        files=("structured_zeroshot-dev-kilt.jsonl",),
        read=partial(read_kilt, dataset="zsre", ask=ask_relation),
        order=6,
    ),
    _slot_filling(  # Elsahar et al. 2018
        name="trex",
        title="T-REx",
        files=("trex-dev-kilt.jsonl",),
        read=partial(read_kilt, dataset="trex", ask=ask_relation),
        order=7,
    ),
    _task(
        name="fever",
        title="FEVER",
        files=("fever-dev-kilt.jsonl", "dev_300.jsonl"),
        read=read_fever,
        scores={"cover_em": cover_em, "accuracy": partial(one_verdict, verdicts=VERDICTS)},
        example_family="fever",
        program_arguments={"max_actions": 5},  # ReAct §3.2
        order=8,
    ),
    _task(
        name="eli5",
        title="ELI5",
        files=("eli5-dev-kilt.jsonl", "alce_200.json"),
        read=read_eli5,
        scores={"rouge_l": rouge_l},
        example_family="eli5",
        # ours: answers are long, which SearChain compares by ROUGE (§3.3)
        program_arguments={
            "long_form": True,
            "max_tokens": 512,
            "tokens": 512,
            "answer_tokens": 512,
        },
        order=9,
    ),
)
