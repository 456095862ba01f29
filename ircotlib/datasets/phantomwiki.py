"""PhantomWiki, generated worlds of persons (Gong et al. 2025), as the package phantom-wiki writes
them: https://github.com/kilian-group/phantom-wiki
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import Field

from ircotlib.data import Paragraph, Question, excerpt
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.downloads import find_file
from ircotlib.datasets.fields import GET_ANOTHER, Record, Text, read_list
from ircotlib.datasets.pooled import digest
from ircotlib.errors import DataError
from ircotlib.metrics import set_exact_match, set_f1

ARTICLES = "articles.json"  # in the folder of the questions
SOURCE = "https://github.com/kilian-group/phantom-wiki"
FACT = re.compile(r'(\w+)\("(.*)", "(.*)"\)\.')
GOAL = re.compile(r'(\w+)\((".*?"|\w+), (".*?"|\w+)\)')
COUNTING = "aggregate_all(count, distinct("
# how articles lead from a person to a relative: step by step, by one of the relations of each step
RELATIVES = """
parent: mother|father  child: son|daughter  sibling: sister|brother  spouse: wife|husband
aunt: parent sister  uncle: parent brother  niece: sibling daughter  nephew: sibling son
grandparent: parent parent  grandmother: parent mother  grandfather: parent father
grandchild: child child  granddaughter: child daughter  grandson: child son
great_grandparent: parent grandparent  great_grandmother: grandparent mother
great_grandfather: grandparent father  great_grandchild: child grandchild
great_granddaughter: grandchild daughter  great_grandson: grandchild son
great_aunt: grandparent sister  great_uncle: grandparent brother
second_aunt: great_grandparent sister  second_uncle: great_grandparent brother
cousin: parent sibling child  female_cousin: parent niece  male_cousin: parent nephew
female_second_cousin: parent cousin daughter  male_second_cousin: parent cousin son
female_first_cousin_once_removed: cousin daughter  male_first_cousin_once_removed: cousin son
mother_in_law: spouse mother  father_in_law: spouse father
sister_in_law: spouse sister  brother_in_law: spouse brother
daughter_in_law: child wife  son_in_law: child husband
"""
STEPS = dict(re.findall(r"(\w+): (\S+(?: \w+)*)(?=  |\n)", RELATIVES))
Facts = Mapping[str, Mapping[str, list[str]]]  # of each person, by relation or attribute


class _Query(Record):
    query: list[Text] = Field(min_length=1)


class _Asking(Record):
    question: Text
    answer: list[Text] = Field(min_length=1)
    difficulty: int
    prolog: _Query


class _Article(Record):
    title: Text
    article: Text
    facts: list[Text]


def read_phantomwiki(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file, without contexts: the articles are beside it, in articles.json.

    `answers`: one, the whole set of right names, dates, jobs or numbers; of several, a JSON list.
    `kind`: the difficulty, the number of steps from article to article (a relation whose members
    are counted is one step in it, whatever it takes). `gold`: the articles that
    are read to find and check all answers, those at dead ends too, by following the question's
    Prolog query through the articles' facts. `id`: from the text, because the package draws new
    ids each time that it writes the same world; a repeated question counts once. Raises DataError,
    naming file, record and field, also where the articles lead to another answer than the file has,
    and FileNotFoundError without the articles.
    """
    facts: dict[str, dict[str, list[str]]] = {}
    for record, where in _read_articles(path):
        of_person = facts.setdefault(record.title, {})
        for fact in record.facts:
            if (parts := FACT.fullmatch(fact)) is None:
                wrong = f"""expected a fact such as son("Ann", "Ben")., found {excerpt(fact)}"""
                raise DataError(f"{where}, field 'facts': {wrong}: {GET_ANOTHER}")
            of_person.setdefault(parts[1], []).append(parts[3])
    seen = set()
    for record, where in read_list(path, _Asking):
        id = f"phantomwiki-{digest(record.question, 16)}"
        try:
            answers, gold = follow_query(record.prolog.query, facts)
        except ValueError as error:
            raise DataError(f"{where}, field 'prolog': {error}: {GET_ANOTHER}") from None
        if answers != set(record.answer):
            wrong = f"expected {excerpt(sorted(answers))}, to which the facts of {ARTICLES} lead"
            wrong = f"{wrong}, found {excerpt(record.answer)}: are both files of one world?"
            raise DataError(f"{where}, field 'answer': {wrong}")
        names = list(dict.fromkeys(record.answer))
        answer = names[0] if len(names) == 1 else json.dumps(names, ensure_ascii=False)
        kind = f"difficulty {record.difficulty}"
        if id not in seen:
            yield Question(id, record.question, (answer,), gold, "phantomwiki", kind), ()
        seen.add(id)


