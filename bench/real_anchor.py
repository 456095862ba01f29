"""Runs a real model on real questions, through systems of both papers: python -m
bench.real_anchor --set model=NAME --set server=URL --set data_dir=FOLDER

Writes figures/real_anchor.csv (`measure`) and data/real_found.csv (`count_found`).
Replies are cached: to resume, run it again.
"""

from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from ircot_studies.ask_or_state import finds_all, open_search, states
from ircotlib.data import Question
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import Setup, open_corpus, open_setup
from ircotlib.experiment.stored import read_predictions
from ircotlib.files import SHIPPED, write_table
from ircotlib.metrics import paragraph_recall
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures import save_figure
from ircotlib.results.runs import in_order
from ircotlib.results.statistics import summarise
from ircotlib.systems import SEARCHAIN, choose_systems
from ircotlib.text import answer_from_chain

NAME, AS_MANY = "real_anchor", "OneR QA, as many as "
CLOSED = ("NoR QA", "Direct Prompting", "CoT")  # they retrieve nothing
STEPWISE = ("IRCoT QA", "Self-Ask", "ReAct", "SearChain")
COMPARED = (*CLOSED, "OneR QA", *STEPWISE)
# nothing is tuned; all may collect six paragraphs: OneR at once, IRCoT and Self-Ask two
# a search, ReAct one an action, and SearChain one a node
FIXED = {
    "dev": 0,
    "test": 100,
    "distractors": [1],
    "oner_k": [6],
    "ircot_k": [2],
    "max_steps": 3,
    "context_tokens": 4000,
    "in_flight": 4,
}
SETTINGS = {
    "Self-Ask": {"k": 2, "max_follow_ups": 3},
    "ReAct": {"max_actions": 6},
    "SearChain": {"max_rounds": 2},
}
MOST_TOKENS = 128  # of a generation of SearChain's systems, fewer than in its paper
RANKED = 15  # paragraphs of OneR
SHOWN = "right, all gold paragraphs shown"
MEASURES = ("recall", "f1", "cover_em", "parsed", SHOWN)
BY = ("model", "dataset", "system")


def run_dataset(p: Parameters, dataset: str) -> pd.DataFrame:
    """The rows of `read_predictions` of COMPARED, and of OneR with as many paragraphs
    as each of STEPWISE has (only recall; for IRCoT QA, OneR QA's rows).
    """
    setup = open_setup(p, dataset, NAME)
    tables = [run_one(setup, name) for name in COMPARED]
    ranking = run_one(setup, "OneR", k=RANKED).set_index("id")
    for name, table in zip(COMPARED, list(tables), strict=True):
        if name not in STEPWISE:
            continue
        counts = table.set_index("id")["collected"].map(len)
        ranked = ranking.loc[counts.index]
        recall = [
            paragraph_recall(row.collected[:n], row.gold_found + row.gold_missed)
            for row, n in zip(ranked.itertuples(), counts, strict=True)
        ]
        fewer = ranked.assign(f1=np.nan, cover_em=np.nan, parsed=np.nan)
        if name == "IRCoT QA":
            read = pd.concat(read_as_many(p, dataset, counts))
            fewer = read.set_index("id").loc[counts.index]
        fewer = fewer.assign(recall=recall, paragraphs=counts, system=AS_MANY + name)
        tables.append(fewer.reset_index())
    table = pd.concat(tables, ignore_index=True)
    return table.assign(model=Path(p.model).name)


def run_one(setup: Setup, name: str, **setting: object) -> pd.DataFrame:
    """A system's answers with the first values of its grid, SETTINGS and `setting`."""
    [system] = choose_systems([name])
    setting = {name: values[0] for name, values in setup.grid(system).items()} | setting
    if system.study == SEARCHAIN:
        tokens = setup.tokens(system).items()
        setting |= {name: min(n, MOST_TOKENS) for name, n in tokens}
    setting |= SETTINGS.get(name, {})
    run_system(setup, system, **setting)
    answers = read_predictions(Run(setup, system, "test", setting).folder)
    parsed = answers["fault"] == ""
    if system.reads and setup.parameters.reader == "cot":
        parsed = answers["reading"].map(answer_from_chain).notna()
    return answers.assign(parsed=parsed.astype(float), system=name)


def read_as_many(
    p: Parameters, dataset: str, counts: pd.Series
) -> Iterator[pd.DataFrame]:
    """OneR QA's answers from as many paragraphs as `counts` has for each question."""
    setup = open_setup(p, dataset, f"{NAME}_as_many")
    for k, ids in counts.groupby(counts).groups.items():
        asked = [question for question in setup.test if question.id in ids]
        yield run_one(replace(setup, test=asked), "OneR QA", k=k)


def measure(answers: pd.DataFrame) -> pd.DataFrame:
    """The means of MEASURES with their intervals, exact for shares, and how many
    `paragraphs` a question was collected, by data set and of "all", by system.
    """
    answers = pd.concat([answers, answers.assign(dataset="all")])
    retrieving = answers[~answers["system"].isin(CLOSED)]
    reads = retrieving["system"].str.endswith(" QA")
    shown = retrieving[(retrieving["recall"] == 1) & reads]
    tables = {
        **dict.fromkeys(MEASURES, answers),
        "recall": retrieving,
        SHOWN: shown.assign(**{SHOWN: shown["cover_em"]}),
    }
    scores = [rows.assign(metric=m).dropna(subset=m) for m, rows in tables.items()]
    table = summarise(pd.concat(scores), BY).drop(columns="deviation")
    paragraphs = retrieving.groupby(["dataset", "system"])["paragraphs"].mean().round(2)
    table = table.join(paragraphs, on=["dataset", "system"])
    # OneR with as many paragraphs below each system
    systems = [name for each in COMPARED for name in (each, AS_MANY + each)]
    table = in_order(in_order(table, "system", systems), "metric", MEASURES)
    return in_order(table, "dataset", answers["dataset"])


def count_found(p: Parameters, table: pd.DataFrame) -> pd.DataFrame:
    """Of how many questions all gold paragraphs are found by a reader that only states
    what it read, with IRCoT QA's number of queries and of paragraphs (`stated`); of how
    many IRCoT QA did (`found`), and was right (in `measure`).
    """
    kept = table.set_index(["metric", "system", "dataset"])[["n", "mean"]]

    def state(question: Question, collected: Set[str]) -> Iterator[str]:
        return islice(states(question, collected), p.max_steps)

    rows = []
    for name in p.datasets:
        _, questions, _ = open_corpus(p, name)
        search = open_search(p, name)
        stated = [finds_all(q, state, search, k=p.ircot_k[0]) for q in questions]
        n, share = kept.loc[(SHOWN, "IRCoT QA", name)]
        right = round(n * share / 100)
        rows.append((name, len(questions), sum(stated), round(n), right))
    return pd.DataFrame(rows, columns=["dataset", "n", "stated", "found", "right"])


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser, "sample")
    options = parser.parse_args()
    changes = parse_changes(options.set)
    p = read_parameters(options.profile, changes).change(**FIXED | changes)
    answers = pd.concat([run_dataset(p, name) for name in p.datasets])
    table = measure(answers)
    save_figure(None, table, NAME, p)
    write_table(SHIPPED / "data" / "real_found.csv", count_found(p, table))


if __name__ == "__main__":
    main()
