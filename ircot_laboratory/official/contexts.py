"""Questions of the laboratory as records in the official raw formats of HotpotQA, 2WikiMultihopQA
and MuSiQue.
"""

import re
from collections.abc import Iterator, Sequence

from ircot_laboratory.questions.contexts import gold_passages
from ircot_laboratory.world.names import LISTS
from ircot_laboratory.world.records import Fact, Passage, Riddle, World, shorten
from ircot_laboratory.world.relations import KINDS
from ircotlib.datasets.pooled import digest

SENTENCE = re.compile(r"[^.]+\.")  # with the space before it; no name has a full stop
PROPERTIES = {  # Wikidata's names for relations, where they differ
    "birth": "date of birth",
    "birthplace": "place of birth",
    "death": "place of death",
    "release": "publication date",
    "opening": "inception",
    "school": "educated at",
}


def aliases(world: World, answer: str) -> tuple[str, ...]:
    """Other correct forms of an answer: a person's initial and last name if no other person has the
    same, "University of X", "Y River", …

    There are none for years, numbers, yes and no. No alias is the name or an alias of anything else
    in the world.
    """
    lists = (kind for kind, names in LISTS.items() if answer in names)
    kind = world.entities[answer].kind if answer in world.entities else next(lists, None)
    match kind:
        case "person":
            short = shorten(answer)
            return (short,) if world.initials[short] == 1 else ()
        case "film" | "novel" | "album" | "band":
            return (f"the {KINDS[kind].noun} {answer}",)
        case "university" | "country":
            first, _, last = answer.rpartition(" ")
            return (f"{last} of {first}",)
        case "river":
            return (f"{answer} River", f"River {answer}")
        case "language":
            return (f"{answer} language",)
        case "currency":
            return (f"{answer}s",)
    return ()


def find_sentence(passage: Passage, relation: str) -> tuple[int, re.Match]:
    """The number, from 0, of the sentence that states a fact, and its match in the paragraph."""
    span = passage.span(relation)
    return next(
        (number, match)
        for number, match in enumerate(SENTENCE.finditer(passage.text))
        if span.start < match.end()
    )


def _supporting_facts(world: World, riddle: Riddle) -> list:
    return [
        [fact.subject, find_sentence(world.passage(*fact), fact.relation)[0]]
        for fact in riddle.facts
    ]


def hotpotqa_record(world: World, riddle: Riddle, context: Sequence[Passage], seed: int) -> dict:
    """A question in the format of HotpotQA's files (Yang et al. 2018, distractor setting);
    sentences after the first begin with a space.
    """
    return {
        "_id": digest(f"hotpotqa {seed} {riddle.text}", 24),
        "answer": riddle.answer,
        "question": riddle.text,
        "supporting_facts": _supporting_facts(world, riddle),
        "context": [[passage.title, SENTENCE.findall(passage.text)] for passage in context],
        "type": riddle.kind,
        "level": "hard",  # as for all development questions of HotpotQA
    }


def number_entities(world: World) -> dict[str, str]:
    """An id in Wikidata's form for every entity and every name of a list, such as currencies."""
    names = [*world.entities, *(name for names in LISTS.values() for name in names)]
    return {name: f"Q{number}" for number, name in enumerate(names, start=1)}


def twowiki_record(
    world: World, riddle: Riddle, context: Sequence[Passage], seed: int, ids: dict[str, str]
) -> dict:
    """A question in the format of 2WikiMultihopQA's files (Ho et al. 2020); years have no ids, and
    `evidences_id` is empty if an evidence has a year.
    """
    evidences = [
        [fact.subject, PROPERTIES.get(fact.relation, fact.relation), world.value(*fact)]
        for fact in riddle.facts
    ]
    all_named = all(value in ids for _, _, value in evidences)
    by_id = [[ids[a], relation, ids[value]] for a, relation, value in evidences if all_named]
    return {
        "_id": digest(f"2wikimultihopqa {seed} {riddle.text}", 32),
        "type": riddle.kind,
        "question": riddle.text,
        "context": [[p.title, [s.strip() for s in SENTENCE.findall(p.text)]] for p in context],
        "entity_ids": "_".join(ids[passage.title] for passage in gold_passages(world, riddle)),
        "supporting_facts": _supporting_facts(world, riddle),
        "evidences": evidences,
        "answer": riddle.answer,
        "evidences_id": by_id,
        "answer_id": ids.get(riddle.answer),
    }


def alias_rows(world: World, ids: dict[str, str]) -> list[dict]:
    """The lines of 2WikiMultihopQA's id_aliases.json."""
    return [
        {"Q_id": id, "aliases": list(aliases(world, name)), "demonyms": []}
        for name, id in ids.items()
    ]


def number_facts(world: World) -> dict[Fact, int]:
    """A number for every fact of the world: MuSiQue's id of the single-hop question about it."""
    facts = (
        Fact(name, relation) for name, entity in world.entities.items() for relation in entity.facts
    )
    return {fact: number for number, fact in enumerate(facts, start=1)}


def musique_record(
    world: World, riddle: Riddle, context: Sequence[Passage], numbers: dict[Fact, int]
) -> dict:
    """A question in the format of MuSiQue's files (Trivedi et al. 2022); #1 in a decomposition
    stands for the answer of its first question.
    """
    gold, steps = gold_passages(world, riddle), list(_decompose(world, riddle, context, numbers))
    paragraphs = []
    for number, passage in enumerate(context):
        paragraph = {"idx": number, "title": passage.title, "paragraph_text": passage.text}
        paragraphs.append(paragraph | {"is_supporting": passage in gold})
    return {
        "id": f"{riddle.kind}__{'_'.join(str(step['id']) for step in steps)}",
        "paragraphs": paragraphs,
        "question": riddle.text,
        "question_decomposition": steps,
        "answer": riddle.answer,
        "answer_aliases": list(aliases(world, riddle.answer)),
        "answerable": True,
    }


def _decompose(
    world: World, riddle: Riddle, context: Sequence[Passage], numbers: dict[Fact, int]
) -> Iterator[dict]:
    """The single-hop questions into which a question of MuSiQue is decomposed."""
    for n, fact in enumerate(riddle.facts):
        question = world.relation(*fact).questions[1]
        yield {
            "id": numbers[fact],
            "question": question.format(x=f"#{n}" if n else fact.subject),
            "answer": world.value(*fact),
            "paragraph_support_idx": context.index(world.passage(*fact)),
        }
