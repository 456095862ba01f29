"""Writes a readable page about every entity, with its facts in random order and
wording.
"""

import random

from ircot_laboratory.world.names import WOMEN
from ircot_laboratory.world.records import Entity, Passage, Span
from ircot_laboratory.world.relations import KINDS, RELATIONS

# words in a paragraph: shorter lines of a page are left out of IIRC's corpus (IRCoT
# App. A)
SHORTEST = 11
# data sets that share one encyclopedia, as in KILT
KILT = ("zsre", "trex", "fever", "eli5")
SHE, HE = ("She", "her", "Her"), ("He", "him", "His")
FORMS = ("name", "name", "pronoun", "pronoun", "noun")  # of mentions, equally likely


def write_pages(
    entities: dict[str, Entity], dataset: str, seed: int
) -> dict[str, tuple[Passage, ...]]:
    """Write the page of every entity for a data set: in up to two paragraphs for
    "iirc", and in the same words for all of KILT's data sets.
    """
    rng = random.Random(f"pages {'kilt' if dataset in KILT else dataset} {seed}")
    parts = 2 if dataset == "iirc" else 1
    return {name: write_page(entity, rng, parts) for name, entity in entities.items()}


def write_page(
    entity: Entity, rng: random.Random, parts: int = 1
) -> tuple[Passage, ...]:
    """Write an entity's page: a first sentence that names it, then its facts in random
    order and wording, in at most `parts` paragraphs.

    Every paragraph begins with a sentence that names the entity. A page is split only
    if both paragraphs have at least SHORTEST words.
    """
    names = rng.sample(list(entity.facts), len(entity.facts))
    intro = KINDS[entity.kind].intro.format(name=entity.name, category=entity.category)
    if parts == 2 and len(names) >= 4 and entity.kind != "band":
        half = len(names) // 2
        first = _write_passage(entity, intro, names[:half], rng)
        second = _write_passage(entity, "", names[half:], rng)
        if min(len(passage.text.split()) for passage in (first, second)) >= SHORTEST:
            return first, second
    return (_write_passage(entity, intro, names, rng),)


def _write_passage(
    entity: Entity, text: str, names: list[str], rng: random.Random
) -> Passage:
    wordings, spans = {r.name: r.wordings for r in RELATIONS[entity.kind]}, []
    for name in names:
        wording = rng.choice(wordings[name])
        form = rng.choice(FORMS) if text else "name"
        before, after = mention(wording, entity, form).split("{o}")
        text += " " if text else ""
        start = len(text) + len(before)
        spans.append(Span(name, start, start + len(entity.facts[name])))
        text += f"{before}{entity.facts[name]}{after}"
    return Passage(entity.name, text, tuple(spans))


def mention(wording: str, entity: Entity, form: str = "name") -> str:
    """Put a mention of the subject into a wording; `form`: "name", "pronoun", or "noun"
    (with "the").
    """
    opening, inside, possessive = entity.name, entity.name, f"{entity.name}'s"
    if form == "noun":
        noun = entity.category if entity.kind == "person" else KINDS[entity.kind].noun
        opening, inside, possessive = f"The {noun}", f"the {noun}", f"The {noun}'s"
    elif form == "pronoun":
        opening, inside, possessive = "It", "it", "Its"
        if entity.kind == "person":
            is_woman = entity.name.split()[0] in WOMEN
            opening, inside, possessive = SHE if is_woman else HE
    return (
        wording.replace("{S}", opening)
        .replace("{s}", inside)
        .replace("{P}", possessive)
    )
