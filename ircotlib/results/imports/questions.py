"""Which questions real outputs answer: those of a user's data, or with the golds beside them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import QuestionContext, find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.files.paths import ROOT
from ircotlib.metrics import as_compared
from ircotlib.results.imports.outputs import Output, Outputs


class UserData:
    """The questions of a data set in a user's folder, each with its context, to be found by id or
    text, and their paragraphs, by id or by a title that only one of them has.
    """

    def __init__(self, examples: Iterable[QuestionContext]):
        self.by_id, self.by_text, titled = {}, defaultdict(list), defaultdict(dict)
        self.pages = {}
        for question, context in examples:
            self.by_id[question.id] = question, context
            self.by_text[as_compared(question.text)].append((question, context))
            for page in context:
                self.pages[page.id] = page
                titled[page.title][page.id] = page
        self.by_title = {t: next(iter(ps.values())) for t, ps in titled.items() if len(ps) == 1}

    def find(self, id: str, text: str) -> QuestionContext | None:
        """The question with this id, else the only one with this text; None if there is none."""
        alike = self.by_text.get(as_compared(text), ()) if text else ()
        return self.by_id.get(id) or (alike[0] if len(alike) == 1 else None)

    def find_page(self, page: Paragraph) -> Paragraph:
        """The user's paragraph with the same title and text or, if no text is known, with the same
        title; else the page as it is.
        """
        if page.id in self.pages or page.text:
            return page
        return self.by_title.get(page.title, page)


def read_user_data(dataset: str, data_dir: str) -> UserData:
    """The user's questions of a data set; none if the folder has no file of it."""
    record = find_dataset(dataset)
    try:
        path = find_questions(record, ROOT / data_dir) if data_dir else None
    except FileNotFoundError:
        path = None
    return UserData(record.read(path) if path else ())


def match_questions(
    dataset: str, several: Sequence[Outputs], data: UserData
) -> tuple[dict[str, QuestionContext], list[str]]:
    """The questions of all outputs on a data set by their ids in the outputs, and what is odd about
    them, a line each. One that is not in the user's data has what the outputs say of it; without a
    gold answer there it is left out.
    """
    told = {}
    for output in (output for outputs in several for output in outputs.outputs):
        text, answers = told.get(output.id, ("", ()))
        told[output.id] = text or output.question, answers or output.answers
    asked, counts = {}, dict.fromkeys(("matched", "otherwise", "texts", "golds"), 0)
    for id, (text, answers) in told.items():
        if found := data.find(id, text):
            question, context = found
            asked[id] = replace(question, id=id), tuple(context)
            counts["matched"] += 1
            differ = answers and {*map(as_compared, answers)}.isdisjoint(
                map(as_compared, question.answers)
            )
            counts["otherwise"] += bool(differ)
        elif answers:
            counts["texts"] += not text
            kept = tuple(dict.fromkeys(filter(str.strip, answers)))
            asked[id] = Question(id, text.strip() or f"[{id}]", kept, (), dataset), ()
        else:
            counts["golds"] += 1
    return asked, list(_describe(dataset, len(told), counts, bool(data.by_id)))


def _describe(dataset: str, n: int, counts: Mapping[str, int], has_data: bool) -> Iterator[str]:
    if has_data and counts["matched"] < n:
        yield f"{dataset}: {counts['matched']} of {n} questions are in your data, by id or text"
    if counts["otherwise"]:
        yield f"{dataset}: {counts['otherwise']} gold answers differ from your data's, which count"
    if counts["texts"]:
        yield f"{dataset}: {counts['texts']} questions are known by id alone; data_dir names yours"
    if counts["golds"]:
        yield f"{dataset}: {counts['golds']} questions have no gold answer anywhere: left out"


def collect_pages(
    asked: Mapping[str, QuestionContext], several: Iterable[Outputs], data: UserData
) -> list[QuestionContext]:
    """The questions, each with its context and all paragraphs that were collected for it."""
    pages = {id: {page.id: page for page in context} for id, (_, context) in asked.items()}
    for output in (output for outputs in several for output in outputs.outputs):
        if output.id in pages:
            own = map(data.find_page, pages_of(output))
            pages[output.id] |= {page.id: page for page in own}
    return [(question, tuple(pages[id].values())) for id, (question, _) in asked.items()]


def pages_of(output: Output) -> tuple[Paragraph, ...]:
    """The paragraphs that an output names, in its steps or as a whole."""
    found = [page for step in output.trace if isinstance(step.reply, tuple) for page in step.reply]
    return (*found, *(output.paragraphs or ()))
