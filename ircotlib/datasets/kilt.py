"""KILT's official files (Petroni et al. 2021): tasks as JSON lines, and the pages for them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import FullCorpus, QuestionContext
from ircotlib.datasets.downloads import find_each
from ircotlib.datasets.fields import GET_ANOTHER, Record, String, Text, read_rows
from ircotlib.errors import DataError

SOURCE = "https://github.com/facebookresearch/KILT"
PAGES = "kilt_knowledgesource.json"  # 35 GB
WORDS = 100  # in a passage, as DPR splits Wikipedia (SearChain §4.1)


class _Output(Record):
    answer: String = ""


class _Asking(Record):
    id: Text
    input: Text
    output: list[_Output] = Field(min_length=1)


class _Page(Record):
    id: Text = Field(alias="_id")
    wikipedia_title: String
    text: list[String]


def read_kilt(
    path: Path, dataset: str, ask: Callable[[str], str] = str, kind: str = ""
) -> Iterator[QuestionContext]:
    """The questions of a task, in order, without contexts and gold: KILT's evidence is a place on a
    page. `ask` words an input as a question. Raises DataError, naming file, line and field.
    """
    for record, where in read_rows(path, _Asking):
        texts = (output.answer.strip() for output in record.output)
        answers = tuple(dict.fromkeys(filter(None, texts)))
        if not answers:
            none = "found no output with an answer"
            raise DataError(f"{where}, field 'output': {none}, expected one: is it a test set?")
        try:
            text = ask(record.input.strip())
        except ValueError as error:
            raise DataError(f"{where}, field 'input': {error}") from None
        yield Question(record.id, text, answers, (), dataset, kind), ()


def read_pages(path: Path) -> Iterator[Paragraph]:
    """The pages of KILT's knowledge source as passages of at most 100 words, without headings and
    bullet marks, read as a stream. Raises DataError if there is no page.

    Differs from KILT's own passages: those are whole sentences of at most 100 tokens.
    """
    page = None
    for page, _ in read_rows(path, _Page):
        lines = (line for line in page.text[1:] if not line.startswith("Section::::"))
        # DPR's passages (SearChain §4.1): 100 words each, whatever sentence they end in
        words = " ".join(line.removeprefix("BULLET::::") for line in lines).split()
        for number, first in enumerate(range(0, len(words), WORDS)):
            text = " ".join(words[first : first + WORDS])
            yield Paragraph(f"{page.id}-{number}", page.wikipedia_title, text)
    if page is None:
        raise DataError(f"{path}: found no pages, expected at least one: {GET_ANOTHER}")


def read_beside(path: Path) -> Iterator[Paragraph]:
    """The passages of the knowledge source in the folder of a task's questions, the one above, or
    the folder `kilt` of either. Raises FileNotFoundError if it is in none of them, DataError if a
    page is there twice.
    """
    near = (path.parent, path.parent.parent)
    folders = [folder / part for folder in near for part in (KNOWLEDGE_SOURCE.name, "")]
    [pages] = find_each(KNOWLEDGE_SOURCE, folders)
    return _each_once(pages)


def _each_once(pages: Path) -> Iterator[Paragraph]:
    begun = set()
    for passage in read_pages(pages):
        page, _, number = passage.id.rpartition("-")
        if number == "0":
            if page in begun:
                twice = f"found the page {page!r} twice, expected it once"
                raise DataError(f"{pages}: {twice}: {GET_ANOTHER}")
            begun.add(page)
        yield passage


KNOWLEDGE_SOURCE = FullCorpus(
    name="kilt",
    files=(PAGES,),
    source=f"{SOURCE} (http://dl.fbaipublicfiles.com/KILT/{PAGES})",
    count=None,
    read=read_pages,
    counted_in="nobody has counted passages cut in this way",
)
