"""Why a system's answers are wrong, on the laboratory, where every fact is known (ours)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from ircot_laboratory.judge.facts import read_facts
from ircot_laboratory.make import make_dataset
from ircot_laboratory.world.records import Fact, Riddle, World
from ircot_laboratory.world.relations import RELATIONS, Relation
from ircotlib.data import Node, Paragraph, read_jsonl
from ircotlib.datasets import all_datasets
from ircotlib.running.folder import read_about
from ircotlib.running.predictions import parameters_of, read_scores
from ircotlib.running.setup import COVER_EM, open_dataset
from ircotlib.systems import all_systems
from ircotlib.systems.searchain.tree import recorded
from ircotlib.text import normalise_answer, sentences

CAUSES = ("not parsed", "misled by retrieval", "wrong conclusion", "wrong decomposition")
CAUSES += ("not retrieved", "misread", "made up")
SHOWN = re.compile(r"^Observation \d+:.*$|\[WikiSearch\([^\[]*?→[^\]]*\]", re.MULTILINE)
LABEL = re.compile(r"^(?:\[[^\]]*\]:?|[A-Z][\w ]{0,24}:|\d+\.|[A-Z]\w+,)\s+")
GIVES = re.compile(r"answer(?: is)?:? |Finish\[|^Intermediate answer:|^A: ", re.IGNORECASE)
COUNTED = ["profile", "dataset", "model", "system"]  # what identifies a row of a census


@dataclass(frozen=True, slots=True)
class Said:
    """What a system did for a question.

    `steps`: the lines or sentences it wrote, except those that only give an answer. `wrote`: all of
    its text. `queries`: what it searched for. `found`: the paragraphs it retrieved. `parsed`:
    whether an answer could be read from its text.
    """

    question: str
    answer: str
    steps: tuple[str, ...] = ()
    wrote: str = ""
    queries: tuple[str, ...] = ()
    found: tuple[Paragraph, ...] = ()
    parsed: bool = True


def cause_of(said: Said, riddle: Riddle, world: World, knew: bool = False) -> str:
    """The cause of a wrong answer: the first of these rules that applies (ours). `knew`: the model
    answers the question right without retrieval.

    - "not parsed": no answer could be read from the text, so it is empty or the text itself.
    - "misled by retrieval": the model knew the answer, and it searched (SearChain §4.3.2).
    - "wrong conclusion": it wrote steps that contain the values of all facts that are needed.

    Otherwise one fact decides: the first whose value is not in the text or, if no steps were
    written, the first that was not found.

    - "wrong decomposition": steps were written, but none asks for this fact or states it. A step
      that names the fact's subject in words other than the laboratory's counts as asking for it.
    - "misread": the paragraph that states the fact was found.
    - "not retrieved": it was not found, though a query asked for the fact or was the question
      itself.
    - "made up": the system did not search for the fact; the value is the model's own.
    """
    if not said.parsed:
        return "not parsed"
    if knew and said.queries:
        return "misled by retrieval"
    lacking = [fact for fact in riddle.facts if not _has(said.wrote, world.value(*fact))]
    if said.steps and not lacking:
        return "wrong conclusion"
    if not said.steps:
        lacking = [fact for fact in riddle.facts if not _is_found(said, fact, world)]
    fact = (lacking or riddle.facts)[0]
    if said.steps and not _asks([*said.steps, *said.queries], fact, riddle, world):
        return "wrong decomposition"
    if _is_found(said, fact, world):
        return "misread"
    searched = said.question in said.queries or _asks(said.queries, fact, riddle, world)
    return "not retrieved" if searched else "made up"


def _has(text: str, words: str) -> bool:
    return f" {_normalise(words)} " in f" {_normalise(text)} "


def _is_found(said: Said, fact: Fact, world: World) -> bool:
    stating = (p for p in said.found if p.title == fact.subject)
    return any(_has(paragraph.text, world.value(*fact)) for paragraph in stating)


def _asks(lines: Sequence[str], fact: Fact, riddle: Riddle, world: World) -> bool:
    """Whether one of these lines, other than the question itself, asks for a fact or states it."""
    relation, subjects = world.relation(*fact), (fact.subject, _nested(fact, riddle, world))
    others = [one for one in RELATIONS[world.entities[fact.subject].kind] if one != relation]
    for line in lines:
        if line == riddle.text:
            continue
        if any(_is_about(line, x, relation) for x in subjects):
            return True
        if _has(line, fact.subject) and not _facts(line):
            if not any(_is_about(line, fact.subject, other) for other in others):
                return True
    return False


def _is_about(line: str, x: str, relation: Relation) -> bool:
    """Whether a line asks for a relation of x, or states it, in the laboratory's wording."""
    if not _has(line, x):
        return False
    wordings = [question.format(x=x) for question in relation.questions]
    if any(_has(line, words) for words in (*wordings, relation.phrase.format(x=x))):
        return True
    return any((one.subject, one.relation) == (x, relation.name) for one in _facts(line))


