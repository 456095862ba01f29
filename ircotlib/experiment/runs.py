"""A run: a system with a setting on the questions of a setup. It is carried out, its
folder is written, read as tables, and replayed; and answers of which no run is kept.
"""

import json
import platform
import shutil
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from ircotlib import program
from ircotlib.data import Paragraph, Prediction, Question, read_jsonl, write_jsonl
from ircotlib.datasets import find_dataset
from ircotlib.datasets import score as score_prediction
from ircotlib.engine import scheduler
from ircotlib.engine.cache import Calls
from ircotlib.errors import DataError
from ircotlib.experiment.setup import (
    BACKENDS,
    Setup,
    open_corpus,
    open_recorded,
    open_setup,
    program_of,
)
from ircotlib.files import DATA, locked, show_progress, write_table
from ircotlib.models.server import find_price
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.program import Generate, Outcome, Purposed, Sample, Step
from ircotlib.retrieval.corpus import Corpus
from ircotlib.systems import RECALL, System, choose_systems

VERSIONS = "ircotlib torch transformers tokenizers tantivy regex numpy pandas".split()
# the fields of predictions.jsonl that tables have as they are
WRITTEN = ("answer", "thoughts", "reading", "nodes", "fault", "trace")
BESIDE = ".partial"  # ends the name of a folder that is being written
AGAIN = "run its notebook again: cached calls cost nothing"
LOST = (
    "the call cache of this machine lacks replies, or the model's tokenizer is not here"
)


class Run(NamedTuple):
    """A run: a system with one setting on the "dev" or "test" questions of a setup.
    `setting`: k, m and whatever else the program takes, and demonstration_set, 0 to 2.
    """

    setup: Setup
    system: System
    part: str
    setting: dict

    @property
    def questions(self) -> Sequence[Question]:
        return {"dev": self.setup.dev, "test": self.setup.test}[self.part]

    @property
    def folder(self) -> Path:
        """Its folder, inside that of its experiment and parameters."""
        named = [f"{name}={value}" for name, value in self.setting.items()]
        named = " ".join([self.system.name.replace(" ", "-"), *named])
        return self.setup.runs / self.part / named.replace("/", "")

    @property
    def identity(self) -> dict:
        """What distinguishes it from all others, as in run.json; `open_run` reads it."""
        setup, system = self.setup, self.system
        about = {
            "experiment": setup.experiment,
            "dataset": setup.dataset.name,
            "part": self.part,
        }
        about |= {"system": system.name, "setting": self.setting}
        about |= {"metric": system.measure(setup.dataset)}
        about |= {"shown": setup.shown and setup.shown.name, "grid_of": setup.grid_of}
        return about | {"parameters": setup.parameters.model_dump(mode="json")}


def open_run(identity: Mapping, calls: Calls | None = None) -> Run:
    """The run that `Run.identity` or a run.json describes. `calls`: see `open_setup`."""
    options = {
        name: identity[name] for name in ("dataset", "experiment", "shown", "grid_of")
    }
    setup = open_setup(parameters_of(identity), **options, calls=calls)
    [system] = choose_systems([identity["system"]])
    return Run(setup, system, identity["part"], identity["setting"])


