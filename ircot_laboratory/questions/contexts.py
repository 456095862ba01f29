"""The context of a question of the laboratory: gold paragraphs and distractors that
resemble them; and how well a retriever finds the gold paragraphs.
"""

import random
from collections.abc import Iterable
from heapq import nsmallest
from typing import NamedTuple

from ircot_laboratory.world.records import Passage, Riddle, World
from ircotlib.data import Question

# the share of distractors from pages that a gold paragraph mentions; the titles of the
# others share a word with those of gold paragraphs or of such pages
MENTIONED = 1 / 3
# of more titles with a word than ALIKE, and of more than ANY in all, a share of that is
# looked at
ALIKE, ANY, SHARE = 100, 3000, 0.2  # ours: worlds of up to 2,560 pages have fewer


def gold_passages(world: World, riddle: Riddle) -> list[Passage]:
    """The paragraphs that state the facts, in order, each once; IIRC's main first."""
    return list(dict.fromkeys(world.passage(*fact) for fact in riddle.facts))


def draw_contexts(
    world: World, riddles: Iterable[Riddle], count: int, rng: random.Random
) -> list[list[Passage]]:
    """Draw `count` paragraphs for each question, in random order: the gold ones and
    distractors, all of which, except for one, resemble the gold ones.

    Among suitable distractors, those in the fewest contexts so far are preferred, so
    that the contexts together cover the encyclopedia.
    """
    contexts = []
    titles = sorted(world.pages)
    used = dict.fromkeys(titles, 0)
    for riddle in riddles:
        gold = gold_passages(world, riddle)
        drawn = _draw_distractors(world, gold, count - len(gold), titles, used, rng)
        context = [*gold, *(rng.choice(world.pages[title]) for title in drawn)]
        for passage in context:
            used[passage.title] += 1
        contexts.append(rng.sample(context, len(context)))
    return contexts


def _draw_distractors(
    world: World,
    gold: list[Passage],
    count: int,
    titles: list[str],
    used: dict[str, int],
    rng: random.Random,
) -> list[str]:
    """The titles of the distractors; `titles`: all, in alphabetical order; `used`: how
    often each was used.
    """
    own = dict.fromkeys(passage.title for passage in gold)
    values = dict.fromkeys(p.text[s.start : s.end] for p in gold for s in p.spans)
    mentioned = [name for name in values if name in world.pages and name not in own]
    drawn = rng.sample(mentioned, min(round(MENTIONED * count), len(mentioned)))
    words = dict.fromkeys(word for name in (*own, *mentioned) for word in name.split())
    alike: set[str] = set()
    for word in words:
        alike.update(_some(world.by_word[word], ALIKE, rng))
    # the last one is any page
    anywhere = _some(titles, ANY, rng)
    for candidates, up_to in ((sorted(alike), count - 1), (anywhere, count)):
        taken = {*own, *drawn}
        left = [title for title in candidates if title not in taken]
        rng.shuffle(left)
        drawn += nsmallest(up_to - len(drawn), left, key=used.__getitem__)
    return drawn


def _some(titles: list[str], most: int, rng: random.Random) -> list[str]:
    return titles if len(titles) <= most else rng.sample(titles, round(SHARE * most))


class Rank(NamedTuple):
    """The ranks of a gold paragraph in a retriever's results, from 1.

    `by_question`: with the question as the query. `by_thought`: with the sentence of
    the gold chain that first names the paragraph's title, before the chain uses the
    paragraph; None if there is no such sentence, because the question (or IIRC's main
    passage) names the title.
    """

    by_question: int
    by_thought: int | None


def ranks_of_gold(
    questions: Iterable[Question], riddles: Iterable[Riddle], retriever
) -> list[Rank]:
    """The ranks of gold paragraphs, except those about the entity that a question
    starts from: they show why retrieval should be repeated with each thought (IRCoT
    §3).

    Ranks are over the whole corpus. `questions`: some or all of the questions made from
    the riddles. `retriever`: has a `corpus` and `search`, as the backends of
    ircotlib.retrieval do.
    """
    by_text = {riddle.text: riddle for riddle in riddles}
    ranks = []
    for question in questions:
        riddle = by_text[question.text]
        for id in question.gold:
            title = retriever.corpus.find(id).title
            if title.lower() != riddle.facts[0].subject.lower():
                thought = _naming_thought(riddle, title)
                by_thought = _rank(thought, id, retriever) if thought else None
                ranks.append(Rank(_rank(question.text, id, retriever), by_thought))
    return ranks


def _rank(query: str, id: str, retriever) -> int:
    """The rank of a paragraph for a query, from 1; the corpus's size if not found."""
    size = len(retriever.corpus)
    k = 0
    while k < size:
        k = min(size, max(15, 8 * k))
        ids = [paragraph.id for paragraph, _ in retriever.search(query, k)]
        if id in ids:
            return ids.index(id) + 1
        if len(ids) < k:
            break
    return size


def _naming_thought(riddle: Riddle, title: str) -> str | None:
    """The first thought that names a title; None if that thought is about the title
    itself, because then the question names it.
    """
    for thought in riddle.thoughts:
        if thought.fact and thought.fact.subject.lower() == title.lower():
            return None
        if title.lower() in thought.text.lower():
            return thought.text
    return None