# systems write many of the same sentences
_facts = lru_cache(maxsize=100_000)(read_facts)
_normalise = lru_cache(maxsize=100_000)(normalise_answer)


def _nested(fact: Fact, riddle: Riddle, world: World) -> str:
    """The subject of a fact as it is described before its name is known: "the director of X"."""
    before = next((one for one in riddle.facts if world.value(*one) == fact.subject), None)
    if before is None or before == fact:
        return fact.subject
    return world.relation(*before).phrase.format(x=_nested(before, riddle, world))


def read_said(line: Mapping, question: str, find: Callable[[str], Paragraph]) -> Said:
    """What a system did for a question, from its line of predictions.jsonl. Of a chain of query
    only nodes on the correct path count. Passages that a system inserted into its text do not.
    """
    nodes = [node for row in line["nodes"] if (node := Node(**row)).mark]
    chain = "\n".join([*([] if nodes else line["thoughts"]), line["reading"]])
    texts = [text for part in SHOWN.sub("", chain).splitlines() for text in sentences(part)]
    written = [f"{node.query} {recorded(node)}" for node in nodes] + texts
    answer, last = normalise_answer(line["answer"]), texts[-1] if texts else ""
    whole = {normalise_answer(LABEL.sub("", text)) for text in (line["reading"], chain, last)}
    steps = [LABEL.sub("", text) for text in written if not GIVES.search(text)]
    return Said(
        question,
        line["answer"],
        tuple(one for one in steps if normalise_answer(one) not in ("", answer)),
        "\n".join([*written, line["answer"]]),
        tuple(step["retrieve"] for step in line["trace"] if "retrieve" in step),
        tuple(find(id) for id in line["paragraphs"]),
        bool(answer) and not (line["fault"] and answer in whole),
    )


def find_causes(folder: Path, knew: Mapping[str, bool]) -> pd.DataFrame:
    """The cause of each wrong answer of a run on the laboratory, one row per question; "" for a
    right answer, whose cover-EM (or, if the data set has none, its own measure) is 1. `knew`: by
    id, whether the model answers right without retrieval.
    """
    about = read_about(folder)
    p, dataset = parameters_of(about), about["dataset"]
    _, test, retriever = open_dataset(p, dataset)
    (world, riddles), texts = make_dataset(dataset), {q.id: q.text for q in test}
    by_text, scores = {one.text: one for one in riddles}, read_scores(folder, about)
    rows, metric = [], COVER_EM if COVER_EM in next(iter(scores.values())) else about["metric"]
    for line in read_jsonl(Path(folder) / "predictions.jsonl"):
        id, text = line["id"], texts[line["id"]]
        cause = ""
        if scores[id][metric] < 1:
            said = read_said(line, text, retriever.corpus.find)
            cause = cause_of(said, by_text[text], world, bool(knew.get(id)))
        rows.append({"id": id, "cause": cause})
    named = {"profile": p.profile, "dataset": dataset, "model": p.model}
    return pd.DataFrame(rows).assign(system=about["system"], **named)


def count_causes(runs: pd.DataFrame, causes: Iterable[str] = CAUSES) -> pd.DataFrame:
    """Count causes: one row per data set, system and cause, with `n`, the number of `answers` (one
    per question and demonstration set), and `share` in percent. `runs`: one row per answer with the
    columns COUNTED and `cause`.
    """
    for name, known in (("dataset", all_datasets()), ("system", all_systems())):
        order = list(dict.fromkeys([*known, *runs[name]]))
        runs = runs.assign(**{name: pd.Categorical(runs[name], order)})
    rows = []
    for group, found in runs.groupby(COUNTED, observed=True)["cause"]:
        named, counts = dict(zip(COUNTED, group, strict=True)), found.value_counts()
        rows += [named | {"cause": cause, "n": int(counts.get(cause, 0)), "answers": len(found)}
                 for cause in causes]  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(share=(100 * table["n"] / table["answers"]).round(2))
