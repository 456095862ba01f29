"""Runs the programs of systems with given replies, and writes their prompts."""

from ircotlib.data import Paragraph, Question
from ircotlib.program import Prompt, Sampled
from ircotlib.prompting.prompt import PromptWriter, read_template


def send(program, replies):
    """Run a program with these replies, in order; return its requests and result."""
    requests = []
    try:
        for reply in [None, *replies]:
            requests.append(program.send(reply))
    except StopIteration as stop:
        assert len(requests) == len(replies), "replies are left"
        return requests, stop.value
    raise AssertionError(f"the program wants a reply to {requests[-1]}")


class TextWriter(PromptWriter):
    """A prompt writer that returns the text of the Prompt alone."""

    def __call__(self, *given, **fields) -> str:
        return super().__call__(*given, **fields).text


def writers(system, *stages, demonstrations=()):
    """The prompt writers of a system, from its templates, with these demonstrations."""
    return {
        stage: PromptWriter(demonstrations, len, read_template(system, stage), 100_000)
        for stage in stages
    }


def drawn(*texts, scores=None):
    """The reply to a Sample."""
    scores = [None] * len(texts) if scores is None else scores
    return tuple(Sampled(*pair) for pair in zip(texts, scores, strict=True))


def count_words(text):
    """How many words a text has, in place of a model's tokens."""
    return len(text.split())


def write(question, paragraphs=(), thoughts=(), n=None):
    """A prompt that shows its arguments; like a PromptWriter, it always shows the main
    passage.
    """
    text = question.text if n is None else f"{n} titles for {question.text}"
    ids = [paragraph.id for paragraph in paragraphs if paragraph != question.passage]
    if question.passage is not None:
        ids.insert(0, question.passage.id)
    return f"{text} | {' '.join(ids)} | {' '.join(thoughts)}"


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
            return Prompt("|".join(values).rstrip())

        return write

    return {name: writer(name) for name in names}


# A question of IRCoT's kind, with the paragraphs and the thoughts for it

ASKED = "In what country was Lost Gravity manufactured?"
QUESTION = Question("q", ASKED, ("Germany",), ("mack",), "test")
MADE = "Lost Gravity is a roller coaster made by Mack Rides."
LOST = Paragraph("lost", "Lost Gravity", MADE)
MACK = Paragraph("mack", "Mack Rides", "Mack Rides is a company in Waldkirch, Germany.")
LIES = "Walibi Holland is a theme park in Biddinghuizen."
PARK = Paragraph("park", "Walibi Holland", LIES)
WALD = Paragraph("wald", "Waldkirch", "Waldkirch is a town in the Black Forest.")
THOUGHTS = [
    "Lost Gravity was manufactured by Mack Rides.",
    "Mack Rides is a German company.",
    "So the answer is: Germany.",
]

# A question for systems that ask for its parts, and their paragraphs

CAPITAL_ASKED = "What is the capital of the country of Edvard Grieg?"
CAPITAL = Question("q", CAPITAL_ASKED, ("Oslo",), (), "test")
GRIEG = Paragraph("grieg", "Edvard Grieg", "Edvard Grieg was born in Bergen, Norway.")
OSLO = Paragraph("oslo", "Oslo", "Oslo is the capital of Norway.")
