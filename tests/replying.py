"""Runs the programs of systems with given replies, and writes their prompts."""

import json

from ircotlib.data import Paragraph, Question
from ircotlib.files import PROMPTS
from ircotlib.program import Sampled
from ircotlib.prompting.prompt import Prompt, read_template

# of data sets: share examples
FAMILIES = "multihop strategyqa slotfilling fever eli5".split()


def send(program, replies):
    """Run a program with these replies, in order; return its requests and its result."""
    requests = []
    try:
        for reply in [None, *replies]:
            requests.append(program.send(reply))
    except StopIteration as stop:
        assert len(requests) == len(replies), "replies are left"
        return requests, stop.value
    raise AssertionError(
        f"the program wants more than {len(replies)} replies: {requests[-1]}"
    )


def writers(system, *stages, demonstrations=()):
    """The prompt writers of a system, from its templates, with these demonstrations."""
    return {
        stage: Prompt(demonstrations, len, read_template(system, stage), 100_000)
        for stage in stages
    }


def own_demonstrations(system, stage, family):
    """The demonstrations of a file of prompts/own."""
    text = (PROMPTS / "own" / system / f"{stage}.{family}.txt").read_text(
        encoding="utf-8"
    )
    source, _, blocks = text.partition("\n")
    assert source.startswith("# ")
    return blocks.strip("\n").split("\n\n\n")


def drawn(*texts, scores=None):
    """The reply to a Sample."""
    scores = [None] * len(texts) if scores is None else scores
    return tuple(Sampled(*pair) for pair in zip(texts, scores, strict=True))


def count_words(text):
    """How many words a text has, in place of a model's tokens."""
    return len(text.split())


def real_question(path, number):
    """A question of a file of HotpotQA or 2WikiMultihopQA, and the paragraphs of its
    context.
    """
    row = json.loads(path.read_text(encoding="utf-8"))[number]
    context = [
        Paragraph(f"p{i}", title, "".join(s))
        for i, (title, s) in enumerate(row["context"])
    ]
    return Question(
        "q", row["question"], (row["answer"],), (), path.parent.name
    ), context


def write(question, paragraphs=(), thoughts=(), n=None):
    """A prompt that shows its arguments; like Prompt, it always shows the main passage."""
    text = question.text if n is None else f"{n} titles for {question.text}"
    main = [] if question.passage is None else [question.passage]
    shown = main + [paragraph for paragraph in paragraphs if paragraph not in main]
    return f"{text} | {' '.join(p.id for p in shown)} | {' '.join(thoughts)}"


def stages(*names):
    """A writer for each stage, whose prompts show the stage and the arguments."""

    def writer(name):
        def write(question, paragraphs=(), thoughts=(), **fields):
            shown = " ".join(paragraph.id for paragraph in paragraphs)
            values = [
                name,
                question.text,
                shown,
                " ".join(thoughts),
                *map(str, fields.values()),
            ]
            return "|".join(values).rstrip()

        return write

    return {name: writer(name) for name in names}


# A question of IRCoT's kind, with the paragraphs retrieved and the thoughts written for
# it

ASKED = "In what country was Lost Gravity manufactured?"
QUESTION = Question("q", ASKED, ("Germany",), ("mack",), "test")
LOST = Paragraph(
    "lost", "Lost Gravity", "Lost Gravity is a roller coaster made by Mack Rides."
)
MACK = Paragraph("mack", "Mack Rides", "Mack Rides is a company in Waldkirch, Germany.")
PARK = Paragraph(
    "park", "Walibi Holland", "Walibi Holland is a theme park in Biddinghuizen."
)
WALD = Paragraph("wald", "Waldkirch", "Waldkirch is a town in the Black Forest.")
THOUGHTS = [
    "Lost Gravity was manufactured by Mack Rides.",
    "Mack Rides is a German company.",
]
THOUGHTS += ["So the answer is: Germany."]

# A question for systems that ask for its parts, and their paragraphs

CAPITAL_ASKED = "What is the capital of the country of Edvard Grieg?"
CAPITAL = Question("q", CAPITAL_ASKED, ("Oslo",), (), "test")
GRIEG = Paragraph("grieg", "Edvard Grieg", "Edvard Grieg was born in Bergen, Norway.")
OSLO = Paragraph("oslo", "Oslo", "Oslo is the capital of Norway.")
