"""Experiments: a data set, a retriever, a model and prompts on one bench; runs with their folders;
tuning on the dev questions.
"""

import json
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.calls import Calls
from ircotlib.data import Prediction, Question, write_jsonl
from ircotlib.datasets.load import load
from ircotlib.datasets.pooled import sample_dev_test
from ircotlib.metrics import answer_f1, exact_match, paragraph_recall
from ircotlib.paths import DATA, resolve
from ircotlib.program import NearestTitle, Program, Retrieve
from ircotlib.progress import show_progress, track
from ircotlib.prompts import STYLES, Prompt, Style, demonstration_sets, read_demonstrations
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.scheduler import Outcome, Step, run
from ircotlib.systems.iirc import within_pages
from ircotlib.systems.ircot import ircot, ircot_qa
from ircotlib.systems.nor import nor_qa
from ircotlib.systems.oner import oner, oner_qa
from ircotlib.systems.readers import cot_reader, direct_reader
from ircotlib.text import answer_from_chain

# IRCoT App. E: Flan-T5 reads directly, GPT3 by chain of thought
READERS = {"cot": cot_reader, "direct": direct_reader}


@dataclass(frozen=True)
class Bench:
    """What a run needs: a data set's dev and test questions with its index, a model (None:
    retrieval only), its prompts, the call cache.

    `retriever`: a BM25 or an Elasticsearch over the data set's corpus. `style`: "flan_t5" or
    "codex". `reader`: "cot" or "direct". `demonstrations`: folder of prompt files named as the
    authors' are (prompts/README.md); None: no demonstrations. `shown`: the data set whose
    demonstrations are shown, None: its own (IRCoT §5, OOD). `context_tokens`: the model's window,
    None: that of the style. `experiment`: the part of the run folders that its runs go to.
    """

    profile: str
    dataset: str
    dev: Sequence[Question]
    test: Sequence[Question]
    retriever: object
    calls: Calls
    model: object = None
    style: str = "flan_t5"
    reader: str = "cot"
    demonstrations: Path | None = None
    shown: str | None = None
    context_tokens: int | None = None
    experiment: str = "ircot"

    @property
    def window(self) -> Style:
        """The style with the window of this bench's model."""
        style = STYLES[self.style]
        return replace(style, context_tokens=self.context_tokens) if self.context_tokens else style

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return DATA / "runs" / self.profile / self.experiment / self.dataset

    def prompt(self, kind: str, m: int | None, demonstration_set: int) -> Prompt:
        """The prompt writer of a kind ("cot", "direct" or "titles") with M distractors in the
        demonstrations; m None: without demonstrations.
        """
        if self.model is None:
            raise ValueError(
                f"found no model on the bench of {self.dataset}, expected one to write for: open the bench with a model"
            )
        style, dataset, chosen = self.window, self.shown or self.dataset, []
        if m is not None:
            path = prompt_path(self.demonstrations, dataset, m, kind, self.style)
            chosen = demonstration_sets(read_demonstrations(path), dataset, folder=path.parents[1])[
                demonstration_set
            ]
        instruction = style.chain_of_thought if kind == "cot" else style.direct
        return Prompt(
            chosen,
            self.model.count_tokens,
            instruction,
            style.max_prompt_tokens,
            style.passage_last,
        )


def prompt_path(folder: Path | None, dataset: str, m: int, kind: str, style: str) -> Path:
    """The prompt file with M distractors (0: no paragraphs at all) for a data set, named as in the
    authors' release.

    `folder`: absolute, or relative to the repository. The file of the kind "titles", for IIRC, has
    no distractors, whatever M.
    """
    context = f"gold_with_{m}_distractors_context" if m else "no_context"
    name = Path(dataset) / (
        f"no_context_open_llm_retrieval_{style}.txt"
        if kind == "titles"
        else f"{context}_{kind}_qa_{style}.txt"
    )
    path = Path(resolve(str(folder or "."))) / name
    if not folder or not path.is_file():
        raise FileNotFoundError(
            f"no prompt file {path}: set `demonstrations` to the folder that holds {name}, or `distractors` to an empty list for no demonstrations"
        )
    return path


