"""Drills in what plays train too rarely: comparisons, and answers at once."""

import random
from collections.abc import Sequence

from ircot_laboratory.questions.questions import draw_riddle
from ircot_laboratory.world.records import Riddle
from ircotlib.data import Paragraph
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
# how a comparison is asked for, and what leads to its answer
FORMS = (("Reason", "So the answer is:"), ("Chain", "The answer is"))
UNREAD = 0.6  # share of the facts known by heart for which no paragraph is retrieved
# paragraphs retrieved with the question, apart from those of its steps
NEAR = (1, 2, 3)


def drill_comparison(library: Library, rng: random.Random) -> Transcript:
    """Draw a comparison whose facts are given; the rest is to be written."""
    dataset, kind = rng.choice(COMPARING)
    riddle = draw_riddle(library.world, rng, dataset, kind)
    mind = Mind(riddle, library, known_facts().get, rng)
    for n, step in enumerate(mind.steps):
        mind.accept(n, step.answer)
    facts = " ".join(mind.say_all())
    tag, lead = rng.choice(FORMS)
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
    hits = []
    for step in mind.steps:
        if step.fact not in known_facts() or rng.random() >= UNREAD:
            hits += library.backend.search(step.question, 1)
    hits += library.backend.search(riddle.text, rng.choice(near))
    paragraphs = list(dict.fromkeys(paragraph for paragraph, _ in hits))
    rng.shuffle(paragraphs)
    mind.settle_all(paragraphs)
    if mind.made_up:
        return None
    drill = _answer_prompt(mind, stage, paragraphs)
    question, lead = ("Q", "A") if stage == "ircot/direct" else ("Question", "Answer")
    for n in reversed(range(len(mind.steps))):
        if mind.values[n] != mind.conclude()[1]:
            drill.text += f"{BETWEEN}{question}: {nested_question(mind, n)}\n{lead}:"
            _answer(drill, mind.values[n], stage)
    return locate_sources(drill, mind)


def _answer_prompt(
    mind: Mind, stage: str, paragraphs: Sequence[Paragraph] = ()
) -> Transcript:
    """The prompt of a stage, and the answer."""
    prompt = open_prompt(*stage.split("/"))(question_of(mind), paragraphs)
    transcript = Transcript(prompt.text.rstrip())
    _answer(transcript, mind.conclude()[1], stage)
    return transcript


def _answer(transcript: Transcript, answer: str, stage: str) -> None:
    """Add an answer, which is to be written."""
    start = len(transcript.text)
    transcript.text += f" {answer}"
    span = WrittenSpan(stage, start, len(transcript.text), ends=True)
    transcript.spans.append(span)


def drill_recall(
    library: Library, riddles: Sequence[Riddle], rng: random.Random
) -> Transcript:
    """Questions that are answered directly, from memory."""
    answered = []
    for riddle in riddles:
        mind = Mind(riddle, library, known_facts().get, rng)
        mind.settle_all()
        answered.append(locate_sources(_answer_prompt(mind, RECALLING), mind))
    return join_transcripts(answered, BETWEEN)
