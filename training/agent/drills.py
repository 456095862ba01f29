"""Drills in what plays train too rarely: comparing values; answering at once, without a
chain, from pages or from memory.
"""

import random
from collections.abc import Sequence

from ircot_laboratory.questions.questions import draw_riddle
from ircot_laboratory.world.records import Riddle
from training.agent.lessons import known_facts
from training.agent.sources import locate_sources
from training.agent.transcripts import Transcript, WrittenSpan, join_transcripts
from training.agent.words import open_prompt
from training.teachers.library import Library
from training.teachers.mind import Mind
from training.teachers.planning import nested_question
from training.teachers.play import question_of

# data sets and kinds of questions of the drills; those that name one of two, twice
COMPARING = (
    *(("hotpotqa", "comparison"), ("2wikimultihopqa", "comparison")) * 2,
    *(("2wikimultihopqa", "bridge_comparison"),) * 2,
    ("strategyqa", "time"),
    ("strategyqa", "same"),
    ("strategyqa", "place"),
    ("fever", "bridge_claim"),
)
RECALLING = "direct/direct"  # the stage that answers at once from memory
READING = ("direct/read", "ircot/direct")  # those that do so from pages
DRILLS = (RECALLING, *READING)
BETWEEN = "\n\n\n"  # what separates examples in a prompt
UNREAD = 0.6  # share of the facts known by heart for which no paragraph is retrieved
# paragraphs retrieved with the question, apart from those of its steps
NEAR = (1, 2, 3)


def drill_comparison(library: Library, rng: random.Random) -> Transcript:
    """Draw a comparison whose facts are given; only the conclusion and the answer are
    written.
    """
    dataset, kind = rng.choice(COMPARING)
    riddle = draw_riddle(library.world, rng, dataset, kind)
    mind = Mind(riddle, library, known_facts().get, rng)
    for n, step in enumerate(mind.steps):
        mind.accept(n, step.answer)
    facts = " ".join(mind.say_all())
    tag, lead = rng.choice(
        (("Reason", "So the answer is:"), ("Chain", "The answer is"))
    )
    prompt = f"{tag}\nQ: {riddle.text}\nA: {facts}"
    conclusion, answer = mind.conclude()
    text = f"{prompt} {conclusion} {lead} {answer}."
    span = WrittenSpan("comparison", len(prompt), len(text), ends=True)
    return locate_sources(Transcript(text, [span]), mind)


def drill_reading(
    library: Library,
    riddle: Riddle,
    stage: str,
    rng: random.Random,
    near: Sequence[int] = NEAR,
) -> Transcript | None:
    """Draw the paragraphs that answer a question and others, and ask it in the form of
    one of the stages READING, then its sub-questions in terms of the question, the
    longest first; only the answers are written. What is known by heart may be left out.
    None if the paragraphs and memory do not have all of its facts.
    """
    mind = Mind(riddle, library, known_facts().get, rng)
    queries = [
        step.question
        for step in mind.steps
        if step.fact not in known_facts() or rng.random() >= UNREAD
    ]
    hits = [library.backend.search(query, 1) for query in queries]
    hits.append(library.backend.search(riddle.text, rng.choice(near)))
    paragraphs = list(
        dict.fromkeys(paragraph for some in hits for paragraph, _ in some)
    )
    rng.shuffle(paragraphs)
    mind.settle_all(paragraphs)
    if mind.made_up:
        return None
    text, spans = (
        open_prompt(*stage.split("/"))(question_of(mind), paragraphs).rstrip(),
        [],
    )
    tag, lead = ("Q", "A") if stage == "ircot/direct" else ("Question", "Answer")
    text = _answer(text, mind.conclude()[1], stage, spans)
    for n in reversed(range(len(mind.steps))):
        if mind.values[n] != mind.conclude()[1]:
            text += f"{BETWEEN}{tag}: {nested_question(mind, n)}\n{lead}:"
            text = _answer(text, mind.values[n], stage, spans)
    return locate_sources(Transcript(text, spans), mind)


def _answer(text: str, answer: str, stage: str, spans: list[WrittenSpan]) -> str:
    """The text with an answer, whose span is added to `spans`."""
    spans.append(WrittenSpan(stage, len(text), len(text) + 1 + len(answer), ends=True))
    return f"{text} {answer}"


def drill_recall(
    library: Library, riddles: Sequence[Riddle], rng: random.Random
) -> Transcript:
    """Questions that are answered directly, from memory."""
    answered = []
    for riddle in riddles:
        mind = Mind(riddle, library, known_facts().get, rng)
        mind.settle_all()
        spans = []
        prompt = open_prompt(*RECALLING.split("/"))(question_of(mind)).rstrip()
        text = _answer(prompt, mind.conclude()[1], RECALLING, spans)
        answered.append(locate_sources(Transcript(text, spans), mind))
    return join_transcripts(answered, BETWEEN)
