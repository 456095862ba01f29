"""The protocol sheet of a run: all that a paper must say of it (docs/for_your_paper.md)."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd

from ircotlib.errors import UserError
from ircotlib.metrics import exact_match, paragraph_recall, rouge_l
from ircotlib.parameters import WITHOUT_WEIGHTS
from ircotlib.results.imports.outputs import NOT_STATED
from ircotlib.results.protocol.played import (
    NAMES,
    Facts,
    Known,
    describe_method,
    describe_prompts,
    summary_of,
)
from ircotlib.retrieval import retriever_name
from ircotlib.running.backends import open_dataset
from ircotlib.running.bench import name_bench
from ircotlib.running.finished import describe_index
from ircotlib.running.predictions import read_lines, read_scores
from ircotlib.running.run import VERSIONS, find_folders, name_model, parameters_of, read_about
from ircotlib.systems import RECALL, System, all_systems
from ircotlib.text import normalise_answer

NOT_KNOWN, ABSENT, INDEX = "not known", "–", "Index"
SCORED_HERE = ("Questions", "Metric", "Versions")
# An imported run has the parameters of a profile with which nothing was run (docs/real_outputs.md).
# Besides what was scored here, only these of its facts can be known.
IMPORTED = {"system", "model", "demonstrations of", "set of demonstrations", "distractors (M)"}
IMPORTED |= {NAMES["k"], "retrievals of a question", "paragraphs collected", "steps of a chain"}


def describe_protocol(*runs: Path | str) -> pd.DataFrame:
    """The protocol sheet of a run, a row for each fact: the `part` of the sheet, the `fact` and its
    `value`; of two runs `a` and `b`. What their folders do not say is NOT_KNOWN; ABSENT is what
    only the other has. Raises UserError unless the folders are, or hold, one run or two.
    """
    folders = [found for run in runs for found in find_folders(Path(run)) or [Path(run)]]
    if len(folders) not in (1, 2):
        found = f"{' '.join(map(str, runs))}: found {len(folders)} runs"
        raise UserError(f"{found}, expected one or two; name folders that have a run.json")
    sheets = [{(part, fact): value for part, fact, value in list_facts(run)} for run in folders]
    facts = {fact: None for sheet in sheets for fact in sheet}
    ordered = sorted(facts, key=lambda fact: [*PARTS].index(fact[0]))
    rows = [[*fact, *(sheet.get(fact, ABSENT) for sheet in sheets)] for fact in ordered]
    values = ["a", "b"] if len(folders) == 2 else ["value"]
    return pd.DataFrame(rows, columns=["part", "fact", *values])


def list_facts(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The facts of a run: the part of the sheet, the fact and its value."""
    about = read_about(folder)
    options = {name: about[name] for name in ("shown", "grid_of")}
    bench = name_bench(parameters_of(about), about["dataset"], about["experiment"], **options)
    system = all_systems().get(about["system"]) or System(about["system"], program=None)
    lines, scores = read_lines(folder, about), read_scores(folder, about)
    run = Known(about, bench, system, [*lines.values()], [*scores.values()])
    for part, describe in PARTS.items():
        for fact, value in describe(run):
            can_be_known = run.imported is None or part in SCORED_HERE or fact in IMPORTED
            yield part, fact, NOT_KNOWN if value is None or not can_be_known else str(value)


def describe_model(run: Known) -> Facts:
    """Who writes and reads."""
    p, about = run.bench.parameters, run.about
    if not run.writes:
        yield "model", "none: nothing is written"
        return
    yield "model", None if p.model == NOT_STATED else name_model(p)
    if p.model not in WITHOUT_WEIGHTS:
        yield "fingerprint of the model", about.get("model_fingerprint")
        yield "precision", None if p.server else p.dtype
        interface = "chat interface" if p.chat else "completions"
        yield "played by", f"a server's {interface}" if p.server else "transformers"
        yield "thoughts before a text", f"at most {p.thinking_tokens:,} tokens, if the model thinks"
    if run.count("Extract"):
        yield "extractive reader", p.extractor
        yield "fingerprint of the extractive reader", about.get("extract_fingerprint")
    if run.count("Duplicate"):
        yield "repeated queries are found by", p.duplicates or "equal texts"


