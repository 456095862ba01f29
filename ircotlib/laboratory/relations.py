"""What the miniature encyclopedia can say: kinds of entities and relations, each in several
wordings.

In a wording, {S} is a mention of the subject that opens a sentence, {s} one inside it, {P} a
possessive that opens one, and {o} the value.
"""

from dataclasses import dataclass

from ircotlib.laboratory.names import CURRENCIES, LANGUAGES, RIVERS


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity: its noun, the words for its first sentence, and its share of a world's
    paragraphs.
    """

    noun: str
    intro: str
    categories: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation from a kind of subject to a kind of value, a "year", or a value of a fixed list.

    `phrase`: a noun phrase for the value; `questions`: ask for the value; `thought`: the sentence
    of a chain that states it; `wordings`: sentences of paragraphs that state it.
    """

    name: str
    value: str
    phrase: str
    questions: tuple[str, str]
    thought: str
    wordings: tuple[str, ...]


KINDS = {
    "person": Kind(
        "person",
        "{name} was a {category}.",
        ("painter", "composer", "lawyer", "teacher", "sailor", "doctor"),
        0.36,
    ),
    "film": Kind(
        "film", "{name} is a {category} film.", ("drama", "comedy", "silent", "crime"), 0.12
    ),
    "novel": Kind(
        "novel", "{name} is a {category} novel.", ("historical", "gothic", "comic", "short"), 0.09
    ),
    "album": Kind(
        "album", "{name} is a {category} album.", ("folk", "jazz", "choral", "live"), 0.09
    ),
    "band": Kind(
        "band", "{name} is a {category} band.", ("rock", "brass", "dance", "school"), 0.06
    ),
    "studio": Kind("company", "{name} is a film {category}.", ("company", "studio"), 0.04),
    "press": Kind("company", "{name} is a publishing {category}.", ("company", "house"), 0.04),
    "label": Kind("company", "{name} is a record {category}.", ("company", "label"), 0.04),
    "university": Kind(
        "school", "{name} is a {category} school.", ("public", "private", "technical"), 0.05
    ),
    "city": Kind(
        "city", "{name} is a {category} city.", ("busy", "small", "walled", "modern"), 0.09
    ),
    "country": Kind(
        "country", "{name} is a {category} country.", ("coastal", "mountainous", "neutral"), 0.02
    ),
}

LISTS = {"currency": CURRENCIES, "language": LANGUAGES, "river": RIVERS}

_COMPANY = (
    Relation(
        "founder",
        "person",
        "the founder of {x}",
        ("Who is the founder of {x}?", "Who founded {x}?"),
        "{s} was founded by {o}.",
        ("{S} was founded by {o}.", "{o} founded {s}.", "{P} founder was {o}."),
    ),
    Relation(
        "seat",
        "city",
        "the city where {x} is based",
        ("In which city is {x} based?", "Where is {x} based?"),
        "{s} is based in {o}.",
        ("{S} is based in {o}.", "{o} is the seat of {s}.", "{P} main office stands in {o}."),
    ),
    Relation(
        "opening",
        "year",
        "the year when {x} was founded",
        ("When was {x} founded?", "In which year was {x} founded?"),
        "{s} was founded in {o}.",
        ("{S} was founded in {o}.", "In {o} work began at {s}.", "{P} history goes back to {o}."),
    ),
)