def open_dataset(
    dataset: str,
    data_dir: str | Path | None,
    dev: int = 100,
    test: int = 500,
    seed: int = 0,
    retriever: str = "embedded",
    corpus: str = "pooled",
) -> tuple[list, list, object]:
    """Sample a data set's dev and test questions (IRCoT §4) and open the index of its corpus, made
    where there is none.

    `data_dir`, `corpus`: see `load`. `retriever`: "embedded", or the address of an Elasticsearch,
    "http://host:9200"; of a cluster several with commas between them: its index then has as many
    shards as there are addresses, each twice. Credentials come from the environment
    (elastic_client.connect).
    """
    questions, paragraphs = load(dataset, data_dir, corpus)
    name = (
        f"{dataset}-full"
        if corpus == "full"
        else f"{Path(data_dir or 'laboratory').resolve().name}-{dataset}"
    )
    stored = paragraphs if corpus == "full" else write_corpus(DATA / "corpora" / name, paragraphs)
    progress = partial(track, label=f"index of {name}")
    if retriever == "embedded":
        backend = open_index(stored, DATA / "indexes" / name, progress)
    else:
        from ircotlib.retrieval.elastic_load import open_elasticsearch  # its client is an extra

        nodes = len(retriever.split(","))
        backend = open_elasticsearch(
            stored,
            retriever,
            f"ircot-{name}".lower(),
            progress,
            shards=nodes,
            replicas=min(1, nodes - 1),
        )
    return *sample_dev_test(questions, dev, test, seed), backend


def program_of(
    bench: Bench,
    system: str,
    *,
    k: int | None = None,
    m: int | None = None,
    demonstration_set: int = 0,
) -> Callable[[Question], Program]:
    """The program of a system for one question, under its paper's name and with its settings (IRCoT
    §4.1: K, M).

    For a question with a main passage, what retrieves does so within pages that the model names
    first (App. B); their titles are asked for with demonstrations unless M is None, by OneR, which
    has no M, if the bench has demonstrations.
    """
    play = _system(bench, system, k, m, demonstration_set)
    shown = 0 if system == "OneR" and bench.demonstrations else m
    # read for questions with a passage only
    ask_titles = cache(lambda: bench.prompt("titles", shown, demonstration_set))
    max_tokens = STYLES[bench.style].generation_tokens

    def program(question: Question) -> Program:
        if question.passage is None or system == "NoR QA":
            return play(question)
        return within_pages(question, ask_titles(), play, max_tokens=max_tokens)

    return program


def _system(
    bench: Bench, system: str, k: int | None, m: int | None, demonstration_set: int
) -> Callable[..., Program]:
    """The program of a system for a question, within the pages `titles` if these are given."""
    if system == "OneR":
        return partial(oner, k=k)
    thinking, max_tokens = (
        bench.prompt("cot", m, demonstration_set),
        STYLES[bench.style].generation_tokens,
    )
    if system == "IRCoT":
        return partial(ircot, prompt=thinking, k=k, max_tokens=max_tokens)
    reader = partial(READERS[bench.reader], max_tokens=max_tokens)
    reading = bench.prompt(
        bench.reader, 0 if system == "NoR QA" and m is not None else m, demonstration_set
    )
    if system == "NoR QA":
        return partial(nor_qa, prompt=reading, reader=reader)
    if system == "OneR QA":
        return partial(oner_qa, prompt=reading, reader=reader, k=k)
    if system == "IRCoT QA":
        return partial(
            ircot_qa,
            prompt=thinking,
            reader_prompt=reading,
            reader=reader,
            k=k,
            max_tokens=max_tokens,
        )
    raise ValueError(
        f"found system {system!r}, expected one of OneR, IRCoT, NoR QA, OneR QA, IRCoT QA"
    )


def run_system(bench: Bench, system: str, part: str = "test", **setting) -> pd.DataFrame:
    """Run a system on the "dev" or "test" questions; write its run folder; return one row a
    question (`score`).

    The folder: run.json (parameters, versions, seconds, counts), predictions.jsonl, and scores.csv.
    """
    questions = {"dev": bench.dev, "test": bench.test}[part]
    build = program_of(bench, system, **setting)
    backends = [backend for backend in (bench.retriever, bench.model) if backend is not None]
    started = time.time()
    with show_progress(
        f"{bench.dataset} {part} {system} {setting or ''}", len(questions)
    ) as progress:
        outcomes, counts = run({q.id: build(q) for q in questions}, backends, bench.calls, progress)
    scores = pd.DataFrame(
        [
            {"id": q.id, "kind": q.kind, **score(q, outcomes[q.id].result, bench.dataset)}
            for q in questions
        ]
    )
    shown = {"demonstrations": bench.shown or bench.dataset} if setting.get("m") is not None else {}
    about = {
        "profile": bench.profile,
        "dataset": bench.dataset,
        "part": part,
        "system": system,
        **shown,
        **setting,
    }
    about |= {
        "questions": len(questions),
        "seconds": round(time.time() - started, 2),
        "counts": counts,
        **_versions(bench),
    }
    _write_run(bench.runs / part / _folder_name(bench, system, setting), about, outcomes, scores)
    return scores


