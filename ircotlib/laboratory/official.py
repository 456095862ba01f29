"""Questions of the laboratory as records in the official raw formats of HotpotQA, 2WikiMultihopQA,
MuSiQue and IIRC.
"""

import re
from collections.abc import Iterable, Sequence

from ircotlib.datasets.pooled import digest
from ircotlib.laboratory.contexts import gold_passages
from ircotlib.laboratory.encyclopedia import Passage, World
from ircotlib.laboratory.questions import Fact, Riddle, find_relation, value_of
from ircotlib.laboratory.relations import KINDS, LISTS

SENTENCE = re.compile(r"[^.]+\.")  # with the space before it; no name has a full stop
PROPERTIES = {  # Wikidata's names for relations, where they are others
    "birth": "date of birth", "birthplace": "place of birth", "death": "place of death", "release": "publication date",
    "opening": "inception", "school": "educated at",
}  # fmt: skip
UNITS = {"age": "years", "count": ""}


def aliases(world: World, answer: str) -> tuple[str, ...]:
    """Other correct forms of an answer: a person's initial and last name where no other person has
    them, "University of X", "Y River", …

    None for years, numbers, yes and no. No alias is the name or an alias of anything else in the
    world.
    """
    lists = (kind for kind, names in LISTS.items() if answer in names)
    kind = world.entities[answer].kind if answer in world.entities else next(lists, None)
    first, _, last = answer.partition(" ")
    match kind:
        case "person":
            namesakes = [
                name for name in world.entities if name.endswith(f" {last}") and name[0] == first[0]
            ]
            return (f"{first[0]}. {last}",) if namesakes == [answer] else ()
        case "film" | "novel" | "album" | "band":
            return (f"the {KINDS[kind].noun} {answer}",)
        case "university" | "country":
            return (f"{last} of {first}",)
        case "river":
            return (f"{answer} River", f"River {answer}")
        case "language":
            return (f"{answer} language",)
        case "currency":
            return (f"{answer}s",)
    return ()


def find_sentence(passage: Passage, relation: str) -> tuple[int, re.Match]:
    """The number of the sentence that states a fact, from 0, and its place in the paragraph."""
    span = passage.span(relation)
    return next(
        (number, found)
        for number, found in enumerate(SENTENCE.finditer(passage.text))
        if span.start < found.end()
    )


def _supporting_facts(world: World, riddle: Riddle) -> list:
    return [
        [subject, find_sentence(world.passage(subject, relation), relation)[0]]
        for subject, relation in riddle.facts
    ]


def hotpotqa_record(world: World, riddle: Riddle, context: Sequence[Passage], seed: int) -> dict:
    """A question as HotpotQA's files have it (Yang et al. 2018, distractor setting); sentences
    after the first begin with their space.
    """
    return {
        "_id": digest(f"hotpotqa {seed} {riddle.text}", 24),
        "answer": riddle.answer,
        "question": riddle.text,
        "supporting_facts": _supporting_facts(world, riddle),
        "context": [[passage.title, SENTENCE.findall(passage.text)] for passage in context],
        "type": riddle.kind,
        "level": "hard",  # as all development questions of HotpotQA
    }


def number_entities(world: World) -> dict[str, str]:
    """An id in Wikidata's form for every entity and every word of a list."""
    names = [*world.entities, *(name for names in LISTS.values() for name in names)]
    return {name: f"Q{number}" for number, name in enumerate(names, start=1)}


def twowiki_record(
    world: World, riddle: Riddle, context: Sequence[Passage], seed: int, ids: dict[str, str]
) -> dict:
    """A question as 2WikiMultihopQA's files have it (Ho et al. 2020); years have no id, and
    evidences with a year no ids.
    """
    evidences = [
        [subject, PROPERTIES.get(relation, relation), value_of(world, (subject, relation))]
        for subject, relation in riddle.facts
    ]
    all_named = all(value in ids for _, _, value in evidences)
    return {
        "_id": digest(f"2wikimultihopqa {seed} {riddle.text}", 32),
        "type": riddle.kind,
        "question": riddle.text,
        "context": [
            [passage.title, [sentence.strip() for sentence in SENTENCE.findall(passage.text)]]
            for passage in context
        ],
        "entity_ids": "_".join(ids[passage.title] for passage in gold_passages(world, riddle)),
        "supporting_facts": _supporting_facts(world, riddle),
        "evidences": evidences,
        "answer": riddle.answer,
        "evidences_id": [
            [ids[subject], relation, ids[value]] for subject, relation, value in evidences
        ]
        if all_named
        else [],
        "answer_id": ids.get(riddle.answer),
    }


def alias_rows(world: World, ids: dict[str, str]) -> list[dict]:
    """The lines of 2WikiMultihopQA's id_aliases.json."""
    return [
        {"Q_id": id, "aliases": list(aliases(world, name)), "demonyms": []}
        for name, id in ids.items()
    ]


