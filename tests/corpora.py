"""For tests of retrieval: corpora of random words, flipped bits and killed programs, and how the
replies of two BM25s may differ.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

from asking import ask

from ircotlib.data import Paragraph
from ircotlib.files.paths import ROOT, writing

WORDS = [f"{start}{end}" for start in "bcdfghjklm" for end in ("ano", "oru", "ulo", "agi")]


def random_text(chance: random.Random, most: int) -> str:
    """Random words; the first ones of the list are frequent, the last ones rare."""
    words = (WORDS[int(len(WORDS) * chance.random() ** 3)] for _ in range(chance.randint(1, most)))
    return " ".join(words)


def random_paragraphs(count: int, most: int = 120) -> list[Paragraph]:
    chance = random.Random(count)
    texts = [(random_text(chance, 3), random_text(chance, most)) for _ in range(count)]
    return [Paragraph(f"p{number}", *pair) for number, pair in enumerate(texts)]


def titled(*titles: str, text: str = "word") -> list[Paragraph]:
    """Paragraphs with these titles and the same text; each id is its position."""
    return [Paragraph(str(number), title, text) for number, title in enumerate(titles)]


def tied_paragraphs() -> list[Paragraph]:
    """Sixty short paragraphs, all of them eight times."""
    once = random_paragraphs(60, most=6)
    return [Paragraph(f"{turn}-{p.id}", p.title, p.text) for turn in range(8) for p in once]


def repeated_paragraphs() -> list[Paragraph]:
    """Short paragraphs; each text occurs up to 90 times, in any case, under different titles."""
    chance, titles = random.Random(7), [paragraph.title for paragraph in random_paragraphs(40)]
    texts = [paragraph.text for paragraph in random_paragraphs(40, most=6)]
    times = [90, 30, *[chance.randint(1, 5) for _ in texts[2:]]]
    cases = (str, str.upper, str.title)
    repeated = [chance.choice(cases)(text) for text, n in zip(texts, times) for _ in range(n)]
    chance.shuffle(repeated)
    return [Paragraph(f"p{n}", chance.choice(titles), text) for n, text in enumerate(repeated)]


def flip(path: Path, bit: int) -> None:
    """Flip a bit of a file, in a new file of that name: the old one may be memory-mapped."""
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    with writing(path) as new:
        new.write_bytes(content)


HANG = """
import sys, time
from itertools import islice
from ircotlib.retrieval.corpus import Corpus

def hang(items, count):
    yield from islice(items, count)
    print("half", flush=True)
    time.sleep(60)
"""


def run_and_kill(code: str, *arguments) -> None:
    """Run a program in which `hang` hangs after so many items, and kill it there."""
    command = [sys.executable, "-c", HANG + code, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "half\n"
        process.kill()


def positions_in(reply: str) -> list[int]:
    return [position for position, _ in json.loads(reply)]


def differs_by_rounding(reply: str, other: str) -> bool:
    """Whether two replies to Retrieve differ only by rounding.

    The embedded index adds the parts of a score in 32 bits, the server in 64. One of them may round
    a score up and the other down, if it is halfway between two thousandths. That makes or breaks a
    tie, and may let another paragraph of that tie in at the end.
    """
    if '"' in reply + other:  # titles
        return False
    scores, others = dict(json.loads(reply)), dict(json.loads(other))
    ends = min(scores.values(), default=0), min(others.values(), default=0)
    near = [abs(scores[position] - others[position]) for position in scores.keys() & others.keys()]
    alone = scores.keys() ^ others.keys()
    near += [abs((scores | others)[position] - end) for position in alone for end in ends]
    return len(scores) == len(others) and all(difference < 0.0015 for difference in near)


def compare(embedded, server, requests: list) -> None:
    """Check that at least 99% of the replies have the same order, and that rounding explains the
    other ones.
    """
    pairs = list(zip(ask(embedded, requests), ask(server, requests), strict=True))
    differing = [(one, other) for one, other in pairs if one != other]
    assert [pair for pair in differing if not differs_by_rounding(*pair)] == []
    same = sum(one == other or positions_in(one) == positions_in(other) for one, other in pairs)
    assert same >= 0.99 * len(requests)
