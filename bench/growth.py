"""Measures what a question costs outside the model as questions become more: python -m bench.growth
Writes figures/bench_growth.csv: CPU seconds and memory a question of whole runs, written to their
folders. Texts are written by a script, or by a T5 or a Llama of one layer with random weights.

Each row is measured in a process of its own. What the passes of a T5 or a Llama take is measured
and left out; left in is all that LocalModel does around them: it tokenizes, cuts batches, hashes
prompts, keeps and finds prefixes, chooses tokens and reads texts. Memory is that above a run of
FEWEST questions: above a model's, when as many programs wait as ever do.
"""

import json
import multiprocessing
import resource
import shutil
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import product
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from zlib import crc32

import pandas as pd
import torch

from ircotlib.data import Question
from ircotlib.engine.cache import Calls
from ircotlib.experiment import setup
from ircotlib.experiment.runs import Run, carry_out
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.files.options import new_parser
from ircotlib.files.paths import FIGURES, MODELS
from ircotlib.generation.local import LocalModel
from ircotlib.generation.replies import count_rows, read_reply, write_reply
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, Sample
from ircotlib.prompting.prompt import Style
from ircotlib.results.figures.panels import save_figure
from ircotlib.systems import all_systems

SYSTEMS = {"IRCoT QA": {"k": 4}, "SearChain": {}}
BATCHES, PROMPTS = (32, 128), (300, 6000)
SIZES = {"scripted": (100, 1000, 4000, 10_000), "T5": (100, 1000, 2000)}
SIZES |= {"Llama": (100, 1000, 4000)}
LONGEST = 150  # CPU seconds of a run: sizes that would take longer, by the run before, are left out
FEWEST = {"scripted": 100, "T5": 1000, "Llama": 1000}
WORD = 4.7  # characters of a token, about, in prompts
WRITTEN = 8  # tokens of a text that a random model writes, at most
LIKE = {"T5": "mini-base", "Llama": "agent"}  # whose tokenizer and configuration they have
TINY = {
    "T5": {"d_model": 16, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_decoder_layers": 1},
    "Llama": {"hidden_size": 16, "head_dim": 16, "intermediate_size": 32, "num_hidden_layers": 1},
}
TINY["T5"] |= {"num_heads": 1}
TINY["Llama"] |= {"num_attention_heads": 1, "num_key_value_heads": 1}
TINY["Llama"] |= {"max_position_embeddings": 8192}


class Found(NamedTuple):
    """What a run takes: CPU seconds but for those of the model's passes, these, and memory."""

    seconds: float
    passes: float
    kb: int


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


class Padded(Setup):
    """A bench whose prompts have so many more characters before the question."""

    more = 0

    @property
    def style(self) -> Style:
        """How its model is prompted: for short texts."""
        return replace(super().style, generation_tokens=WRITTEN, chain_tokens=WRITTEN)

    def prompt(self, *args, **options):
        """The prompt writer of a stage."""
        write, before = super().prompt(*args, **options), "word " * (self.more // 5)
        return lambda *shown, **fields: f"{before}{write(*shown, **fields)}"


def ask_again(questions: Sequence[Question], size: int) -> list[Question]:
    """So many questions, which are these again and again, each with a number."""
    rounds = range(-(-size // len(questions)))
    asked = [replace(q, id=f"{q.id} {n}", text=f"{q.text} {n}") for n in rounds for q in questions]
    return asked[:size]


def make_model(kind: str, folder: Path, rows: int) -> LocalModel:
    """A model of one layer with random weights."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    kept = MODELS / LIKE[kind]
    config = AutoConfig.from_pretrained(kept, **TINY[kind])
    torch.manual_seed(0)
    make = AutoModelForSeq2SeqLM if kind == "T5" else AutoModelForCausalLM
    make.from_config(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(kept / name, folder)
    return LocalModel(str(folder), batch_rows=rows)


def time_passes(model) -> array:
    """An array to which each pass of a model from now on adds its CPU seconds."""
    spent = array("d")

    def timed(forward: Callable) -> Callable:
        @wraps(forward)
        def pass_on(*args, **options):
            started = time.thread_time()
            try:
                return forward(*args, **options)
            finally:
                spent.append(time.thread_time() - started)

        return pass_on

    for part in (model, model.get_encoder()) if model.config.is_encoder_decoder else (model,):
        part.forward = timed(part.forward)
    return spent


def measure(writer: str, name: str, size: int, batch: int, tokens: int) -> Found:
    """What a run takes."""
    p = read_parameters("mini").change(dev=0, test=None)
    p = p if writer == "T5" else p.for_agent()
    with tempfile.TemporaryDirectory() as folder, patch.object(setup, "DATA", Path(folder)):
        opened = open_setup(p, "musique", "growth", with_model=False)
        if writer == "scripted":
            model, passes = Scripted(batch), []
        else:
            model = make_model(writer, Path(folder) / "model", batch)
            passes = time_passes(model.model)
        calls = Calls(Path(folder) / "calls.sqlite")
        opened = replace(opened, model=model, calls=calls, extractor=None)
        asked = replace(opened, test=ask_again(opened.test, size))
        bench = Padded(**{name: getattr(asked, name) for name in asked.__dataclass_fields__})
        object.__setattr__(bench, "more", int(tokens * WORD))
        started = time.process_time()
        carry_out(Run(bench, all_systems()[name], "test", SYSTEMS[name]))
        seconds = time.process_time() - started
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Found(seconds - sum(passes), sum(passes), most)


def _send(connection, *what) -> None:
    connection.send(json.dumps(measure(*what)))


def alone(*what) -> Found:
    """What `measure` gives, in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_send, args=(there, *what))
    process.start()
    found = Found(*json.loads(here.recv()))
    process.join()
    return found


def measure_all(writer: str) -> Iterator[dict]:
    """The rows of a writer."""
    for name, batch, tokens in product(SYSTEMS, BATCHES, PROMPTS):
        if writer in TINY and (batch, tokens) not in ((128, 300), (32, 6000)):
            continue  # LocalModel.batch_tokens: no batch has more than five of 6,000 tokens
        kb, seconds = {}, 0.0  # by size; a question, with the model's passes
        for size in SIZES[writer]:
            if seconds * size > LONGEST:
                break
            found = alone(writer, name, size, batch, tokens)
            kb[size], seconds = found.kb, (found.seconds + found.passes) / size
            row = {"writer": writer, "system": name, "batch": batch, "prompt_tokens": tokens}
            row |= {"questions": size, "ms_a_question": 1000 * found.seconds / size}
            row |= {"ms_of_passes": 1000 * found.passes / size if found.passes else None}
            if size > (fewest := FEWEST[writer]):
                row["kb_a_question"] = (kb[size] - kb[fewest]) / (size - fewest)
            print(row, flush=True)
            yield row


def main() -> None:
    parser = new_parser(__doc__)
    help = "only this; the rows of the others are kept"
    parser.add_argument("--writer", choices=SIZES, help=help)
    options = parser.parse_args()
    writers = [options.writer] if options.writer else [*SIZES]
    kept = pd.read_csv(FIGURES / "bench_growth.csv")
    rows = pd.DataFrame(row for writer in writers for row in measure_all(writer)).round(2)
    rows = pd.concat([kept[~kept.writer.isin(writers)], rows])
    save_figure(None, rows, "bench_growth")


if __name__ == "__main__":
    main()
