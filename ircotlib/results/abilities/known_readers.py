"""How able real readers are: what they know and misread in their runs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from ircotlib.datasets.facts import Facts
from ircotlib.files.paths import benchmark_table
from ircotlib.files.tables import Number, read_table
from ircotlib.parameters import Parameters
from ircotlib.program import Generate, Outcome, Retrieve
from ircotlib.results.head_to_head import EXPERIMENT, panels_of
from ircotlib.results.runs import find_test_runs, has_runs
from ircotlib.results.statistics import bootstrap_interval
from ircotlib.running.experiment import replay
from ircotlib.running.laboratory import find_facts
from ircotlib.text import gives_answer, sentences

RATES = ("knows", "misreads")
COLUMNS = ["reader", *(f"{rate}{end}" for rate in RATES for end in ("", "_low", "_high"))]
COLUMNS += ["questions", "source"]
DATASET = "musique"
CLOSED, READING = ("NoR QA", "CoT"), ("OneR QA", "IRCoT QA")  # all write a fact a sentence
ANCHOR = "real_anchor_rates"  # the figure of bench/real_anchor.py
TWO_FACTS = "hotpotqa"  # each of its questions needs two


def read_readers(p: Parameters) -> pd.DataFrame:
    """The rates of real readers, from 0 to 1, one row each, with the ends of their intervals:
    `knows`, the share of facts known by heart, and `misreads`, the share of facts in passages that
    are misread; NaN if nothing tells. `source`: what they were measured on.

    Ours are those whose runs are there: the agent (13_head_to_head), the model of `p` (04_ircot).
    A reader that is measured more than once has only its first row.
    """
    of_agent = panels_of(p)[0].change(datasets=[DATASET])
    ours = ((of_agent, EXPERIMENT), (p.change(datasets=[DATASET]), "04_ircot"))
    rows = [measure_reader(*run) for run in ours if find_facts(p, DATASET) and has_runs(*run)]
    rows = [row for row in rows if row["questions"]]
    rows += read_anchor(benchmark_table(ANCHOR))
    return pd.DataFrame(rows, columns=COLUMNS).drop_duplicates("reader")


def measure_reader(p: Parameters, experiment: str) -> dict:
    """Measure a model in its runs of an experiment on MuSiQue: which of the facts it states are
    right, in chains without retrieval, and where its prompt shows a page that states the fact.
    """
    facts = find_facts(p, DATASET)
    stated = {"knows": [], "misreads": []}
    folders = find_test_runs(p, experiment)
    counts = []
    for system in (*CLOSED, *READING):
        if folder := folders.get((DATASET, system)):
            outcomes = replay(folder)
            counts.append(len(outcomes))
            for outcome in outcomes.values():
                for fact in read_stated(outcome, facts):
                    if system in CLOSED:
                        stated["knows"].append(fact.right)
                    elif fact.shown:
                        stated["misreads"].append(not fact.right)
    names = ", ".join(name for name in (*CLOSED, *READING) if (DATASET, name) in folders)
    row = {"reader": Path(p.model).name, "questions": max(counts, default=0)}
    row["source"] = f"measured: {', '.join(f'{len(stated[r])} facts' for r in RATES)}, {names}"
    for rate, values in stated.items():
        if values:
            row[rate] = np.mean(values)
            row[f"{rate}_low"], row[f"{rate}_high"] = bootstrap_interval(values)
    return row


def read_stated(outcome: Outcome, facts: Facts) -> Iterator:
    """The facts in the sentences of all replies (`Stated`), with the pages that the prompt shows;
    those of a sentence that gives the answer are left out.
    """
    retrieved = {}
    for step in outcome.trace:
        if isinstance(step.request, Retrieve):
            retrieved |= {paragraph.text: paragraph.title for paragraph in step.reply}
        elif isinstance(step.request, Generate):
            titles = {title for text, title in retrieved.items() if text in step.request.prompt}
            for sentence in sentences(step.reply):
                if not gives_answer(sentence) and (fact := facts.read(sentence, titles)):
                    yield fact


def read_anchor(path: Path) -> Iterator[dict]:
    """The readers that bench/real_anchor.py measured on real questions of HotpotQA: the shares of
    its two-fact questions that are right, as if both facts were equally likely so. `path`: of its
    table.
    """
    texts, shares = ("model", "dataset", "rate", "system"), ("mean", "low", "high")
    columns = dict.fromkeys(texts) | dict.fromkeys(shares, Number(0, 100, empty=np.nan))
    table = pd.DataFrame(read_table(path, columns | {"n": Number(0, kind=int)}))
    table = table[table["dataset"] == TWO_FACTS]
    for model, rows in table.groupby("model", sort=False):
        closed = rows[rows["rate"].eq("right without paragraphs") & rows["system"].isin(CLOSED)]
        shown = rows[rows["rate"].eq("right, all gold paragraphs shown")]
        if len(closed) and len(shown):
            known, read = closed.loc[closed["mean"].idxmax()], shown.loc[shown["n"].idxmax()]
            ends = {"": "mean", "_low": "low", "_high": "high"}
            row = {f"knows{end}": np.sqrt(known[name] / 100) for end, name in ends.items()}
            ends = {"": "mean", "_low": "high", "_high": "low"}
            row |= {f"misreads{end}": 1 - np.sqrt(read[n] / 100) for end, n in ends.items()}
            row |= {"reader": Path(model).name, "questions": known["n"]}
            yield row | {"source": f"measured on real questions: {path.name}"}
