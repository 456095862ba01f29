"""For tests of retrieval: random corpora, killed programs, differences of two BM25s."""

import json
import random
import subprocess
import sys
from pathlib import Path

from asking import ask

from ircotlib.data import Paragraph
from ircotlib.files import ROOT
from ircotlib.retrieval.corpus import Corpus, write_corpus

ENDS = ("ano", "oru", "ulo", "agi")
WORDS = [f"{start}{end}" for start in "bcdfghjklm" for end in ENDS]


def random_text(chance: random.Random, most: int) -> str:
    """Random words; the first ones of the list are frequent, the last ones rare."""
    count = chance.randint(1, most)
    places = [int(len(WORDS) * chance.random() ** 3) for _ in range(count)]
    return " ".join(WORDS[place] for place in places)


def random_paragraphs(count: int, most: int = 120) -> list[Paragraph]:
    chance = random.Random(count)
    texts = [(random_text(chance, 3), random_text(chance, most)) for _ in range(count)]
    return [Paragraph(f"p{number}", *pair) for number, pair in enumerate(texts)]


def titled(*titles: str, text: str = "word") -> list[Paragraph]:
    """Paragraphs with these titles and the same text; each id is its position."""
    return [Paragraph(str(number), title, text) for number, title in enumerate(titles)]


def write_in(folder: Path, paragraphs: list[Paragraph]) -> Corpus:
    return write_corpus(folder / "corpus", paragraphs)


HANG = """
import sys, time
from itertools import islice
from pathlib import Path
from ircotlib.retrieval.corpus import Corpus, write_corpus

def hang(items, *_):
    yield from islice(items, 200)
    print("half", flush=True)
    time.sleep(60)
"""


def run_and_kill(code: str, *arguments) -> None:
    """Run a program in which `hang` stops after 200 items, and kill it there."""
    command = [sys.executable, "-c", HANG + code, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "half\n"
        process.kill()


def positions_in(reply: str) -> list[int]:
    return [position for position, _ in json.loads(reply)]


def compare(embedded, server, requests: list) -> None:
    """Check that at least 99% of the replies have the same order.

    The scores of the others differ by rounding: one adds the parts of a score in 32
    bits, the other in 64, which makes or breaks a tie, and may let another paragraph of
    it in at the end.
    """
    same = 0
    for ours, theirs in zip(
        ask(embedded, requests), ask(server, requests), strict=True
    ):
        same += ours == theirs or positions_in(ours) == positions_in(theirs)
        pairs = zip(json.loads(ours), json.loads(theirs), strict=True)
        assert all(abs(score - other) < 0.0015 for (_, score), (_, other) in pairs)
    assert same >= 0.99 * len(requests)