RELATIONS = {
    "person": (
        Relation(
            "birthplace",
            "city",
            "the birthplace of {x}",
            ("Where was {x} born?", "In which city was {x} born?"),
            "{s} was born in {o}.",
            ("{S} was born in {o}.", "{o} was the birthplace of {s}.", "{P} native city was {o}."),
        ),
        Relation(
            "birth",
            "year",
            "the year when {x} was born",
            ("When was {x} born?", "In which year was {x} born?"),
            "{s} was born in the year {o}.",
            (
                "{S} was born in the year {o}.",
                "The year {o} saw the birth of {s}.",
                "{P} year of birth was {o}.",
            ),
        ),
        Relation(
            "spouse",
            "person",
            "the spouse of {x}",
            ("Who was the spouse of {x}?", "Who married {x}?"),
            "{s} was married to {o}.",
            (
                "{S} was married to {o}.",
                "{o} was the spouse of {s}.",
                "{P} wedding with {o} drew a crowd.",
            ),
        ),
        Relation(
            "mentor",
            "person",
            "the mentor of {x}",
            ("Who was the mentor of {x}?", "Who trained {x}?"),
            "{s} was trained by {o}.",
            (
                "{S} was trained by {o}.",
                "{o} was the mentor of {s}.",
                "{P} skills were shaped by {o}.",
            ),
        ),
        Relation(
            "school",
            "university",
            "the school of {x}",
            ("Which school did {x} attend?", "Where did {x} study?"),
            "{s} studied at {o}.",
            (
                "{S} studied at {o}.",
                "{o} was the school of {s}.",
                "{P} student years were spent at {o}.",
            ),
        ),
        Relation(
            "death",
            "city",
            "the city where {x} died",
            ("Where did {x} die?", "In which city did {x} die?"),
            "{s} died in {o}.",
            ("{S} died in {o}.", "{o} was the last home of {s}.", "{P} life ended in {o}."),
        ),
        Relation(
            "father",
            "man",
            "the father of {x}",
            ("Who is the father of {x}?", "Whose child was {x}?"),
            "{s} was the child of {o}.",
            ("{S} was the child of {o}.", "{o} was the father of {s}.", "{P} father was {o}."),
        ),
    ),
    "film": (
        Relation(
            "director",
            "person",
            "the director of {x}",
            ("Who is the director of {x}?", "Who directed {x}?"),
            "{s} was directed by {o}.",
            ("{S} was directed by {o}.", "{o} directed {s}.", "{P} director was {o}."),
        ),
        Relation(
            "studio",
            "studio",
            "the studio behind {x}",
            ("Which studio produced {x}?", "Which company made {x}?"),
            "{s} was produced by {o}.",
            ("{S} was produced by {o}.", "{o} produced {s}.", "{P} budget came from {o}."),
        ),
        Relation(
            "star",
            "person",
            "the star of {x}",
            ("Who is the star of {x}?", "Who played the lead in {x}?"),
            "{s} starred {o}.",
            ("{S} starred {o}.", "{o} played the lead in {s}.", "{P} leading role went to {o}."),
        ),
        Relation(
            "release",
            "year",
            "the year when {x} came out",
            ("When did {x} come out?", "In which year did {x} come out?"),
            "{s} came out in {o}.",
            (
                "{S} came out in {o}.",
                "In {o} audiences first saw {s}.",
                "{P} premiere took place in {o}.",
            ),
        ),
    ),
    "novel": (
        Relation(
            "author",
            "person",
            "the author of {x}",
            ("Who is the author of {x}?", "Who wrote {x}?"),
            "{s} was written by {o}.",
            ("{S} was written by {o}.", "{o} wrote {s}.", "{P} author was {o}."),
        ),
        Relation(
            "publisher",
            "press",
            "the publisher of {x}",
            ("Who is the publisher of {x}?", "Which company published {x}?"),
            "{s} was published by {o}.",
            (
                "{S} was published by {o}.",
                "{o} published {s}.",
                "{P} first printing came from {o}.",
            ),
        ),
        Relation(
            "setting",
            "city",
            "the city where {x} is set",
            ("Where is {x} set?", "In which city is {x} set?"),
            "{s} is set in {o}.",
            ("{S} is set in {o}.", "{o} is the scene of {s}.", "{P} story unfolds in {o}."),
        ),
        Relation(
            "release",
            "year",
            "the year when {x} came out",
            ("When did {x} come out?", "In which year did {x} come out?"),
            "{s} came out in {o}.",
            (
                "{S} came out in {o}.",
                "In {o} readers first bought {s}.",
                "{P} first edition dates from {o}.",
            ),
        ),
    ),
    "album": (
        Relation(
            "performer",
            "person",
            "the performer of {x}",
            ("Who is the performer of {x}?", "Who recorded {x}?"),
            "{s} was recorded by {o}.",
            ("{S} was recorded by {o}.", "{o} recorded {s}.", "{P} songs were sung by {o}."),
        ),
        Relation(
            "label",
            "label",
            "the label of {x}",
            ("Which label released {x}?", "Which company released {x}?"),
            "{s} was released by {o}.",
            ("{S} was released by {o}.", "{o} released {s}.", "{P} label was {o}."),
        ),
        Relation(
            "release",
            "year",
            "the year when {x} came out",
            ("When did {x} come out?", "In which year did {x} come out?"),
            "{s} came out in {o}.",
            (
                "{S} came out in {o}.",
                "In {o} listeners first heard {s}.",
                "{P} songs reached the shops in {o}.",
            ),
        ),
    ),
    "band": (
        Relation(
            "singer",
            "person",
            "the singer of {x}",
            ("Who is the singer of {x}?", "Who sang in {x}?"),
            "{s} had the singer {o}.",
            ("{S} had the singer {o}.", "{o} sang in {s}.", "{P} singer was {o}."),
        ),
        Relation(
            "drummer",
            "person",
            "the drummer of {x}",
            ("Who is the drummer of {x}?", "Who played the drums in {x}?"),
            "{s} had the drummer {o}.",
            ("{S} had the drummer {o}.", "{o} played the drums in {s}.", "{P} drummer was {o}."),
        ),
        Relation(
            "pianist",
            "person",
            "the pianist of {x}",
            ("Who is the pianist of {x}?", "Who played the piano in {x}?"),
            "{s} had the pianist {o}.",
            ("{S} had the pianist {o}.", "{o} played the piano in {s}.", "{P} pianist was {o}."),
        ),
        Relation(
            "home",
            "city",
            "the home of {x}",
            ("In which city did {x} form?", "Where did {x} form?"),
            "{s} formed in {o}.",
            (
                "{S} formed in {o}.",
                "{o} was the home of {s}.",
                "{P} first concert took place in {o}.",
            ),
        ),
    ),
    "studio": _COMPANY,
    "press": _COMPANY,
    "label": _COMPANY,
    "university": (
        Relation(
            "campus",
            "city",
            "the city where {x} stands",
            ("Where is {x}?", "In which city does {x} stand?"),
            "{s} stands in {o}.",
            ("{S} stands in {o}.", "{o} is home to {s}.", "{P} campus lies in {o}."),
        ),
        Relation(
            "rector",
            "person",
            "the rector of {x}",
            ("Who is the rector of {x}?", "Who leads {x}?"),
            "{s} is led by {o}.",
            ("{S} is led by {o}.", "{o} leads {s}.", "{P} rector is {o}."),
        ),
        Relation(
            "opening",
            "year",
            "the year when {x} was founded",
            ("When was {x} founded?", "In which year was {x} founded?"),
            "{s} was founded in {o}.",
            (
                "{S} was founded in {o}.",
                "In {o} students first entered {s}.",
                "{P} doors opened in {o}.",
            ),
        ),
    ),
    "city": (
        Relation(
            "country",
            "country",
            "the country of {x}",
            ("In which country is {x}?", "Which country does {x} belong to?"),
            "{s} is a city in {o}.",
            ("{S} belongs to {o}.", "{o} counts {s} among its cities.", "{P} taxes go to {o}."),
        ),
        Relation(
            "mayor",
            "person",
            "the mayor of {x}",
            ("Who is the mayor of {x}?", "Who governs {x}?"),
            "{s} is governed by {o}.",
            ("{S} is governed by {o}.", "{o} governs {s}.", "{P} mayor is {o}."),
        ),
        Relation(
            "river",
            "river",
            "the river of {x}",
            ("Which river flows through {x}?", "On which river does {x} lie?"),
            "{s} lies on the {o}.",
            ("{S} lies on the {o}.", "The {o} flows through {s}.", "{P} bridges cross the {o}."),
        ),
    ),
    "country": (
        Relation(
            "leader",
            "person",
            "the leader of {x}",
            ("Who is the leader of {x}?", "Who rules {x}?"),
            "{s} is ruled by {o}.",
            ("{S} is ruled by {o}.", "{o} rules {s}.", "{P} leader is {o}."),
        ),
        Relation(
            "currency",
            "currency",
            "the currency of {x}",
            ("What is the currency of {x}?", "Which currency is used in {x}?"),
            "{s} uses the {o}.",
            ("{S} uses the {o}.", "The {o} is the money of {s}.", "{P} currency is the {o}."),
        ),
        Relation(
            "language",
            "language",
            "the language of {x}",
            ("What is the language of {x}?", "Which language is spoken in {x}?"),
            "{s} speaks {o}.",
            ("{S} speaks {o}.", "{o} is the language of {s}.", "{P} schools teach in {o}."),
        ),
    ),
}

RELATION_NAMES = sorted(
    {relation.name for relations in RELATIONS.values() for relation in relations}
)
