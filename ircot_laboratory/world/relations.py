"""The content of encyclopedias: kinds of entities (kinds.csv), and relations, each with
several wordings (relations.csv).

In a wording, {S} is a mention of the subject at the start of a sentence, {s} a mention
inside one, {P} a possessive at the start of one, and {o} the value.
"""

import csv
from dataclasses import dataclass
from pathlib import Path


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of <name>.csv in this folder, each a dictionary by column name."""
    path = Path(__file__).with_name(f"{name}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity: its noun, the first sentence of its pages and the words to fill
    into it, its share of a world's pages, and how many popular entities there are.

    `maker`: for works and companies, the relation to the person who made them;
    otherwise "".
    """

    noun: str
    intro: str
    categories: tuple[str, ...]
    share: float
    popular: int
    maker: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation from a kind of subject to a kind of value, a "year", or a value of a
    fixed list.

    `phrase`: a noun phrase for the value. `questions`: two questions that ask for it.
    `thought`: the sentence of a chain that states it. `wordings`: three sentences of
    paragraphs that state it.
    """

    name: str
    value: str
    phrase: str
    questions: tuple[str, ...]
    thought: str
    wordings: tuple[str, ...]


def _read_kind(row: dict[str, str]) -> Kind:
    return Kind(
        noun=row["noun"],
        intro=row["intro"],
        categories=tuple(row["categories"].split()),
        share=float(row["share"]),
        popular=int(row["popular"]),
        maker=row["maker"],
    )


def _read_relations() -> dict[str, tuple[Relation, ...]]:
    relations: dict[str, tuple[Relation, ...]] = dict.fromkeys(KINDS, ())
    for row in read_table("relations"):
        relation = Relation(
            name=row["name"],
            value=row["value"],
            phrase=row["phrase"],
            questions=(row["question"], row["other question"]),
            thought=row["thought"],
            wordings=(row["subject first"], row["value first"], row["possessive"]),
        )
        for kind in row["kinds"].split():
            relations[kind] += (relation,)
    return relations


KINDS = {row["kind"]: _read_kind(row) for row in read_table("kinds")}
MAKERS = {name: kind.maker for name, kind in KINDS.items() if kind.maker}
RELATIONS = _read_relations()


def names_of(kind: str) -> set[str]:
    """The names of the relations that entities of a kind may have."""
    return {relation.name for relation in RELATIONS[kind]}


RELATION_NAMES = sorted(set().union(*map(names_of, KINDS)))
