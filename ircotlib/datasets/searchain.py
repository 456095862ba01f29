"""The data sets that SearChain adds to IRCoT's, in official files: StrategyQA (Geva et
al. 2021), and KILT's zsRE, T-REx, FEVER and ELI5, and its pages (Petroni et al. 2021).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import Field, RootModel

from ircotlib.data import Paragraph, Question, parse_json
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext
from ircotlib.datasets.official import (
    Record,
    String,
    Text,
    check,
    find_file,
    read_records,
)
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, one_verdict, rouge_l

PAGES = "kilt_knowledgesource.json"  # 35 GB
PARAGRAPHS = "strategyqa_train_paragraphs.json"
SEPARATOR = " [SEP] "  # of subject and relation, in zsRE's and T-REx's inputs
WORDS = 100  # in a passage, as DPR splits Wikipedia (SearChain §4.1)
# ours: answers are long, which SearChain compares by ROUGE (§3.3)
LONG = {"long_form": True, "max_tokens": 512, "tokens": 512, "answer_tokens": 512}


def ask_relation(text: str) -> str:
    """The question for a subject and a relation of zsRE or T-REx (ours).

    >>> ask_relation("Emma [SEP] author")
    'What is the author of Emma?'
    """
    subject, _, relation = text.partition(SEPARATOR)
    return f"What is the {relation.strip()} of {subject.strip()}?"


def ask_claim(claim: str) -> str:
    """A claim as a question (SearChain, Appendix: its prompt for FEVER)."""
    return f"Is it true that {claim.strip().rstrip('.')} (SUPPORTS or REFUTES)?"


def ask_yes_or_no(question: str) -> str:
    """A question of StrategyQA in SearChain's words (Appendix: its prompt for it)."""
    return f"{question.strip()} (Yes or No)"


class _Output(Record):
    answer: String = ""


class _Asking(Record):
    id: Text
    input: Text
    output: list[_Output]


class _Page(Record):
    id: Text = Field(alias="_id")
    wikipedia_title: String
    text: list[String]


class _YesOrNo(Record):
    qid: Text
    question: Text
    answer: bool
    evidence: list[object]


class _Paragraph(Record):
    title: Text
    para_index: int
    content: String = ""


_Paragraphs = RootModel[dict[str, _Paragraph]]  # by their ids


def read_kilt(
    path: Path, dataset: str, ask: Callable[[str], str] = str
) -> Iterator[QuestionContext]:
    """A task's questions without gold: KILT's evidence is a place on a page."""
    for record, where in read_records(path, _Asking):
        texts = (output.answer.strip() for output in record.output)
        answers = tuple(dict.fromkeys(filter(None, texts)))
        if not answers:
            raise DataError(f"{where}: found no answer in output: is it a test set?")
        text = ask(record.input.strip())
        yield Question(record.id, text, answers, (), dataset), ()


def read_pages(path: Path) -> Iterator[Paragraph]:
    """The pages of KILT's knowledge source as passages, without headings and bullets.
    Differs from KILT's own passages, whole sentences of at most 100 tokens.
    """
    for page, _ in read_records(path, _Page):
        lines = (line for line in page.text[1:] if not line.startswith("Section::::"))
        # DPR's passages (SearChain §4.1): 100 words each, whatever sentence they end in
        words = " ".join(line.removeprefix("BULLET::::") for line in lines).split()
        for number, first in enumerate(range(0, len(words), WORDS)):
            text = " ".join(words[first : first + WORDS])
            yield Paragraph(f"{page.id}-{number}", page.wikipedia_title, text)


def read_beside(path: Path) -> Iterator[Paragraph]:
    """The passages of the knowledge source near a task's questions."""
    near = (path.parent, path.parent.parent)
    folders = [folder / part for folder in near for part in ("kilt", "")]
    return read_pages(find_file("pages of KILT", [PAGES], folders))


def read_strategyqa(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file; gold are the paragraphs of the first annotator."""
    for record, _ in read_records(path, _YesOrNo):
        question = Question(
            id=record.qid,
            text=ask_yes_or_no(record.question),
            answers=("Yes" if record.answer else "No",),
            gold=tuple(dict.fromkeys(_named(record.evidence[:1]))),
            dataset="strategyqa",
        )
        yield question, ()


def read_without_gold(path: Path, _: object) -> Iterator[QuestionContext]:
    """As `read_strategyqa`, for KILT's pages, which do not have the ids of its gold."""
    for question, context in read_strategyqa(path):
        yield replace(question, gold=()), context


def _named(evidence: object) -> Iterator[str]:
    """The ids in nested lists, without the marks of a step that has no evidence."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from _named(part)
    elif evidence not in ("operation", "no_evidence"):
        yield str(evidence)


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that annotators named, from the file beside the questions."""
    title = "paragraphs of StrategyQA"
    file = find_file(title, [PARAGRAPHS], [path.parent])
    content = parse_json(file.read_bytes(), str(file))
    lacking = {id for question, _ in read_strategyqa(path) for id in question.gold}
    for record in check(content, _Paragraphs, str(file)).root.values():
        id = f"{record.title}-{record.para_index}"
        lacking.discard(id)
        yield Paragraph(id, record.title, record.content.strip())
    if lacking:
        raise DataError(f"{file}: found no {min(lacking)!r}, evidence of {path}")


# nobody has counted passages cut in this way
KNOWLEDGE_SOURCE = FullCorpus("kilt", (PAGES,), count=None, read=read_pages)
_kilt_task = partial(
    Dataset,
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
)


def _slot_filling(name: str, title: str, file: str, order: int) -> Dataset:
    return _kilt_task(
        name=name,
        title=title,
        files=(file,),
        read=partial(read_kilt, dataset=name, ask=ask_relation),
        scores={"cover_em": cover_em, "em": exact_match},
        example_family="slotfilling",
        order=order,
    )


_yes_or_no = partial(one_verdict, verdicts=("Yes", "No"))
_supports_or_refutes = partial(one_verdict, verdicts=("SUPPORTS", "REFUTES"))
DATASETS = [
    Dataset(
        name="strategyqa",
        title="StrategyQA",
        files=("strategyqa_train.json",),
        read=read_strategyqa,
        scores={"cover_em": cover_em, "accuracy": _yes_or_no},
        full_corpus=KNOWLEDGE_SOURCE,
        read_with_corpus=read_without_gold,
        read_paragraphs=read_paragraphs,
        example_family="strategyqa",
        order=5,
    ),
    # Levy et al. 2017, Elsahar et al. 2018
    _slot_filling("zsre", "zsRE", "structured_zeroshot-dev-kilt.jsonl", order=6),
    _slot_filling("trex", "T-REx", "trex-dev-kilt.jsonl", order=7),
    _kilt_task(
        name="fever",
        title="FEVER",
        files=("fever-dev-kilt.jsonl",),
        read=partial(read_kilt, dataset="fever", ask=ask_claim),
        scores={"cover_em": cover_em, "accuracy": _supports_or_refutes},
        example_family="fever",
        program_arguments={"max_actions": 5},  # ReAct §3.2
        order=8,
    ),
    _kilt_task(
        name="eli5",
        title="ELI5",
        files=("eli5-dev-kilt.jsonl",),
        read=partial(read_kilt, dataset="eli5"),
        scores={"rouge_l": rouge_l},
        example_family="eli5",
        program_arguments=LONG,
        order=9,
    ),
]
