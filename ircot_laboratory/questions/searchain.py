"""Questions as in SearChain's data sets: slots to fill (zsRE, T-REx), with two possible
answers (StrategyQA, FEVER), or with answers of several sentences (ELI5: the whole
chain).
"""

from collections.abc import Iterable, Sequence

from ircot_laboratory.questions.draw import Draw, Selection
from ircot_laboratory.questions.wording import EVENTS, word_phrase
from ircot_laboratory.world.encyclopedia import BIRTHS
from ircot_laboratory.world.names import LISTS
from ircot_laboratory.world.records import Fact, Riddle, Thought
from ircot_laboratory.world.relations import MAKERS, read_table
from ircotlib.datasets.searchain import (
    SEPARATOR,
    ask_claim,
    ask_relation,
    ask_yes_or_no,
)

SLOTS = {row["relation"]: row["slot"] for row in read_table("slots")}
# for each relation to a city, the slot for the city's country
COUNTRIES = {
    row["relation"]: row["country"] for row in read_table("slots") if row["country"]
}
SLOT_THOUGHT = "Thus, the {slot} of {a} is {x}."


def draw_slot(draw: Draw) -> Riddle | None:
    """A slot whose value is on one page."""
    a = draw.start()
    fact = Fact(a, draw.rng.choice(sorted(draw.facts(a))))
    return _fill(draw, SLOTS[fact.relation], [fact])


def draw_country_slot(draw: Draw) -> Riddle | None:
    """A slot for a country: one page has the city, and the city's page the country."""
    a = draw.start()
    places = sorted(COUNTRIES.keys() & draw.facts(a).keys())
    if not places:
        return None
    first = Fact(a, draw.rng.choice(places))
    city = draw.world.value(*first)
    if "country" not in draw.facts(city):
        return None
    return _fill(draw, COUNTRIES[first.relation], [first, Fact(city, "country")])


def _fill(draw: Draw, slot: str, facts: list[Fact]) -> Riddle:
    a, value = facts[0].subject, draw.world.value(*facts[-1])
    text = f"{a}{SEPARATOR}{slot}"
    thus = SLOT_THOUGHT.format(slot=slot, a=a, x=value) if len(facts) > 1 else ""
    return draw.riddle(ask_relation(text), value, facts, thus, input=text)


YES, NO = "Yes", "No"
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"
CLAIM_THOUGHTS = {SUPPORTS: "Thus, it is {o}.", REFUTES: "Thus, it is {o}, not {x}."}
WORDINGS = read_table("verdicts")
[TIME] = (row for row in WORDINGS if row["kind"] == "time")
SAME = {row["relation"]: row for row in WORDINGS if row["kind"] == "same"}
PLACE = {row["relation"]: row for row in WORDINGS if row["kind"] == "place"}


def draw_time(draw: Draw) -> Riddle | None:
    """Whether a work's maker was born when something else came out or was founded."""
    a = draw.start(MAKERS)
    role = MAKERS[draw.world.entities[a].kind]
    dated = draw.rng.choice(list(EVENTS))
    maker = draw.facts(a).get(role)
    born = draw.facts(maker).get("birth") if maker else None
    if not born:
        return None
    earlier = _find_dated(draw, a, dated, range(BIRTHS[0], int(born)))
    later = _find_dated(draw, a, dated, range(int(born) + 1, BIRTHS[-1] + 1))
    drawn = _draw_answer(draw, later, earlier)
    if not drawn:
        return None
    answer, b = drawn
    whose = word_phrase(draw.dataset, draw.world.relation(a, role), a)
    words = {"whose": whose, "x": maker, "b": b, "event": EVENTS[dated]}
    facts = [Fact(a, role), Fact(maker, "birth"), Fact(b, dated)]
    return _decide(draw, TIME, answer, facts, words, compared=(1, 2))


def _find_dated(draw: Draw, a: str, dated: str, years: range) -> Selection:
    """What came out or was founded (`dated`) in these years, other than `a`."""
    stated = draw.world.stated[dated]
    places = [stated.by_value.get(str(year), ()) for year in years]
    is_own = draw.facts(a).get(dated) in map(str, years)
    return Selection(stated.subjects, places, [[stated.places[a]]] if is_own else [])


def draw_same(draw: Draw) -> Riddle | None:
    """Whether two entities have the same value of a relation, which is paraphrased."""
    relation, row = draw.rng.choice(list(SAME.items()))
    a = draw.start(draw.world.stated[relation].kinds)
    drawn = _draw_answer(draw, *draw.same_and_others(relation, a))
    if not drawn:
        return None
    answer, b = drawn
    facts = [Fact(a, relation), Fact(b, relation)]
    return _decide(draw, row, answer, facts, {"a": a, "b": b}, compared=(0, 1))


def draw_place(draw: Draw) -> Riddle | None:
    """Whether a currency is used or a language spoken in a city; this depends on its
    country, which the question does not name.
    """
    relation, row = draw.rng.choice(list(PLACE.items()))
    a = draw.start(("city",))
    country = draw.facts(a).get("country")
    value = draw.facts(country).get(relation) if country else None
    if not value:
        return None
    others = [x for x in LISTS[relation] if x != value]
    answer, x = _draw_answer(draw, [value], others)
    facts = [Fact(a, "country"), Fact(country, relation)]
    words = {"a": a, "x": x, "o": value}
    return _decide(draw, row, answer, facts, words, compared=(1,), sought=x)