def follow_query(query: Iterable[str], facts: Facts) -> tuple[set[str], tuple[str, ...]]:
    """The answers to a Prolog query, whose last goal comes first, and the persons whose articles
    are read for them, in order. Raises ValueError for what is not a chain of known relations.
    """
    values: dict[str, list[str]] = {}  # of the variables
    read: dict[str, None] = {}
    for goal in reversed(list(query)):
        parts = GOAL.search(goal)
        if parts is None:
            raise ValueError(f"""found {excerpt(goal)}, expected a goal such as son("Ann", Y_2)""")
        relation, subject, value = parts.groups()
        if subject.startswith('"'):
            values[subject] = [subject[1:-1]]
        if subject in values:
            ends = {person: _follow(person, relation, facts, read) for person in values[subject]}
            values[value] = list(dict.fromkeys(end for each in ends.values() for end in each))
            if goal.startswith(COUNTING):
                return {str(len(each)) for each in ends.values()}, tuple(read)
        else:  # the person whose job is …
            value = value.strip('"')
            values[subject] = [name for name in facts if value in facts[name].get(relation, ())]
            read |= dict.fromkeys(values[subject])
            value = subject
    return set(values[value]), tuple(read)


def _follow(person: str, relation: str, facts: Facts, read: dict[str, None]) -> list[str]:
    """The relatives or the attribute of a person. Adds to `read` whose articles say so."""
    ends = {person: None}
    for step in _steps(relation):
        if unknown := [name for name in ends if name not in facts]:
            raise ValueError(f"found the person {unknown[0]!r}, expected an article of that title")
        read |= ends
        ends = {end: None for name in ends for each in step for end in facts[name].get(each, ())}
    return [end for end in ends if end != person]


def _steps(relation: str) -> list[list[str]]:
    """The steps to a relative, each with the relations in articles that make it."""
    if relation not in STEPS:
        return [[relation]]
    parts = STEPS[relation].split()
    if "|" in parts[0]:
        return [parts[0].split("|")]
    return [step for part in parts for step in _steps(part)]


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The articles beside a file of questions, one paragraph each: they have 46 to 112 words in a
    world of 503 persons, as many as a paragraph of Wikipedia. Headings, which repeat the title or
    say "Family", are left out, and lines joined by spaces. `id`: the person's name.
    """
    for record, _ in _read_articles(path):
        lines = (line.strip() for line in record.article.splitlines() if not line.startswith("#"))
        yield Paragraph(record.title, record.title, " ".join(filter(None, lines)))


def _read_articles(questions: Path) -> Iterator[tuple[_Article, str]]:
    source = f"{SOURCE}, which writes both"
    path = find_file("articles of phantomwiki", [ARTICLES], [Path(questions).parent], source)
    titles = set()
    for record, where in read_list(path, _Article):
        if record.title in titles:
            raise DataError(f"{where}: expected every title once, found {record.title!r} again")
        titles.add(record.title)
        yield record, where


DATASET = Dataset(
    name="phantomwiki",
    title="PhantomWiki",
    files=("questions.json",),
    source=f"{SOURCE} (docs/data.md)",
    read=read_phantomwiki,
    scores={"f1": set_f1, "em": set_exact_match},
    read_paragraphs=read_paragraphs,
    order=50,
)
