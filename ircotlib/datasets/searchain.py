"""The data sets that SearChain adds to IRCoT's, in official files: StrategyQA (Geva et
al. 2021), and KILT's tasks zsRE, T-REx, FEVER and ELI5, with the pages for them
(Petroni et al. 2021).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ircotlib.data import GoldStep, Paragraph, Question, read_lines
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, digest, official
from ircotlib.datasets.official import Record, String, Text, find_file, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, one_verdict, rouge_l

KILT = "https://github.com/facebookresearch/KILT"
STRATEGYQA = "https://allenai.org/data/strategyqa (in strategyqa_dataset.zip)"
PAGES = "kilt_knowledgesource.json"  # 35 GB
PARAGRAPHS = ("strategyqa_train_paragraphs.json", "dev_paragraphs.jsonl")
# between the subject and the relation of zsRE's and T-REx's inputs
SEPARATOR = " [SEP] "
WORDS = 100  # in a passage, as DPR splits Wikipedia (SearChain §4.1)
VERDICTS = ("SUPPORTS", "REFUTES")


def ask_relation(text: str) -> str:
    """The question for "subject [SEP] relation" (ours)."""
    subject, _, relation = text.partition(SEPARATOR)
    return f"What is the {relation.strip()} of {subject.strip()}?"


def ask_claim(claim: str) -> str:
    """A claim as a question (SearChain, Appendix: its prompt for FEVER)."""
    return f"Is it true that {claim.strip().rstrip('.')} (SUPPORTS or REFUTES)?"


def ask_yes_or_no(question: str) -> str:
    """A question of StrategyQA as SearChain words it (Appendix: its prompt for
    StrategyQA).
    """
    return f"{question.strip()} (Yes or No)"


class _Output(Record):
    answer: String = ""


class _Asking(Record):
    id: Text
    input: Text
    output: list[_Output]


class _Slot(_Asking):
    input: Annotated[str, Field(pattern=r"(?s)\S \[SEP\] .*\S")]


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


class _YesOrNo(Record):
    qid: Text
    question: Text
    answer: bool
    evidence: list[object]
    facts: list[Text] = []  # not of test questions


class _Paragraph(Record):
    title: Text
    para_index: int
    content: String = ""
    contents: String = ""  # as the sample calls it


def read_kilt(
    path: Path,
    dataset: str,
    ask: Callable[[str], str] = str,
    kind: type[_Asking] = _Asking,
) -> Iterator[QuestionContext]:
    """A task's questions without gold: KILT's evidence is a place on a page."""
    for record, where in read_records(path, kind):
        texts = (output.answer.strip() for output in record.output)
        if not (answers := tuple(dict.fromkeys(filter(None, texts)))):
            raise DataError(
                f"{where}: found no output with an answer: is it a test set?"
            )
        yield Question(record.id, ask(record.input.strip()), answers, (), dataset), ()


read_slots = partial(read_kilt, ask=ask_relation, kind=_Slot)


def read_fever(path: Path) -> Iterator[QuestionContext]:
    """The claims of KILT's or the original file, but those that cannot be decided, as
    in KILT.
    """
    if "kilt" in path.name:
        yield from read_kilt(path, "fever", ask_claim)
        return
    for record, _ in read_records(path, _Claim):
        asked = str(record.id), ask_claim(record.claim), (record.label,), (), "fever"
        if record.label in VERDICTS:
            yield Question(*asked), ()


def read_eli5(path: Path) -> Iterator[QuestionContext]:
    """Questions with their explanations, of KILT's file or one JSON list without ids."""
    if path.suffix != ".json":
        yield from read_kilt(path, "eli5")
        return
    for record, _ in read_records(path, _Explained):
        id = f"eli5-{digest(record.question, 8)}"
        yield Question(id, record.question, (record.answer,), (), "eli5"), ()


def read_pages(path: Path) -> Iterator[Paragraph]:
    """The pages of KILT's knowledge source as passages, without headings and bullet
    marks. Differs from KILT's own passages: those are whole sentences of at most 100
    tokens.
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
    return read_pages(find_file("pages of KILT", [PAGES], folders, KILT))


def read_strategyqa(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file, in order; gold are the paragraphs that the first
    annotator named. Steps are the facts: the file's sub-questions have no answers.
    """
    for record, _ in read_records(path, _YesOrNo):
        answers = ("Yes" if record.answer else "No",)
        gold = tuple(dict.fromkeys(_named(record.evidence[:1])))
        asked = record.qid, ask_yes_or_no(record.question), answers, gold, "strategyqa"
        steps = tuple(GoldStep("", "", sentence=fact) for fact in record.facts)
        yield Question(*asked, steps=steps), ()


def _named(evidence: object) -> Iterator[str]:
    """The ids in nested lists."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from _named(part)
    # marks of a step without evidence
    elif evidence not in ("operation", "no_evidence"):
        yield str(evidence)


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that StrategyQA's annotators named, from the file beside the
    questions.
    """
    file = find_file("paragraphs of StrategyQA", PARAGRAPHS, [path.parent], STRATEGYQA)
    by_id = ((row, f"{file}, {id}") for id, row in official.stream(file, by_key=True))
    lacking = {
        id: None for question, _ in read_strategyqa(path) for id in question.gold
    }
    for row, where in read_lines(file) if file.suffix == ".jsonl" else by_id:
        record = official.check(row, _Paragraph, where)
        id = f"{record.title}-{record.para_index}"
        lacking.pop(id, None)
        yield Paragraph(id, record.title, (record.content or record.contents).strip())
    if lacking:
        raise DataError(
            f"{file}: found no {min(lacking)!r}, expected all evidence of {path}"
        )


# nobody has counted passages cut in this way
KNOWLEDGE_SOURCE = FullCorpus(
    "kilt", (PAGES,), source=KILT, count=None, read=read_pages
)
_task = partial(
    Dataset,
    source=KILT,
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
)
_scores = {"cover_em": cover_em, "em": exact_match}  # of "subject [SEP] relation"
_slot_filling = partial(_task, scores=_scores, example_family="slotfilling")
DATASETS = (
    Dataset(
        name="strategyqa",
        title="StrategyQA",
        files=("strategyqa_train.json", "dev_229.json"),
        source=STRATEGYQA,
        read=read_strategyqa,
        scores={
            "cover_em": cover_em,
            "accuracy": partial(one_verdict, verdicts=("Yes", "No")),
        },
        full_corpus=KNOWLEDGE_SOURCE,
        # KILT's pages do not have the ids of gold paragraphs
        read_with_corpus=lambda path, _: (
            (replace(q, gold=()), c) for q, c in read_strategyqa(path)
        ),
        read_paragraphs=read_paragraphs,
        example_family="strategyqa",
        order=5,
    ),
    _slot_filling(  # Levy et al. 2017
        name="zsre",
        title="zsRE",
        files=("structured_zeroshot-dev-kilt.jsonl",),
        read=partial(read_slots, dataset="zsre"),
        order=6,
    ),
    _slot_filling(  # Elsahar et al. 2018
        name="trex",
        title="T-REx",
        files=("trex-dev-kilt.jsonl",),
        read=partial(read_slots, dataset="trex"),
        order=7,
    ),
    _task(
        name="fever",
        title="FEVER",
        files=("fever-dev-kilt.jsonl", "dev_300.jsonl"),
        read=read_fever,
        scores={
            "cover_em": cover_em,
            "accuracy": partial(one_verdict, verdicts=VERDICTS),
        },
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
        program_arguments={"long_form": True}
        | dict.fromkeys(("max_tokens", "tokens", "answer_tokens"), 512),
        order=9,
    ),
)
