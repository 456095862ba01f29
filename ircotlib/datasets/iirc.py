"""IIRC's official files (Ferguson et al. 2020), https://allenai.org/data/iirc"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import ijson
from rapidfuzz import fuzz

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.fields import field, read_json_list, shown
from ircotlib.datasets.pooled import digest, make_paragraph

MIN_WORDS = 11  # a line of a page is a paragraph from here on (released program)
UNANSWERED = ("none", "bad")  # types of answers outside the answerable subset
MAIN = "main"  # what the contexts of a question call its main passage


def read_iirc(
    questions_path: Path, articles_path: Path
) -> tuple[list[Question], Iterator[Paragraph]]:
    """The answerable questions of a file (IRCoT §4), and the corpus of all paragraphs of all pages
    (App. A), read when asked for.

    Only the pages that questions refer to are held in memory. `answers`: several spans are one
    answer, written as a JSON list; a value is followed by the value with its unit. `kind`: the type
    of the answer. `gold`: for each context the paragraph of its page that contains it, else the one
    most like it; where the page has no paragraph, one that is in no corpus. The main passage is
    always there and therefore not gold (released program), unless nothing else is. Raises
    ValueError naming file, record and field where a file is not in the official format or a page is
    missing. Differs from the released program: it takes values without their units, and where only
    the main passage is gold, its recall is 0.
    """
    records = list(_questions(questions_path))
    wanted = {
        _page(context, where)
        for _, record, where in records
        for context in field(record, "context", list, where)
    } - {MAIN}
    pages = {title: paragraphs for title, paragraphs in _pages(articles_path) if title in wanted}
    if missing := sorted(wanted - pages.keys()):
        raise ValueError(
            f"{articles_path}: expected a page {missing[0]!r} ({len(missing)} are missing), which {questions_path} refers to"
        )
    return [
        _read_question(passage, record, where, pages) for passage, record, where in records
    ], read_articles(articles_path)


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages in context_articles.json: their lines of over 10 words, without
    HTML, titles in lower case (App. A).

    The file is read bit by bit. A line that a page repeats, and a page whose title was there
    before, count once. The paragraphs of a page come in the order of their ids, that is of a hash
    of their text, so that their place on the page does not show; the pages in that of the file.
    Raises ValueError where the file is damaged or not {title: HTML}, after the paragraphs before
    that place. Differs from the paper: it shuffles; of pages with one title that differ only in
    case it has both.
    """
    for _, paragraphs in _pages(path):
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id has 16 hexadecimal digits from title and text: among two million, two
    ids of 8 could be equal.
    """
    paragraph = make_paragraph(title, text)
    return replace(paragraph, id=paragraph.id + digest(f"{text}\n{title}", 8))


def page_lines(html: str) -> list[str]:
    """The text of a page by line, as the file breaks them: without tags, comments, scripts and
    styles, entities resolved (App. A).
    """
    parser = _Text(convert_charrefs=True)
    parser.feed(html.replace("<![", "&lt;!["))  # a marked section, which the parser would refuse
    parser.close()
    return "".join(parser.pieces).split("\n")


class _Text(HTMLParser):
    """Keeps the text of a page."""

    def reset(self) -> None:
        super().reset()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem not in ("script", "style"):
            self.pieces.append(data)


def _pages(path: Path) -> Iterator[tuple[str, list[Paragraph]]]:
    """The pages in the order of the file: title in lower case, paragraphs in the order of the page,
    each once.
    """
    seen = set()
    for name, html in _entries(path):
        title = name.strip().lower()
        if not isinstance(html, str):
            raise ValueError(f"{path}, page {name!r}: expected a text of HTML, found {shown(html)}")
        if title not in seen:
            seen.add(title)
            lines = (line.strip() for line in page_lines(html))
            yield (
                title,
                [
                    page_paragraph(title, line)
                    for line in dict.fromkeys(lines)
                    if len(line.split()) >= MIN_WORDS
                ],
            )
    if not seen:
        raise ValueError(
            f"{path}: expected one JSON object {{title: HTML}} (context_articles.json), found something else or no page"
        )


def _entries(path: Path) -> Iterator[tuple[str, object]]:
    """Names and values of a file that is one JSON object, read bit by bit."""
    with Path(path).open("rb") as file:
        try:
            yield from ijson.kvitems(file, "")
        except ijson.JSONError as error:
            reason = str(error).partition("\n")[0]
            found = f"this JSON cannot be read to its end ({reason})"
            raise ValueError(
                f"{path}: {found}: the file is cut off or damaged; get it again"
            ) from error


def _questions(path: Path) -> Iterator[tuple[Paragraph, dict, str]]:
    """Main passage, record and place of each answerable question."""
    for number, record in enumerate(read_json_list(path), start=1):
        where = f"{path}, record {number}"
        passage = page_paragraph(
            field(record, "title", str, where).strip(), field(record, "text", str, where).strip()
        )
        for place, question in enumerate(field(record, "questions", list, where), start=1):
            at = f"{where}, question {place}"
            field(question, "question", str, at)
            if (
                field(question.get("answer"), "type", str, f"{at}, field 'answer'")
                not in UNANSWERED
            ):
                yield passage, question, at


def _read_question(
    passage: Paragraph, record: dict, where: str, pages: Mapping[str, Sequence[Paragraph]]
) -> Question:
    text = record["question"].strip()
    id = (
        field(record, "qid", str, where)
        if record.get("qid") is not None
        else f"iirc-{digest(f'{passage.id} {text}', 16)}"
    )
    kind, answers = _answers(record["answer"], f"{where}, field 'answer'")
    gold = {}
    for context in record["context"]:
        page = _page(context, where)
        if page != MAIN:
            gold[
                _gold(
                    page, pages[page], field(context, "text", str, f"{where}, field 'context'")
                ).id
            ] = None
    return Question(id, text, answers, tuple(gold) or (passage.id,), "iirc", kind, passage)


def _page(context: object, where: str) -> str:
    return field(context, "passage", str, f"{where}, field 'context'").strip().lower()


def _gold(page: str, paragraphs: Sequence[Paragraph], snippet: str) -> Paragraph:
    """The first paragraph of a page that contains a snippet, but for white space, else the one most
    like it (released program).
    """
    words = " ".join(snippet.split())
    texts = [" ".join(paragraph.text.split()) for paragraph in paragraphs]
    if not texts:
        return page_paragraph(page, words)
    best = max(
        range(len(texts)),
        key=lambda place: (words in texts[place], fuzz.partial_ratio(texts[place], words), -place),
    )
    return paragraphs[best]


def _answers(answer: dict, where: str) -> tuple[str, tuple[str, ...]]:
    """The type of an answer, and its texts: one, and for a value with a unit another."""
    match kind := answer["type"]:
        case "span":
            texts = [
                field(span, "text", str, f"{where}, field 'answer_spans'")
                for span in field(answer, "answer_spans", list, where)
            ]
            spans = [text.strip() for text in texts if text.strip()]
            if not spans:
                raise ValueError(
                    f"{where}, field 'answer_spans': expected at least one span with a text, found {shown(texts)}"
                )
            return kind, (spans[0] if len(spans) == 1 else json.dumps(spans, ensure_ascii=False),)
        case "value" | "binary":
            value, unit = (
                field(answer, "answer_value", str, where).strip(),
                answer.get("answer_unit") or "",
            )
            return kind, (
                value,
                f"{value} {unit.strip()}",
            ) if kind == "value" and unit.strip() else (value,)
        case _:
            raise ValueError(
                f"{where}, field 'type': expected one of span, value, binary, none, found {kind!r}: is it IIRC's file?"
            )