def carry_out(run: Run) -> pd.DataFrame:
    """Answer and score the questions of a run, write its folder, and return one row per
    question with the columns that describe the run. Run again, it is replayed from the
    call cache.
    """
    setup, started = run.setup, time.monotonic()
    build = program_of(setup, run.system, **run.setting)
    programs = {question.id: build(question) for question in run.questions}
    label = f"{setup.dataset.name} {run.part} {run.folder.name}"
    with show_progress(label, len(programs)) as progress:
        how = {"progress": progress, "note": without_prompt}
        outcomes, counts = scheduler.run(programs, setup.backends, setup.calls, **how)
    about = run.identity | {"questions": len(outcomes), "counts": counts} | installed()
    about |= {"seconds": round(time.monotonic() - started, 2)}
    used = {name: getattr(setup, name) for name in BACKENDS if getattr(setup, name)}
    about |= {
        f"{name}_fingerprint": backend.fingerprint for name, backend in used.items()
    }
    about |= {"generation_config_ignored": getattr(setup.model, "ignored", {})}
    about |= find_cost(setup.parameters, counts, len(outcomes))
    about |= {"demonstrations_shown": count_demonstrations(outcomes.values())}
    rows = [
        {"id": q.id, "kind": q.kind}
        | score_prediction(q, outcomes[q.id].result, setup.scored_as)
        for q in run.questions
    ]
    write_run(
        run.folder,
        (row_of(*item) for item in outcomes.items()),
        pd.DataFrame(rows),
        about,
    )
    return pd.DataFrame(rows).assign(**columns_of(about))


def answer(
    setup: Setup, system: System, question: Question, **setting: object
) -> Outcome[Prediction]:
    """Answer one question; see `answer_all`."""
    return answer_all(setup, system, [question], **setting)[question.id]


def answer_all(
    setup: Setup, system: System, questions: Sequence[Question], **setting: object
) -> dict[str, Outcome[Prediction]]:
    """Answer questions in one batch; return the outcomes by question id. No run is
    kept. `setting`: see `Run`; `Setup.choose` chooses what is in a system's grid.
    """
    build = program_of(setup, system, **setting)
    programs = {question.id: build(question) for question in questions}
    return scheduler.run(programs, setup.backends, setup.calls)[0]


def replay(
    folder: Path, ids: Collection[str] | None = None
) -> dict[str, Outcome[Prediction]]:
    """Replay a run, or the questions `ids` of it, from its folder and the call cache;
    return the outcomes by question id, with prompts in their traces. DataError if
    replies are missing: no model, server or index is asked.
    """
    outcomes = replay_known(folder, ids)
    asked = read_scores(folder)["id"] if ids is None else ids
    if missing := [id for id in asked if id not in outcomes]:
        raise DataError(f"{folder}: question {missing[0]!r}: {LOST}; {AGAIN}")
    return outcomes


def replay_known(
    folder: Path, ids: Collection[str] | None = None
) -> dict[str, Outcome[Prediction]]:
    """As `replay`; questions with a missing reply are left out, and all if the model's
    tokenizer, with which prompts are cut to fit, is not on this machine.
    """
    about = read_about(folder)
    setup = open_recorded(parameters_of(about), about)
    if setup.model.count_tokens is None:
        return {}
    [system] = choose_systems([about["system"]])
    run = Run(setup, system, about["part"], about["setting"])
    asked = [
        question for question in run.questions if ids is None or question.id in ids
    ]
    build = program_of(setup, system, **run.setting)
    programs = {question.id: build(question) for question in asked}
    return scheduler.replay(programs, setup.backends, setup.calls)


def without_prompt(step: Step) -> Step:
    """A step without the text of its prompt, which `replay` brings back."""
    if not isinstance(step.request, Generate | Sample):
        return step
    shown = Purposed(
        "", demonstrations=getattr(step.request.prompt, "demonstrations", 0)
    )
    return replace(step, request=replace(step.request, prompt=shown))


@cache
def installed() -> dict[str, str]:
    """The versions of Python and packages here; a replay needs no torch."""
    here = {each: version(each) for each in VERSIONS if find_spec(each)}
    return {"python": platform.python_version()} | here


def find_cost(p: Parameters, counts: Mapping[str, Mapping], questions: int) -> dict:
    """What a run behind a server costs, in USD, cached or not; None if the price is not
    known.
    """
    if not p.server:
        return {}
    price, tokens = find_price(p.model, p.prices), counts.values()
    usd = price and fsum(
        price.of(kind["prompt_tokens"], kind["tokens"]) for kind in tokens
    )
    each = usd and usd / questions
    return {"cost": {"usd": usd, "per_question": each, "prices": price and price[:2]}}


