"""MuSiQue's official files (Trivedi et al. 2022)."""

from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, make_paragraph
from ircotlib.datasets.official import Record, String, Text, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, squad_f1

# of the corpus, as the authors' program pools them: the paper's count is that of all
# six
PARTS = [
    f"{of}_v1.0_{split}" for of in ("ans", "full") for split in ("dev", "test", "train")
]
RELATION = " >> "  # in some sub-questions: "Ada Moss >> father"


class _Entry(Record):
    title: String
    paragraph_text: String
    idx: int | None = None
    is_supporting: bool = False

    @property
    def paragraph(self) -> Paragraph:
        return make_paragraph(self.title, self.paragraph_text.strip())


class _Step(Record):
    paragraph_support_idx: int | None = None
    question: String = ""
    answer: String = ""


class _Contexts(Record):
    paragraphs: list[_Entry]


class _Asking(_Contexts):
    answerable: bool
    id: Text
    question: Text
    answer: Text
    answer_aliases: list[String]
    question_decomposition: list[_Step] = []


def read_musique(path: Path) -> list[QuestionContext]:
    """The answerable questions of a file, each with its context paragraphs, in order
    (IRCoT §4).
    """
    examples = []
    for record, where in read_records(path, _Asking):
        # IRCoT §4; the "full" variant has as many without an answer
        if record.answerable:
            context = tuple(entry.paragraph for entry in record.paragraphs)
            supporting = [entry for entry in record.paragraphs if entry.is_supporting]
            named = {
                step.paragraph_support_idx for step in record.question_decomposition
            } - {None}
            if not supporting or named - {entry.idx for entry in supporting}:
                raise DataError(
                    f"{where}: lacks supporting paragraphs, or those of some steps"
                )
            gold = tuple(dict.fromkeys(entry.paragraph.id for entry in supporting))
            aliases = filter(str.strip, record.answer_aliases)
            answers = tuple(dict.fromkeys([record.answer, *aliases]))
            kind = record.id.split("__")[0]  # its shape: "3hop1__123_456_789"
            asked = record.id, record.question, answers, gold, "musique", kind
            examples.append((Question(*asked, steps=_read_steps(record)), context))
    return examples


def _read_steps(record: _Asking) -> tuple[GoldStep, ...]:
    """The steps of a question's decomposition; () if one has no question or no answer.
    A step is about the subject of its relation, or the title of its paragraph, if that
    is in its question.
    """
    if not all(
        s.question.strip() and s.answer.strip() for s in record.question_decomposition
    ):
        return ()
    entries = {entry.idx: entry for entry in record.paragraphs if entry.is_supporting}
    steps = []
    for step in record.question_decomposition:
        entry = entries.get(step.paragraph_support_idx)
        gold, title = ((entry.paragraph.id,), entry.title) if entry else ((), "")
        subject, relation, _ = step.question.partition(RELATION)
        if not relation:
            subject = title if title.casefold() in step.question.casefold() else ""
        steps.append(GoldStep(step.question, step.answer, gold, title, subject))
    return tuple(steps)


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of all questions, answerable or not; the test set's have no
    answers.
    """
    for record, _ in read_records(path, _Contexts):
        yield from (entry.paragraph for entry in record.paragraphs)


SOURCE = "https://github.com/StonyBrookNLP/musique (musique_v1.0.zip)"
DATASET = Dataset(
    name="musique",
    title="MuSiQue",
    files=("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
    source=SOURCE,
    read=read_musique,
    scores={"f1": squad_f1, "em": exact_match, "cover_em": cover_em},
    full_corpus=FullCorpus(
        name="musique",
        files=tuple(f"musique_{part}.jsonl" for part in PARTS),
        source=SOURCE,
        count=139_416,
        read=read_paragraphs,
        drop_repeats=True,
    ),
    order=3,
)