def _draw_answer(
    draw: Draw, right: Sequence[str], wrong: Sequence[str]
) -> tuple[str, str] | None:
    """Yes or No, equally likely, and a name that makes that the right answer; None
    unless both answers are possible.
    """
    answer = draw.rng.choice((YES, NO))
    if not right or not wrong:
        return None
    return answer, draw.rng.choice(right if answer == YES else wrong)


def _decide(
    draw: Draw,
    row: dict[str, str],
    answer: str,
    facts: Iterable[Fact],
    words: dict,
    **more,
) -> Riddle:
    """A question of StrategyQA, worded by a row of verdicts.csv."""
    question = row["question"].format(**words)
    thus = row[answer.lower()].format(**words)
    text = ask_yes_or_no(question)
    return draw.riddle(text, answer, facts, thus, input=question, **more)


def draw_claim(draw: Draw) -> Riddle | None:
    """A claim that states one fact, with the true value or a false one."""
    a = draw.start()
    return _claim(draw, a, [Fact(a, draw.rng.choice(sorted(draw.facts(a))))])


def draw_bridge_claim(draw: Draw) -> Riddle | None:
    """A claim about something that it describes but does not name."""
    a = draw.start()
    facts = sorted(draw.facts(a).items())
    bridges = [name for name, value in facts if value in draw.world.entities]
    if not bridges:
        return None
    first = Fact(a, draw.rng.choice(bridges))
    middle = draw.world.value(*first)
    second = Fact(middle, draw.rng.choice(sorted(draw.facts(middle))))
    phrase = word_phrase(draw.dataset, draw.world.relation(*first), a)
    return _claim(draw, f"{phrase[0].upper()}{phrase[1:]}", [first, second])


def _claim(draw: Draw, subject: str, facts: list[Fact]) -> Riddle | None:
    """The claim; `subject`: its words for the subject of the last fact. A false value
    is taken from another page, so that it looks like a true one.
    """
    answer = draw.rng.choice((SUPPORTS, REFUTES))
    last = facts[-1]
    value = draw.world.value(*last)
    named = {fact.subject for fact in facts}
    stated = draw.world.stated[last.relation]
    own = [stated.by_value[x] for x in (value, *named) if x in stated.by_value]
    others = Selection(stated.values, [range(len(stated.values))], own)
    if value in named or not others:
        return None
    x = value if answer == SUPPORTS else draw.rng.choice(others)
    claim = draw.world.relation(*last).thought.format(s=subject, o=x)
    return draw.riddle(
        ask_claim(claim),
        answer,
        facts,
        CLAIM_THOUGHTS[answer].format(o=value, x=x),
        input=claim,
        compared=(len(facts) - 1,),
        sought=x,
    )


EXPLANATIONS = read_table("explanations")
MEETING = "How could {a} and {b} have met?"
MEETING_THOUGHT = "So {a} and {b} could have met there."


def draw_explanation(draw: Draw) -> Riddle | None:
    """Why something is so in a city ("why"), or how a work, a company or a band came to
    be ("origin"); a row of explanations.csv names the facts.
    """
    rows = [row for row in EXPLANATIONS if row["kind"] == draw.kind]
    a = draw.start({kind for row in rows for kind in row["of"].split()})
    kind = draw.world.entities[a].kind
    row = draw.rng.choice([row for row in rows if kind in row["of"].split()])
    facts = [_follow(draw, a, path.split(".")) for path in row["facts"].split()]
    if None in facts:
        return None
    words = {"a": a, "x": draw.world.value(*facts[-1])}
    text = row["question"].format(**words)
    return _explain(draw, text, facts, row["conclusion"].format(**words))


def _follow(draw: Draw, subject: str, path: list[str]) -> Fact | None:
    """The fact at the end of a path of relations; None if a page does not state one."""
    *bridges, last = path
    for relation in bridges:
        subject = draw.facts(subject).get(relation) if subject else None
    return Fact(subject, last) if subject and last in draw.facts(subject) else None


def draw_meeting(draw: Draw) -> Riddle | None:
    """How two persons could have met: they went to the same school."""
    a = draw.start(("person",))
    others, _ = draw.same_and_others("school", a)
    if not others:
        return None
    b = draw.rng.choice(others)
    facts = [Fact(a, "school"), Fact(b, "school")]
    thus = MEETING_THOUGHT.format(a=a, b=b)
    return _explain(draw, MEETING.format(a=a, b=b), facts, thus)


def _explain(draw: Draw, text: str, facts: list[Fact], thus: str) -> Riddle:
    thoughts = [draw.state(fact) for fact in facts]
    thoughts += [Thought(thus)] if thus else []
    answer = " ".join(thought.text for thought in thoughts)
    return Riddle(draw.dataset, draw.kind, text, answer, tuple(thoughts), input=text)
