"""Writes a page about every entity, with its facts in random order and wording."""

import random

from ircot_laboratory.world.names import WOMEN
from ircot_laboratory.world.records import Entity, Passage, Span
from ircot_laboratory.world.relations import KINDS, RELATIONS

# words of a paragraph: IIRC's corpus is without shorter lines of a page (IRCoT App. A)
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
    wordings = {r.name: r.wordings for r in RELATIONS[entity.kind]}
    spans = []
    for name in names:
        wording = rng.choice(wordings[name])
        form = rng.choice(FORMS) if text else "name"
        before, after = mention(wording, entity, form).split("{o}")
        text += f" {before}" if text else before
        spans.append(Span(name, len(text), len(text) + len(entity.facts[name])))
        text += f"{entity.facts[name]}{after}"
    return Passage(entity.name, text, tuple(spans))


def mention(wording: str, entity: Entity, form: str = "name") -> str:
    """Put a mention of the subject, one of FORMS, into a wording."""
    # at the start of a sentence, inside one, and as a possessive at its start
    if form == "name":
        words = entity.name, entity.name, f"{entity.name}'s"
    elif form == "noun":
        noun = entity.category if entity.kind == "person" else KINDS[entity.kind].noun
        words = f"The {noun}", f"the {noun}", f"The {noun}'s"
    elif entity.kind != "person":
        words = "It", "it", "Its"
    else:
        words = SHE if entity.name.split()[0] in WOMEN else HE
    for field, word in zip(("{S}", "{s}", "{P}"), words, strict=True):
        wording = wording.replace(field, word)
    return wording
