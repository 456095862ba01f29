"""2WikiMultihopQA's official files (Ho et al. 2020), https://github.com/Alab-NII/2wikimultihop"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ircotlib.data import GoldStep, Paragraph
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext
from ircotlib.datasets.hotpotqa import Asking, Contexts, read_asked, read_context
from ircotlib.datasets.official import Record, String, Text, read_records
from ircotlib.datasets.wording import SEPARATOR, ask_relation, state_relation
from ircotlib.metrics import cover_em, exact_match, hotpotqa_f1

ALIASES = "id_aliases.json"  # JSON lines, in the same archive as the questions


class _Asking(Asking):
    answer_id: String | None = None
    # a list of [subject, relation, object]
    evidences: list[tuple[String, String, String]] = []


class _Names(Record):
    Q_id: Text
    aliases: list[String]
    demonyms: list[String]


def read_2wikimultihopqa(path: Path) -> list[QuestionContext]:
    """The questions of a file, each with its context paragraphs, in order (IRCoT §4).

    If the official id_aliases.json is in the same folder, the answer is followed by its aliases and
    demonyms in alphabetical order.
    """
    names = Path(path).with_name(ALIASES)
    aliases = {}
    questions = []
    for row, _ in read_records(names, _Names) if names.is_file() else ():
        aliases[row.Q_id] = set(filter(str.strip, (*row.aliases, *row.demonyms)))
    for record, where in read_records(path, _Asking):
        question, context = read_asked(record, where, "2wikimultihopqa", " ")
        # its official scorer, too, takes the best of the answer and its aliases
        others = sorted(aliases.get(record.answer_id, set()) - {record.answer})
        answers = (record.answer, *others)
        steps = _read_steps(record, question.gold)
        questions.append((replace(question, answers=answers, steps=steps), context))
    return questions


def _read_steps(record: _Asking, gold: tuple[str, ...]) -> tuple[GoldStep, ...]:
    """The evidences, in words of ours; several objects of one relation are one answer. The n-th
    subject's paragraph is the n-th gold one, or, if there are not as many, the n-th evidence's.
    """
    objects = {}
    for subject, relation, value in record.evidences:
        objects.setdefault((subject.strip(), relation.strip()), []).append(value.strip())
    if not all(subject and relation and all(v) for (subject, relation), v in objects.items()):
        return ()
    titles = list(dict.fromkeys(title for title, _ in record.supporting_facts))
    subjects = list(dict.fromkeys(subject for subject, _ in objects))
    steps = []
    for number, ((subject, relation), values) in enumerate(objects.items()):
        answer = " and ".join(values)
        earlier = [n for n, step in enumerate(steps, start=1) if step.answer == subject]
        named = f"#{earlier[-1]}" if earlier else subject
        place = subjects.index(subject) if len(subjects) == len(gold) else number
        asked = ask_relation(f"{named}{SEPARATOR}{relation}")
        supporting = gold[place : place + 1], "".join(titles[place : place + 1])
        stated = state_relation(subject, relation, answer)
        steps.append(GoldStep(asked, answer, *supporting, subject, stated))
    return tuple(steps)


def read_contexts(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the questions' contexts; answers may be missing, as in the test set."""
    for record, _ in read_records(path, Contexts):
        yield from read_context(record, " ")


SOURCE = "https://github.com/Alab-NII/2wikimultihop"
DATASET = Dataset(
    name="2wikimultihopqa",
    title="2WikiMQA",
    files=("dev.json", "dev_657.json"),
    source=SOURCE,
    read=read_2wikimultihopqa,
    # its scorer is a copy of HotpotQA's
    scores={"f1": hotpotqa_f1, "em": exact_match, "cover_em": cover_em},
    full_corpus=FullCorpus(
        name="2wikimultihopqa",
        files=("dev.json", "test.json", "train.json"),
        source=f"{SOURCE} (the paper's number is of data_ids.zip, of December 2020;"
        " data_ids_april7.zip cuts some sentences in other places)",
        count=430_225,
        read=read_contexts,
        drop_repeats=True,
    ),
    order=2,
)
