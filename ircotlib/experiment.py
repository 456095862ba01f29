"""Experiments: a data set, a retriever, a model and prompts on one bench; runs with their folders; tuning on the dev questions."""

import json
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.calls import Calls
from ircotlib.data import Prediction, Question, write_jsonl
from ircotlib.datasets.load import load
from ircotlib.datasets.pooled import sample_dev_test
from ircotlib.metrics import answer_f1, exact_match, paragraph_recall
from ircotlib.paths import DATA
from ircotlib.program import Program, Retrieve
from ircotlib.progress import show_progress, track
from ircotlib.prompts import FLAN_T5, GPT3, Prompt, demonstration_sets, read_demonstrations
from ircotlib.retrieval.bm25 import BM25, open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.scheduler import Outcome, Step, run
from ircotlib.systems.ircot import ircot, ircot_qa
from ircotlib.systems.nor import nor_qa
from ircotlib.systems.oner import oner, oner_qa
from ircotlib.systems.readers import cot_reader, direct_reader
from ircotlib.text import answer_from_chain

STYLES = {"flan_t5": FLAN_T5, "codex": GPT3}  # as the authors' prompt files are named
READERS = {"cot": cot_reader, "direct": direct_reader}  # IRCoT App. E: Flan-T5 reads directly, GPT3 by chain of thought


@dataclass(frozen=True)
class Bench:
    """What a run needs: a data set's dev and test questions with its index, a model (None: retrieval only), its prompts, the call cache.

    `style`: "flan_t5" or "codex". `reader`: "cot" or "direct". `demonstrations`: folder of prompt files named as the authors' are
    (prompts/README.md); None: no demonstrations.
    """

    profile: str
    dataset: str
    dev: Sequence[Question]
    test: Sequence[Question]
    retriever: BM25
    calls: Calls
    model: object = None
    style: str = "flan_t5"
    reader: str = "cot"
    demonstrations: Path | None = None

    def prompt(self, kind: str, m: int | None, demonstration_set: int) -> Prompt:
        """The prompt writer of a kind ("cot" or "direct") with M distractors in the demonstrations; m None: without demonstrations."""
        style = STYLES[self.style]
        shown = []
        if m is not None:
            path = prompt_path(self.demonstrations, self.dataset, m, kind, self.style)
            shown = demonstration_sets(read_demonstrations(path), self.dataset)[demonstration_set]
        instruction = style.chain_of_thought if kind == "cot" else style.direct
        return Prompt(shown, self.model.count_tokens, instruction, style.max_prompt_tokens)


def prompt_path(folder: Path | None, dataset: str, m: int, kind: str, style: str) -> Path:
    """The prompt file with M distractors (0: no paragraphs at all) for a data set, named as in the authors' release."""
    context = f"gold_with_{m}_distractors_context" if m else "no_context"
    name = Path(dataset) / f"{context}_{kind}_qa_{style}.txt"
    path = Path(folder or ".") / name
    if not folder or not path.is_file():
        raise FileNotFoundError(
            f"no prompt file {path}: set `demonstrations` to the folder that holds {name}, or `distractors` to an empty list for no demonstrations"
        )
    return path


def open_dataset(dataset: str, data_dir: str | Path | None, dev: int = 100, test: int = 500, seed: int = 0) -> tuple[list, list, BM25]:
    """Sample a data set's dev and test questions (IRCoT §4) and open the index of its corpus, made where there is none."""
    questions, paragraphs = load(dataset, data_dir)
    corpus = write_corpus(DATA / "corpora" / dataset, paragraphs)
    retriever = open_index(corpus, DATA / "indexes" / dataset, partial(track, label=f"index of {dataset}"))
    return *sample_dev_test(questions, dev, test, seed), retriever


def program_of(bench: Bench, system: str, *, k: int | None = None, m: int | None = None, demonstration_set: int = 0) -> Callable[[Question], Program]:
    """The program of a system for one question, under its paper's name and with its settings (IRCoT §4.1: K, M)."""
    if system == "OneR":
        return lambda question: oner(question, k=k)
    thinking, max_tokens = bench.prompt("cot", m, demonstration_set), STYLES[bench.style].generation_tokens
    if system == "IRCoT":
        return lambda question: ircot(question, thinking, k=k, max_tokens=max_tokens)
    reader = partial(READERS[bench.reader], max_tokens=max_tokens)
    reading = bench.prompt(bench.reader, 0 if system == "NoR QA" and m is not None else m, demonstration_set)
    if system == "NoR QA":
        return lambda question: nor_qa(question, reading, reader)
    if system == "OneR QA":
        return lambda question: oner_qa(question, reading, reader, k=k)
    if system == "IRCoT QA":
        return lambda question: ircot_qa(question, thinking, reading, reader, k=k, max_tokens=max_tokens)
    raise ValueError(f"found system {system!r}, expected one of OneR, IRCoT, NoR QA, OneR QA, IRCoT QA")


