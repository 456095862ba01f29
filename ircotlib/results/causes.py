"""Why answers are wrong: one list of causes, and how many answers have each (ours).
Where the facts of a data set are known, they decide; elsewhere gold answers and
paragraphs, which tell less.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Attempt, Evidence, all_datasets
from ircotlib.errors import UserError
from ircotlib.experiment import runs as of_runs
from ircotlib.experiment.laboratory import find_facts
from ircotlib.metrics import as_compared, cover_em
from ircotlib.results.runs import in_order
from ircotlib.systems import RECALL, SEARCHAIN, all_systems
from ircotlib.text import list_items, sentences

CAUSES = (
    "not parsed",
    "misled by retrieval",
    "wrong conclusion",
    "wrong decomposition",
)
CAUSES += ("not retrieved", "misread", "made up")
UNSCORED = "not scored"  # neither right nor wrong
# a sentence that gives the answer
CONCLUDES = re.compile(r"answer(?: is)?:? ", re.IGNORECASE)
# what ReAct and ToolFormer were shown, between their own words
SHOWN = re.compile(r"^Observation \d+: .*$|→(?:(?!\[WikiSearch).)*\]", re.MULTILINE)
COUNTED = ["profile", "dataset", "model", "system"]  # what identifies a row of a census


def cause_of(attempt: Attempt, evidence: Evidence, knew: bool = False) -> str:
    """The cause of a wrong answer: the first of these rules that applies (ours)."""
    # no answer could be read from the text: it is empty or the text itself
    if not attempt.parsed:
        return "not parsed"
    if knew and attempt.queries:  # SearChain §4.3.2
        return "misled by retrieval"
    # the steps contain all that is needed, but the answer is another one
    if evidence.written:
        return "wrong conclusion"
    # Otherwise the missing fact decides, the first if there are several.
    # no step asks for it or states it; only known facts can tell this
    if not evidence.asked:
        return "wrong decomposition"
    if evidence.retrieved:  # the paragraph that states it
        return "misread"
    # written without retrieval
    return "not retrieved" if evidence.searched else "made up"


def weigh_gold(attempt: Attempt, question: Question) -> Evidence:
    """The evidence where no facts are known: a gold answer and gold paragraphs stand
    for them.
    """
    ids = {paragraph.id for paragraph in attempt.paragraphs}
    written = bool(attempt.steps) and any(
        _has(attempt.text, a) for a in question.answers
    )
    retrieved = bool(ids) and ids.issuperset(question.gold)
    return Evidence(
        written, asked=True, searched=bool(attempt.queries), retrieved=retrieved
    )


def _has(text: str, answer: str) -> bool:
    """Whether a text has the words of an answer, or of each span of a JSON list (IIRC)."""
    try:
        spans = json.loads(answer)
    except (ValueError, RecursionError):
        spans = answer
    spans = spans if isinstance(spans, list) else [answer]
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
    folder: Path, measure: str = "", knew: Mapping[str, bool] | None = None
) -> pd.DataFrame:
    """The table of `read_predictions` with the `cause` of each wrong answer; "" for a
    right one, UNSCORED for one without a score. `knew`: by id, whether the model
    answers right without retrieval, by the same `measure`.
    """
    about = of_runs.read_about(folder)
    table = of_runs.read_predictions(folder, measure)
    p = of_runs.parameters_of(about)
    questions, corpus = of_runs.open_questions(about)
    weigh = facts.weigh if (facts := find_facts(p, about["dataset"])) else weigh_gold
    study, causes = getattr(all_systems().get(about["system"]), "study", ""), []
    for row in table.to_dict("records"):
        if row["right"] is None:
            causes.append(UNSCORED)
            continue
        if row["right"] or about["metric"] == RECALL:
            causes.append("" if row["right"] else "not retrieved")
            continue
        question = questions[row["id"]]
        found = [
            of_runs.find_paragraph(id, question, corpus) for id in row["collected"]
        ]
        # the direct reader writes nothing but the answer (IRCoT §3.2)
        direct = bool(row["reading"]) and p.reader == "direct"
        attempt = read_attempt(row, found, unmarked=not (study == SEARCHAIN or direct))
        knows = bool((knew or {}).get(row["id"]))
        causes.append(cause_of(attempt, weigh(attempt, question), knows))
    return table.assign(cause=causes)


def count_causes(runs: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Count causes: one row per data set, system and cause, with `n` of all `answers`
    and its `share` in percent. `runs`: from `find_causes`; those that only retrieve are
    left out.
    """
    columns = [*COUNTED, "metric", "cause"]
    kept = [run[columns] for run in runs if run["metric"].iloc[0] != RECALL]
    table = pd.concat([pd.DataFrame(columns=columns), *kept], ignore_index=True)
    if (table.groupby("dataset")["metric"].nunique() > 1).any():
        raise UserError(
            "runs are scored by two measures: score them by that of share_measure"
        )
    table = in_order(
        in_order(table, "system", all_systems()), "dataset", all_datasets()
    )
    answers = table.groupby(COUNTED, sort=False).size()
    counts = table.groupby([*COUNTED, "cause"]).size().unstack("cause")
    counts = counts.reindex(index=answers.index, columns=pd.Index(CAUSES, name="cause"))
    counted = counts.fillna(0).astype(int).stack().rename("n").reset_index()
    counted = counted.merge(answers.rename("answers").reset_index(), on=COUNTED)
    return counted.assign(share=(100 * counted["n"] / counted["answers"]).round(2))
