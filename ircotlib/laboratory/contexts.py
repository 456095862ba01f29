"""The paragraphs around a question of the laboratory: gold ones, distractors that resemble them,
and how well BM25 finds the gold ones.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ircotlib.data import Question
from ircotlib.laboratory.encyclopedia import Passage, World, titles_by_word
from ircotlib.laboratory.questions import Riddle
from ircotlib.program import Retrieve
from ircotlib.retrieval.bm25 import BM25

# of the distractors are pages that a gold paragraph mentions; the others share a word with it or
# with such a page
MENTIONED = 1 / 3


@dataclass(frozen=True, slots=True)
class Rank:
    """Where BM25 ranks a gold paragraph: 1 is first.

    `by_thought`: for the sentence of the gold chain that first names its title, before the one that
    needs it; None where there is none, because the question (or IIRC's main passage) names it.
    """

    question: str
    kind: str
    paragraph: str
    by_question: int
    by_thought: int | None


def gold_passages(world: World, riddle: Riddle) -> list[Passage]:
    """The paragraphs that state the facts of a question, in order, each once; IIRC's main passage
    is the first.
    """
    return list(dict.fromkeys(world.passage(*fact) for fact in riddle.facts))


def draw_contexts(
    world: World, riddles: Iterable[Riddle], count: int, rng: random.Random
) -> list[list[Passage]]:
    """Draw for each question `count` paragraphs in random order: the gold ones, and distractors
    that resemble them but for the last.

    Of the distractors that would do, those that stood in the fewest contexts so far are taken:
    together the contexts cover the encyclopedia.
    """
    contexts, used, by_word = [], Counter(), titles_by_word(world)
    for riddle in riddles:
        gold = gold_passages(world, riddle)
        titles = _draw_distractors(world, gold, count - len(gold), by_word, used, rng)
        context = [*gold, *(rng.choice(world.pages[title]) for title in titles)]
        used.update(passage.title for passage in context)
        contexts.append(rng.sample(context, len(context)))
    return contexts


def _draw_distractors(
    world: World, gold: list[Passage], count: int, by_word: dict, used: Counter, rng: random.Random
) -> list[str]:
    own = {passage.title for passage in gold}
    values = [passage.text[span.start : span.end] for passage in gold for span in passage.spans]
    mentioned = [
        value for value in dict.fromkeys(values) if value in world.pages and value not in own
    ]
    drawn = rng.sample(mentioned, min(round(MENTIONED * count), len(mentioned)))
    alike = {
        title for name in (*own, *mentioned) for word in name.split() for title in by_word[word]
    }
    for candidates, up_to in ((alike, count - 1), (world.pages, count)):
        left = sorted(set(candidates) - own - set(drawn))
        rng.shuffle(left)
        drawn += sorted(left, key=used.__getitem__)[: up_to - len(drawn)]
    return drawn


def ranks_of_gold(
    questions: Iterable[Question], riddles: Iterable[Riddle], retriever: BM25
) -> list[Rank]:
    """The ranks of gold paragraphs, those about the entity that a question starts from left out:
    why retrieval goes on (IRCoT §3).

    Ranks are over the whole corpus. `questions`: some or all of those that the riddles were written
    out as.
    """
    by_text, found = {riddle.text: riddle for riddle in riddles}, []
    for question in questions:
        riddle = by_text[question.text]
        for id in question.gold:
            title = retriever.corpus[retriever.corpus.position_of(id)].title
            if title.lower() != riddle.facts[0][0].lower():
                thought = _naming_thought(riddle, title)
                by_thought = _rank(thought, id, retriever) if thought else None
                found.append(
                    Rank(
                        question.id,
                        riddle.kind,
                        id,
                        _rank(question.text, id, retriever),
                        by_thought,
                    )
                )
    return found


def _rank(query: str, id: str, retriever: BM25) -> int:
    """The rank of a paragraph for a query, 1 or more; the size of the corpus when it is not found
    at all.
    """
    [reply] = retriever.answer([Retrieve(query, len(retriever.corpus))])
    positions = [position for position, _ in json.loads(reply)]
    wanted = retriever.corpus.position_of(id)
    return positions.index(wanted) + 1 if wanted in positions else len(retriever.corpus)


def _naming_thought(riddle: Riddle, title: str) -> str | None:
    """The first thought that names a title, unless it is one about that title: then the question
    names it.
    """
    for thought in riddle.thoughts:
        if thought.fact and thought.fact[0].lower() == title.lower():
            return None
        if title.lower() in thought.text.lower():
            return thought.text
    return None
