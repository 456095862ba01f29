"""Why answers are wrong: one list of causes, and how many answers have each (ours).
Known facts of a data set decide; elsewhere gold answers and paragraphs, which say less.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Attempt, Evidence, all_datasets
from ircotlib.errors import UserError
from ircotlib.experiment.laboratory import find_facts
from ircotlib.experiment.stored import (
    find_paragraph,
    open_questions,
    parameters_of,
    read_about,
    read_predictions,
)
from ircotlib.metrics import as_compared, cover_em
from ircotlib.results.runs import in_order
from ircotlib.systems import RECALL, SEARCHAIN, all_systems
from ircotlib.text import list_items, sentences

CAUSES: tuple[str, ...] = ("not parsed", "misled by retrieval", "wrong conclusion")
CAUSES += ("wrong decomposition", "not retrieved", "misread", "made up")
UNSCORED = "not scored"  # neither right nor wrong
CONCLUDES = re.compile(r"answer(?: is)?:? ", re.IGNORECASE)  # gives the answer
# what ReAct and ToolFormer were shown, between their own words
SHOWN = re.compile(r"^Observation \d+: .*$|→(?:(?!\[WikiSearch).)*\]", re.MULTILINE)
COUNTED = ["profile", "dataset", "model", "system"]  # what identifies a row of a census


def cause_of(
    attempt: Attempt, evidence: Evidence, known_without_retrieval: bool = False
) -> str:
    """The cause of a wrong answer: the first of these rules that applies (ours)."""
    rules = {
        "not parsed": not attempt.parsed,  # no answer could be read from the text
        # SearChain §4.3.2
        "misled by retrieval": known_without_retrieval and bool(attempt.queries),
        "wrong conclusion": evidence.written,  # all that is needed, but another answer
        # else the first missing fact decides; only known facts show that no step asks
        "wrong decomposition": not evidence.asked,
        "misread": evidence.retrieved,  # the paragraph that states it
        "not retrieved": evidence.searched,
        "made up": True,  # written without retrieval
    }
    return next(cause for cause, applies in rules.items() if applies)


def weigh_gold(attempt: Attempt, question: Question) -> Evidence:
    """The evidence without known facts: gold answers and paragraphs stand for them."""
    ids = {paragraph.id for paragraph in attempt.paragraphs}
    states_gold = any(has_answer(attempt.text, gold) for gold in question.answers)
    return Evidence(
        written=bool(attempt.steps) and states_gold,
        asked=True,  # nothing says which fact a step asks for
        searched=bool(attempt.queries),
        retrieved=bool(ids) and ids.issuperset(question.gold),
    )


def has_answer(text: str, answer: str) -> bool:
    """Whether a text has an answer's words, or those of a JSON list's spans (IIRC)."""
    try:
        spans = json.loads(answer)
    except (ValueError, RecursionError):
        spans = None
    if not isinstance(spans, list):  # a number is JSON, too
        spans = [answer]
    return all(cover_em(text, [str(span)]) for span in spans)


def read_attempt(
    row: Mapping, paragraphs: Iterable[Paragraph] = (), unmarked: bool = False
) -> Attempt:
    """What a system did for a question, from a row of `read_predictions`. `unmarked`:
    an answer that is the whole text was not parsed, even if no fault was noted.
    """
    written = [SHOWN.sub("", text) for text in (*row["thoughts"], row["reading"])]
    lines = [line for text in written for line in text.splitlines()]
    texts = [text for line in lines for text in (list_items(line) or sentences(line))]
    steps = [text for text in texts if not CONCLUDES.search(text)]
    answer = as_compared(row["answer"])
    whole = [row["reading"], "\n".join(lines)] if unmarked or row["fault"] else []
    # the last line, or its end, may have been taken for the answer
    if row["fault"] and texts:
        whole += [texts[-1], texts[-1].rpartition(": ")[2]]
    return Attempt(
        tuple(step for step in steps if as_compared(step) not in ("", answer)),
        "\n".join([*lines, row["answer"]]),
        tuple(step["retrieve"] for step in row["trace"] if "retrieve" in step),
        tuple(paragraphs),
        bool(answer) and answer not in map(as_compared, whole),
    )


def find_causes(
    folder: Path, measure: str = "", known_without_retrieval: Mapping | None = None
) -> pd.DataFrame:
    """The table of `read_predictions` with the `cause` of wrong answers: "" for right
    ones, UNSCORED without a score. `known_without_retrieval`: by question id.
    """
    about = read_about(folder)
    table = read_predictions(folder, measure)
    p = parameters_of(about)
    questions, corpus = open_questions(about)
    facts = find_facts(p, about["dataset"])
    weigh = facts.weigh if facts else weigh_gold
    study = getattr(all_systems().get(about["system"]), "study", "")
    causes = []
    for row in table.to_dict("records"):
        if row["right"] is None:
            causes.append(UNSCORED)
        elif row["right"]:
            causes.append("")
        elif about["metric"] == RECALL:  # it only retrieves
            causes.append("not retrieved")
        else:
            question = questions[row["id"]]
            pages = [find_paragraph(id, question, corpus) for id in row["collected"]]
            # the direct reader writes nothing but the answer (IRCoT §3.2)
            direct = bool(row["reading"]) and p.reader == "direct"
            attempt = read_attempt(row, pages, not (study == SEARCHAIN or direct))
            known = bool((known_without_retrieval or {}).get(row["id"]))
            causes.append(cause_of(attempt, weigh(attempt, question), known))
    return table.assign(cause=causes)


def count_causes(runs: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Count causes in runs of `find_causes` that answer: a row per data set, system and
    cause, with `n` of all `answers` and its `share` in percent.
    """
    columns = [*COUNTED, "metric", "cause"]
    kept = [run[columns] for run in runs if run["metric"].iloc[0] != RECALL]
    table = pd.concat([pd.DataFrame(columns=columns), *kept], ignore_index=True)
    if (table.groupby("dataset")["metric"].nunique() > 1).any():
        raise UserError(
            "runs are scored by two measures: score them by that of share_measure"
        )
    table = in_order(table, "system", all_systems())
    table = in_order(table, "dataset", all_datasets())
    answers = table.groupby(COUNTED, sort=False).size()
    counts = table.groupby([*COUNTED, "cause"]).size().unstack("cause")
    # also causes that no answer has; without those of right answers and UNSCORED
    counts = counts.reindex(index=answers.index, columns=pd.Index(CAUSES, name="cause"))
    counted = counts.fillna(0).astype(int).stack().rename("n").reset_index()
    counted = counted.merge(answers.rename("answers").reset_index(), on=COUNTED)
    return counted.assign(share=(100 * counted["n"] / counted["answers"]).round(2))