def score(question: Question, prediction: Prediction, dataset: str) -> dict[str, float]:
    """Recall, EM and F1 of one prediction, 0 to 1, and the F1 of the answer in the retrieval chain
    itself (IRCoT App. F).
    """
    chain = " ".join(prediction.thoughts)
    chain_answer = answer_from_chain(chain)
    return {
        "recall": paragraph_recall([p.id for p in prediction.paragraphs], question.gold),
        "em": exact_match(prediction.answer, question.answers, dataset),
        "f1": answer_f1(prediction.answer, question.answers, dataset),
        "f1_without_reader": answer_f1(
            chain if chain_answer is None else chain_answer, question.answers, dataset
        ),
        "paragraphs": len(prediction.paragraphs),
        "steps": len(prediction.thoughts),
    }


def tune(bench: Bench, system: str, metric: str, **grid: Sequence) -> tuple[dict, pd.DataFrame]:
    """Run every setting of a grid on the dev questions with demonstration set 1; return the best
    one and all means (IRCoT §4.1).

    Ties go to the earlier setting, that is to the smaller K. A grid of one setting leaves nothing
    to choose: it is run on no question.
    """
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(settings) == 1:
        return settings[0], pd.DataFrame(columns=[*grid, metric, "paragraphs"])
    rows = [
        {**setting, **run_system(bench, system, "dev", **setting).mean(numeric_only=True)}
        for setting in settings
    ]
    table = pd.DataFrame(rows)
    return settings[int(table[metric].argmax())], table


def clear_runs(bench: Bench) -> None:
    """Remove the run folders of a bench's data set, profile and experiment before its runs are made
    anew; remembered calls stay.
    """
    shutil.rmtree(bench.runs, ignore_errors=True)


def _folder_name(bench: Bench, system: str, setting: dict) -> str:
    # no model took part
    unasked = system == "OneR" and not any(question.passage for question in bench.test)
    model = (
        []
        if unasked
        else [Path(bench.model.name).name, *([] if system in ("OneR", "IRCoT") else [bench.reader])]
    )
    shown = [f"shown={bench.shown}"] if bench.shown and setting.get("m") is not None else []
    return " ".join(
        [
            system.replace(" ", "-"),
            *model,
            *shown,
            *(f"{name}={value}" for name, value in setting.items() if value is not None),
        ]
    )


def _versions(bench: Bench) -> dict:
    names = ("ircotlib", "torch", "transformers", "tantivy", "numpy", "pandas")
    model = (
        {"model": bench.model.name, "model_fingerprint": bench.model.fingerprint}
        if bench.model
        else {}
    )
    return {**model, "retriever_fingerprint": bench.retriever.fingerprint, "style": bench.style, "reader": bench.reader,
            "python": platform.python_version(), **{name: version(name) for name in names}}  # fmt: skip


def _write_run(
    folder: Path, about: dict, outcomes: dict[str, Outcome], scores: pd.DataFrame
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(
        folder / "predictions.jsonl", (_row(id, outcome) for id, outcome in outcomes.items())
    )
    scores.to_csv(folder / "scores.csv", index=False)
    (folder / "run.json").write_text(json.dumps(about, indent=1) + "\n")


def _row(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: what the system said, and its trace without the prompts, which
    a rerun shows from the call cache.
    """
    row = asdict(outcome.result)
    return {
        "id": id,
        **row,
        "paragraphs": [paragraph["id"] for paragraph in row["paragraphs"]],
        "trace": [_line(step) for step in outcome.trace],
    }


def _line(step: Step) -> dict:
    if isinstance(step.request, Retrieve):
        within = {} if step.request.titles is None else {"titles": step.request.titles}
        return {
            "retrieve": step.request.query,
            "k": step.request.k,
            **within,
            "found": [paragraph.id for paragraph in step.reply],
        }
    if isinstance(step.request, NearestTitle):
        return {"nearest title": step.request.title, "found": step.reply}
    return {
        "generate": step.reply,
        "stop": step.request.stop,
        "prompt_tokens": step.prompt_tokens,
        "tokens": step.tokens,
    }