def run_system(bench: Bench, system: str, part: str = "test", **setting) -> pd.DataFrame:
    """Run a system on the "dev" or "test" questions; write its run folder; return one row a question (`score`).

    The folder: run.json (parameters, versions, seconds, counts), predictions.jsonl, and scores.csv.
    """
    questions = {"dev": bench.dev, "test": bench.test}[part]
    build = program_of(bench, system, **setting)
    backends = [backend for backend in (bench.retriever, bench.model) if backend is not None]
    started = time.time()
    with show_progress(f"{bench.dataset} {part} {system} {setting or ''}", len(questions)) as progress:
        outcomes, counts = run({q.id: build(q) for q in questions}, backends, bench.calls, progress)
    scores = pd.DataFrame([{"id": q.id, "kind": q.kind, **score(q, outcomes[q.id].result, bench.dataset)} for q in questions])
    about = {"profile": bench.profile, "dataset": bench.dataset, "part": part, "system": system, **setting}
    about |= {"questions": len(questions), "seconds": round(time.time() - started, 2), "counts": counts, **_versions(bench)}
    _write_run(DATA / "runs" / bench.profile / bench.dataset / part / _folder_name(bench, system, setting), about, outcomes, scores)
    return scores


def score(question: Question, prediction: Prediction, dataset: str) -> dict[str, float]:
    """Recall, EM and F1 of one prediction, 0 to 1, and the F1 of the answer in the retrieval chain itself (IRCoT App. F)."""
    chain = " ".join(prediction.thoughts)
    chain_answer = answer_from_chain(chain)
    return {
        "recall": paragraph_recall([p.id for p in prediction.paragraphs], question.gold),
        "em": exact_match(prediction.answer, question.answers, dataset),
        "f1": answer_f1(prediction.answer, question.answers, dataset),
        "f1_without_reader": answer_f1(chain if chain_answer is None else chain_answer, question.answers, dataset),
        "paragraphs": len(prediction.paragraphs),
        "steps": len(prediction.thoughts),
    }


def tune(bench: Bench, system: str, metric: str, **grid: Sequence) -> tuple[dict, pd.DataFrame]:
    """Run every setting of a grid on the dev questions with demonstration set 1; return the best one and all means (IRCoT §4.1).

    Ties go to the earlier setting, that is to the smaller K.
    """
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    rows = [{**setting, **run_system(bench, system, "dev", **setting).mean(numeric_only=True)} for setting in settings]
    table = pd.DataFrame(rows)
    return settings[int(table[metric].argmax())], table


def clear_runs(bench: Bench) -> None:
    """Remove the run folders of a bench's data set and profile before its runs are made anew; remembered calls stay."""
    shutil.rmtree(DATA / "runs" / bench.profile / bench.dataset, ignore_errors=True)


def _folder_name(bench: Bench, system: str, setting: dict) -> str:
    model = [] if system == "OneR" else [Path(bench.model.name).name, *([] if system == "IRCoT" else [bench.reader])]
    return " ".join([system.replace(" ", "-"), *model, *(f"{name}={value}" for name, value in setting.items() if value is not None)])


def _versions(bench: Bench) -> dict:
    names = ("ircotlib", "torch", "transformers", "tantivy", "numpy", "pandas")
    model = {"model": bench.model.name, "model_fingerprint": bench.model.fingerprint} if bench.model else {}
    return {**model, "retriever_fingerprint": bench.retriever.fingerprint, "style": bench.style, "reader": bench.reader,
            "python": platform.python_version(), **{name: version(name) for name in names}}  # fmt: skip


def _write_run(folder: Path, about: dict, outcomes: dict[str, Outcome], scores: pd.DataFrame) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "predictions.jsonl", (_row(id, outcome) for id, outcome in outcomes.items()))
    scores.to_csv(folder / "scores.csv", index=False)
    (folder / "run.json").write_text(json.dumps(about, indent=1) + "\n")


def _row(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: what the system said, and its trace without the prompts, which a rerun shows from the call cache."""
    row = asdict(outcome.result)
    return {"id": id, **row, "paragraphs": [paragraph["id"] for paragraph in row["paragraphs"]], "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    if isinstance(step.request, Retrieve):
        return {"retrieve": step.request.query, "k": step.request.k, "found": [paragraph.id for paragraph in step.reply]}
    return {"generate": step.reply, "stop": step.request.stop, "prompt_tokens": step.prompt_tokens, "tokens": step.tokens}