def describe_search(run: Known) -> Facts:
    """What is searched, and how."""
    p, about, dataset = run.bench.parameters, run.about, run.bench.dataset
    if not run.searches:
        yield "corpus", "none: nothing is retrieved"
        return
    pooled = "the data set's own" if dataset.read_paragraphs else "the contexts of its questions"
    yield "corpus", f"the paper's, {dataset.full_corpus.source}" if p.corpus == "full" else pooled
    if p.further_paragraphs:
        yield "and the paragraphs of", "/".join(Path(p.further_paragraphs).parts[-2:])
    index = read_index(run)
    yield "paragraphs in the corpus", index.pop("paragraphs", None)
    yield "checksum of the corpus", index.pop("corpus", None)
    yield "retriever", retriever_name(p.retriever)
    yield from (index or {"constants of the retriever": None}).items()
    yield "fingerprint of the index", about.get("retriever_fingerprint")


def read_index(run: Known) -> dict:
    """What run.json says of the index; for a run of an earlier version, what can be said of the one
    that is there now, if it is the same by its fingerprint.
    """
    if "index" in run.about or run.imported:
        return dict(run.about.get("index", {}))
    with suppress(OSError, ValueError):
        retriever = open_dataset(run.bench.parameters, run.bench.dataset.name)[2]
        if retriever.fingerprint == run.about["retriever_fingerprint"]:
            return describe_index(retriever)
    return {}


def describe_questions(run: Known) -> Facts:
    """What is asked."""
    p, about = run.bench.parameters, run.about
    yield "data set", run.bench.dataset.title
    folder = "/".join(Path(p.data_dir).parts[-2:]) or "the laboratory"
    yield "files", run.imported["from"] if run.imported else folder
    if run.imported:
        yield "found at import", "; ".join(run.imported["notes"]) or "nothing odd"
    else:
        draw = f"by a hash of the seed {p.seed} and the id"
        yield "drawn", f"{draw}: {p.dev} for dev, {p.test or 'all others'} for test"
        yield "dev or test", about["part"]
        yield "checksum of texts and gold answers", about["questions_hash"]
    yield "number of questions", about["questions"]
    ids = "".join(f"{id}\n" for id in sorted(line["id"] for line in run.lines))
    digest = hashlib.sha256(ids.encode("utf-8", "surrogatepass")).hexdigest()
    yield "checksum of ids", f"{digest[:16]} (SHA-256 of the sorted ids, one a line)"


def describe_metric(run: Known) -> Facts:
    """How answers are scored."""
    name = run.about["metric"]
    yield "metric", name
    if name == RECALL:
        yield "definition", summary_of(paragraph_recall)
        return
    measure = run.bench.scored_as.scores[name]
    measure = getattr(measure, "func", measure)
    yield "definition", summary_of(measure) or None
    if measure.__module__ == exact_match.__module__ and measure is not rouge_l:
        yield "normalisation", summary_of(normalise_answer)
    yield "several gold answers", "the best counts"
    whole = "the whole text is scored in its place"
    yield "an answer that cannot be read", "is scored as it is" if run.imported else whole


def describe_versions(run: Known) -> Facts:
    """With what."""
    names = ["ircotlib"] if run.imported else ["python", *VERSIONS]
    for name in names:
        yield "scored by ircotlib" if run.imported else name, run.about.get(name)


PARTS = {
    "Method": describe_method,
    "Model": describe_model,
    "Prompts": describe_prompts,
    INDEX: describe_search,
    "Questions": describe_questions,
    "Metric": describe_metric,
    "Versions": describe_versions,
}
