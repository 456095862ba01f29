"""Measures what a question costs outside the model as questions become more: python -m bench.growth
Writes figures/bench_growth.csv: CPU seconds and memory a question of whole runs, written to their
folders, whose texts are written by a script.

Each row is measured in a process of its own. Its memory is that above a run of FEWEST questions.
"""

import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import pandas as pd

from ircotlib.data import Question
from ircotlib.files.options import new_parser, read_count
from ircotlib.generation.replies import count_rows, read_reply, write_reply
from ircotlib.parameters import read_parameters
from ircotlib.playing.cache import Calls
from ircotlib.program import Generate, Sample
from ircotlib.results.figures.panels import save_figure
from ircotlib.running import bench as setup
from ircotlib.running.bench import Bench, open_bench
from ircotlib.running.experiment import carry_out
from ircotlib.running.run import Run
from ircotlib.systems import all_systems

SYSTEMS = {"IRCoT QA": {"k": 4}, "SearChain": {}}
BATCHES, PROMPTS, SIZES = (32, 128), (300, 6000), (100, 1000, 4000, 10_000)
FEWEST = 100
WORD = 4.7  # characters of a token, about, in prompts


@dataclass
class Scripted:
    """Writes a chain of three sentences, or SearChain's of a query, many prompts at a time."""

    rows: int
    answers = Generate, Sample
    decode = staticmethod(read_reply)
    fingerprint = "scripted"
    name = "scripted"
    is_encoder_decoder = False

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())

    def take(self, requests: Sequence) -> list[int]:
        """The first prompts."""
        return list(range(min(self.rows, len(requests))))

    def answer(self, requests: Sequence) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply."""
        for index, request in enumerate(requests):
            fact = f"One more fact has the number {crc32(request.prompt.encode())}."
            text = fact if request.prompt.count(fact[:20]) < 3 else "So the answer is: it."
            if "SearChain" in getattr(request.prompt, "purpose", ""):
                text = f"[Query 1]: {fact}\n[Answer 1]: it.\n[Final Content]: So it is it."
            rows = [(text, None, 9)] * count_rows(request)
            yield index, write_reply(request, 300, rows)


class Padded(Bench):
    """A bench whose prompts have so many more characters before the question."""

    more = 0

    def prompt(self, *args, **options):
        """The prompt writer of a stage."""
        write, before = super().prompt(*args, **options), "word " * (self.more // 5)
        return lambda *shown, **fields: f"{before}{write(*shown, **fields)}"


def ask_again(questions: Sequence[Question], size: int) -> list[Question]:
    """So many questions, which are these again and again, each with a number."""
    rounds = range(-(-size // len(questions)))
    asked = [replace(q, id=f"{q.id} {n}", text=f"{q.text} {n}") for n in rounds for q in questions]
    return asked[:size]


def measure(name: str, size: int, batch: int, tokens: int) -> dict:
    """CPU seconds and the most memory, in KB, of a run."""
    p = read_parameters("mini").for_agent().change(dev=0, test=None)
    with tempfile.TemporaryDirectory() as folder:
        with patch.object(setup, "DATA", Path(folder)):
            opened = open_bench(p, "musique", "growth", with_model=False)
        opened = replace(opened, model=Scripted(batch), calls=Calls(), extractor=None)
        asked = replace(opened, test=ask_again(opened.test, size))
        bench = Padded(**{name: getattr(asked, name) for name in asked.__dataclass_fields__})
        object.__setattr__(bench, "more", int(tokens * WORD))
        with patch.object(setup, "DATA", Path(folder)):
            started = time.process_time()
            carry_out(Run(bench, all_systems()[name], "test", SYSTEMS[name]))
            seconds = time.process_time() - started
    return {"seconds": seconds, "kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def _send(connection, *what) -> None:
    connection.send(json.dumps(measure(*what)))


def alone(*what) -> dict:
    """What `measure` gives, in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_send, args=(there, *what))
    process.start()
    found = json.loads(here.recv())
    process.join()
    return found


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--most", type=read_count, default=SIZES[-1], help="questions")
    options = parser.parse_args()
    rows = []
    for name, batch, tokens in product(SYSTEMS, BATCHES, PROMPTS):
        least = alone(name, FEWEST, batch, tokens)["kb"]
        for size in (size for size in SIZES if size <= options.most):
            found = alone(name, size, batch, tokens)
            row = {"system": name, "batch": batch, "prompt_tokens": tokens, "questions": size}
            row |= {"ms_a_question": 1000 * found["seconds"] / size}
            more = (found["kb"] - least) / (size - FEWEST) if size > FEWEST else None
            rows.append(row | {"kb_a_question": more})
            print(rows[-1], flush=True)
    save_figure(None, pd.DataFrame(rows).round(2), "bench_growth")


if __name__ == "__main__":
    main()