def number_facts(world: World) -> dict[Fact, int]:
    """A number for every fact of the world: MuSiQue's number of the single-hop question that asks
    for it.
    """
    facts = (
        (name, relation) for name, entity in world.entities.items() for relation in entity.facts
    )
    return {fact: number for number, fact in enumerate(facts, start=1)}


def musique_record(
    world: World, riddle: Riddle, context: Sequence[Passage], numbers: dict[Fact, int]
) -> dict:
    """A question as MuSiQue's files have it (Trivedi et al. 2022); #1 in a decomposition is the
    answer of its first question.
    """
    gold, steps = gold_passages(world, riddle), []
    for n, fact in enumerate(riddle.facts):
        asked = find_relation(world, *fact).questions[1].format(x=f"#{n}" if n else fact[0])
        place = context.index(world.passage(*fact))
        steps.append(
            {
                "id": numbers[fact],
                "question": asked,
                "answer": value_of(world, fact),
                "paragraph_support_idx": place,
            }
        )
    return {
        "id": f"{riddle.kind}__{'_'.join(str(step['id']) for step in steps)}",
        "paragraphs": [
            {
                "idx": number,
                "title": passage.title,
                "paragraph_text": passage.text,
                "is_supporting": passage in gold,
            }
            for number, passage in enumerate(context)
        ],
        "question": riddle.text,
        "question_decomposition": steps,
        "answer": riddle.answer,
        "answer_aliases": list(aliases(world, riddle.answer)),
        "answerable": True,
    }


def iirc_records(world: World, riddles: Iterable[Riddle]) -> list[dict]:
    """IIRC's passages, each with the questions about it (Ferguson et al. 2020); places are in the
    main passage or the page's plain text.
    """
    by_main = {}
    for number, riddle in enumerate(riddles):
        by_main.setdefault(world.passage(*riddle.main), []).append(
            _iirc_question(world, riddle, f"q_{number}")
        )
    return [
        {
            "pid": f"p_{number}",
            "title": main.title,
            "text": main.text,
            "links": _links(world, main),
            "questions": questions,
        }
        for number, (main, questions) in enumerate(by_main.items())
    ]


def _links(world: World, passage: Passage) -> list[dict]:
    named = [
        (passage.text[span.start : span.end], [span.start, span.end]) for span in passage.spans
    ]
    return [
        {"target": value, "indices": place} for value, place in named if value in world.entities
    ]


def _iirc_question(world: World, riddle: Riddle, id: str) -> dict:
    main = world.passage(*riddle.main)
    needed = (passage.title for passage in gold_passages(world, riddle) if passage != main)
    return {
        "qid": id,
        "question": riddle.text,
        "answer": _iirc_answer(world, riddle, main),
        "context": [_iirc_sentence(world, fact, main) for fact in riddle.facts],
        "question_links": list(dict.fromkeys(needed)),
    }


def _iirc_answer(world: World, riddle: Riddle, main: Passage) -> dict:
    if riddle.kind in UNITS:
        return {"type": "value", "answer_value": riddle.answer, "answer_unit": UNITS[riddle.kind]}
    subject, relation = riddle.facts[-1]
    passage = world.passage(subject, relation)
    where, offset = _place(world, passage, main)
    span = passage.span(relation)
    place = {
        "text": riddle.answer,
        "passage": where,
        "start": offset + span.start,
        "end": offset + span.end,
    }
    return {"type": "span", "answer_spans": [place]}


def _iirc_sentence(world: World, fact: Fact, main: Passage) -> dict:
    passage = world.passage(*fact)
    where, offset = _place(world, passage, main)
    _, found = find_sentence(passage, fact[1])
    text = found[0].strip()
    return {
        "text": text,
        "passage": where,
        "indices": [offset + found.end() - len(text), offset + found.end()],
    }


def _place(world: World, passage: Passage, main: Passage) -> tuple[str, int]:
    """What IIRC calls the text that a paragraph is in, and where the paragraph begins in it."""
    if passage == main:
        return "main", 0
    page = world.pages[passage.title]
    return passage.title.lower(), sum(len(other.text) + 1 for other in page[: page.index(passage)])


def iirc_articles(world: World) -> dict[str, str]:
    """IIRC's context_articles.json: every page by its lower-case title, one paragraph a line, with
    links to the pages it mentions.
    """
    return {
        title.lower(): "\n".join(_with_links(world, passage) for passage in page)
        for title, page in world.pages.items()
    }


def _with_links(world: World, passage: Passage) -> str:
    text = passage.text
    for link in sorted(_links(world, passage), key=lambda link: link["indices"], reverse=True):
        start, end = link["indices"]
        text = f'{text[:start]}<a href="{link["target"].replace(" ", "%20")}">{link["target"]}</a>{text[end:]}'
    return text