def count_demonstrations(outcomes: Iterable[Outcome]) -> float | None:
    """How many demonstrations or examples the last prompt of a question shows, on
    average.
    """
    last = []
    for outcome in outcomes:
        requests = [
            s.request for s in outcome.trace if isinstance(s.request, Generate | Sample)
        ]
        last += [request.prompt.demonstrations for request in requests[-1:]]
    return round(fmean(last), 2) if last else None


def write_run(
    folder: Path, predictions: Iterable[dict], scores: pd.DataFrame, about: dict
) -> None:
    """Write the folder of a run beside an earlier one, and then replace that
    completely.
    """
    beside = Path(f"{folder.parents[1]}{BESIDE}")
    with locked(Path(f"{folder.parents[1]}.lock")):
        shutil.rmtree(beside, ignore_errors=True)  # of a process that was killed
        write_jsonl(beside / "predictions.jsonl", predictions)
        write_table(beside / "scores.csv", scores)
        (beside / "run.json").write_text(
            json.dumps(about, indent=1) + "\n", encoding="utf-8"
        )
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_run(folder)
        beside.rename(folder)


def remove_run(folder: Path) -> None:
    """Remove a run; first its run.json, so that no kill leaves a run that seems
    complete.
    """
    (folder / "run.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def clear_runs(kept: Sequence[Run]) -> None:
    """Remove the other runs of the same systems, on the same questions of the same
    setups.
    """
    folders = {run.folder for run in kept}
    for own in {run._replace(setting={}).folder for run in kept}:
        with locked(Path(f"{own.parents[1]}.lock")):
            for folder in own.parent.glob("*"):
                if folder.name.split(" ")[0] == own.name and folder not in folders:
                    remove_run(folder)


def row_of(id: str, outcome: Outcome) -> dict:
    """One line of predictions.jsonl: the system's prediction, and its trace without
    prompts.
    """
    row = {
        field.name: getattr(outcome.result, field.name)
        for field in fields(outcome.result)
    }
    row["paragraphs"] = [paragraph.id for paragraph in outcome.result.paragraphs]
    row["nodes"] = [asdict(node) for node in outcome.result.nodes]
    return {"id": id, **row, "trace": [_line(step) for step in outcome.trace]}


def _line(step: Step) -> dict:
    """One step of a trace, without its prompt."""
    tokens = {"prompt_tokens": step.prompt_tokens, "tokens": step.tokens}
    match step.request:
        case program.Retrieve(query, k, titles):
            within = {} if titles is None else {"titles": titles}
            return {
                "retrieve": query,
                "k": k,
                **within,
                "found": [p.id for p in step.reply],
            }
        case program.NearestTitle(title):
            return {"nearest title": title, "found": step.reply}
        case program.Extract(query, paragraph):
            return {"extract": query, "from": paragraph.id, **step.reply._asdict()}
        case program.Duplicate(query, earlier):
            return {"duplicate": query, "of": earlier, "score": step.reply}
        case Generate(stop=stop):
            return {"generate": step.reply, "stop": stop, **tokens}
        case Sample(stop=stop, temperature=temperature):
            # from the seventh decimal on, the means depend on the other rows of their
            # batch
            pairs = [(text, mean and round(mean, 2)) for text, mean in step.reply]
            drawn = [{"text": text, "log_probability": mean} for text, mean in pairs]
            return {"sample": drawn, "temperature": temperature, "stop": stop, **tokens}


def find_folders(folder: Path = DATA / "runs") -> list[Path]:
    """The folders of all finished runs below a folder, sorted."""
    found = [path.parent for path in Path(folder).rglob("run.json")]
    return sorted(path for path in found if not path.name.endswith(BESIDE))


def read_about(folder: Path) -> dict:
    """Read run.json from a run's folder; DataError, in one line, if there is none."""
    path = Path(folder) / "run.json"
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: found no finished run ({error}); {AGAIN}") from None


def read_scores(folder: Path) -> pd.DataFrame:
    """A run's scores.csv: the id and kind of each question, as texts, and its scores."""
    # as they stand; NaN: the question has no gold paragraphs
    texts = {"id": str, "kind": str}
    path = Path(folder) / "scores.csv"
    return pd.read_csv(path, converters=texts)


def parameters_of(identity: Mapping) -> Parameters:
    """The parameters of a run, checked again."""
    return read_parameters(identity["parameters"]["profile"], identity["parameters"])


def open_questions(about: Mapping) -> tuple[dict[str, Question], Corpus]:
    """The questions of a run's data set by id, and the corpus, from its run.json."""
    dev, test, corpus = open_corpus(parameters_of(about), about["dataset"])
    return {question.id: question for question in (*dev, *test)}, corpus


def columns_of(about: Mapping) -> dict:
    """The columns that describe a run in its table of scores, from its run.json."""
    columns = {
        name: about["parameters"][name]
        for name in ("profile", "model", "style", "reader")
    }
    columns |= {name: about[name] for name in ("dataset", "system")}
    columns |= {
        "demonstrations": about["shown"] or about["dataset"],
        "metric": about["metric"],
    }
    columns["demonstrations_shown"] = about.get("demonstrations_shown")
    return (
        columns | {"k": None, "m": None, "demonstration_set": None} | about["setting"]
    )


def read_predictions(folder: Path, measure: str = "") -> pd.DataFrame:
    """The questions of a run, one row each: question, gold `answers`, the ids
    `collected`, `gold_found` and `gold_missed`, the fields WRITTEN, scores, what
    describes the run, and `right`: whether the score by `measure`, or else the run's
    own, is 1; None for a question without one.
    """
    about, path = read_about(folder), Path(folder) / "predictions.jsonl"
    scores = {row["id"]: row for row in read_scores(folder).to_dict("records")}
    run, rows = columns_of(about), []
    run |= {"metric": measure or run["metric"]}
    questions, _ = open_questions(about)
    for line in read_jsonl(path):
        id = line["id"]
        if (question := questions.get(id)) is None or run["metric"] not in scores[id]:
            found = f"found the question {id!r} and the measure {run['metric']!r}"
            raise DataError(
                f"{folder}: {found}, which {about['dataset']} does not have; {AGAIN}"
            )
        collected = tuple(line["paragraphs"])
        row = {"id": id, "question": question.text, "answers": question.answers}
        row |= {name: line[name] for name in WRITTEN} | {"collected": collected}
        row |= {
            "gold_found": tuple(each for each in question.gold if each in collected)
        }
        row |= {
            "gold_missed": tuple(
                each for each in question.gold if each not in collected
            )
        }
        row |= scores[id] | {"kind": question.kind} | run
        score = scores[id][run["metric"]]
        rows.append(row | {"right": None if pd.isna(score) else bool(score >= 1)})
    return pd.DataFrame(rows)


def share_measure(runs: pd.DataFrame) -> pd.Series:
    """The measure by which runs are compared, one for each row: on a data set, that of
    all that answer, or its first if they differ; recall for those that only retrieve.
    """
    own = runs["metric"].copy()
    answers = runs[runs["metric"] != RECALL]
    for dataset, metrics in answers.groupby("dataset")["metric"]:
        if metrics.nunique() > 1:
            own[metrics.index] = find_dataset(dataset).measure
    return own


def find_paragraph(id: str, question: Question, corpus: Corpus) -> Paragraph:
    """A paragraph of a prediction, or a gold one: the question's main passage, or of
    the corpus. A gold id that the corpus lacks (IIRC) stands for its paragraph.
    """
    if question.passage and question.passage.id == id:
        return question.passage
    try:
        return corpus.find(id)
    except KeyError:
        if id not in question.gold:
            raise
        return Paragraph(id, id, "")
