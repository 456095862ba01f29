"""Runs a real model on real questions, through systems of both papers: python -m
bench.real_anchor --set model=NAME --set server=URL --set data_dir=FOLDER

Writes figures/real_anchor.csv (`measure`), real_anchor_compared.csv (`compare`) and
data/real_found.csv (`count_found`). Replies are cached: to resume, run it again.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from ircotlib.data import Question
from ircotlib.datasets.musique import RELATION
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.experiment.stored import read_predictions
from ircotlib.files import SHIPPED, write_table
from ircotlib.metrics import paragraph_recall
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.papers.knowledge import parts_of
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results import statistics
from ircotlib.results.figures import save_figure
from ircotlib.systems import SEARCHAIN, choose_systems
from ircotlib.text import answer_from_chain

NAME, AS_MANY, ALL = "real_anchor", "OneR QA, as many as ", "all"
CLOSED = ("NoR QA", "Direct Prompting", "CoT")  # they retrieve nothing
STEPWISE = ("IRCoT QA", "Self-Ask", "ReAct", "SearChain")
SYSTEMS = (*CLOSED, "OneR QA", *STEPWISE)
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
ROUNDED = ["mean_a", "mean_b", "difference", "low", "high"]
MEASURES = ("recall", "f1", "cover_em", "parsed", SHOWN)
BY = ("model", "dataset", "system")


def run_dataset(p: Parameters, dataset: str) -> pd.DataFrame:
    """The rows of `read_predictions` of SYSTEMS or of those in `p`, and of OneR with as
    many paragraphs as each of STEPWISE has (only recall; for IRCoT QA, OneR QA's rows).
    """
    setup = open_setup(p, dataset, NAME)
    names = p.systems or SYSTEMS
    tables = {name: run_one(setup, name) for name in names}
    ranking = run_one(setup, "OneR", k=RANKED).set_index("id")
    for name in [name for name in STEPWISE if name in names]:
        counts = tables[name].set_index("id")["collected"].map(len)
        ranked = ranking.loc[counts.index]
        if name == "IRCoT QA":
            read = pd.concat(read_as_many(p, dataset, counts))
            fewer = read.set_index("id").loc[counts.index]
        else:
            fewer = ranked.assign(f1=np.nan, cover_em=np.nan, parsed=np.nan)
        recall = [
            paragraph_recall(row.collected[:n], row.gold_found + row.gold_missed)
            for row, n in zip(ranked.itertuples(), counts, strict=True)
        ]
        fewer = fewer.assign(recall=recall, paragraphs=counts, system=AS_MANY + name)
        tables[AS_MANY + name] = fewer.reset_index()
    table = pd.concat(tables.values(), ignore_index=True)
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
    answers = pd.concat([answers, answers.assign(dataset=ALL)])
    retrieving = answers[~answers["system"].isin(CLOSED)]
    reads = retrieving["system"].str.endswith(" QA")
    shown = retrieving[(retrieving["recall"] == 1) & reads]
    tables = {
        **dict.fromkeys(MEASURES, answers),
        "recall": retrieving,
        SHOWN: shown.assign(**{SHOWN: shown["cover_em"]}),
    }
    scores = [rows.assign(metric=m).dropna(subset=m) for m, rows in tables.items()]
    table = statistics.summarise(pd.concat(scores), BY).drop(columns="deviation")
    paragraphs = retrieving.groupby(["dataset", "system"])["paragraphs"].mean().round(2)
    table = table.join(paragraphs, on=["dataset", "system"])
    for column in ("system", "metric", "dataset"):
        order = MEASURES if column == "metric" else order_of(answers[column])
        place = lambda names, order=order: names.map([*order].index)  # noqa: E731
        table = table.sort_values(column, key=place, kind="stable", ignore_index=True)
    return table


def order_of(names: pd.Series) -> list[str]:
    """The names in their order; OneR with as many paragraphs below each system."""
    seen = list(dict.fromkeys(names))
    return sorted(seen, key=lambda name: seen.index(name.removeprefix(AS_MANY)))


def compare(answers: pd.DataFrame) -> pd.DataFrame:
    """Exact paired tests on the questions of all data sets together, in points,
    corrected for their number (Holm): of recall, each of STEPWISE against OneR with as
    many paragraphs; of F1, IRCoT QA against all. `unshared`: questions of only one.
    """
    answers = answers.assign(id=answers["dataset"] + " " + answers["id"])
    tables = dict(iter(answers.groupby("system")))
    names = order_of(answers["system"])
    answered = [name for name in names if tables[name]["f1"].notna().all()]
    pairs = [("recall", name, AS_MANY + name) for name in STEPWISE if name in tables]
    if "IRCoT QA" in answered:
        others = [name for name in answered if name != "IRCoT QA"]
        pairs += [("f1", "IRCoT QA", other) for other in others]
    if not pairs:
        return pd.DataFrame()
    table = pd.DataFrame([compare_pair(tables, *pair) for pair in pairs])
    table = table.round(dict.fromkeys(ROUNDED, 2))
    return table.assign(p_holm=statistics.holm(table["p"])).round(4)


def compare_pair(tables: dict[str, pd.DataFrame], metric: str, a: str, b: str) -> dict:
    """A row of `compare`: the system a against b."""
    sides = [100 * statistics.per_question(tables[name], metric) for name in (a, b)]
    both = pd.concat(sides, axis=1, join="inner", keys=["a", "b"])
    change = both["a"] - both["b"]
    difference, low, high, p = statistics.paired_difference(both["a"], both["b"])
    return {
        "dataset": ALL,
        "metric": metric,
        "a": a,
        "b": b,
        "n": len(both),
        "unshared": sum(map(len, sides)) - 2 * len(both),
        "mean_a": both["a"].mean(),
        "mean_b": both["b"].mean(),
        "wins": (change >= statistics.SAME).sum(),
        "losses": (change <= -statistics.SAME).sum(),
        "difference": difference,
        "low": low,
        "high": high,
        "p": p,
    }


def count_found(p: Parameters, table: pd.DataFrame) -> pd.DataFrame:
    """Of how many questions all gold paragraphs are found by a reader that only states
    what it read, with IRCoT QA's number of queries and of paragraphs (`stated`); of how
    many IRCoT QA did (`found`), and was right (in `measure`).
    """
    rows = []
    kept = table.set_index(["metric", "system", "dataset"])
    k, most = p.ircot_k[0], p.max_steps  # the first query is the question itself
    for name in p.datasets:
        setup = open_setup(p, name, "found", with_model=False)
        assert setup.retriever is not None
        stated = 0
        for question in setup.test:
            collected: set[str] = set()
            for query in islice(state_steps(question, collected), most):
                hits = setup.retriever.search(query, k)
                collected.update(paragraph.id for paragraph, _ in hits)
            stated += collected.issuperset(question.gold)
        n, share = kept.loc[(SHOWN, "IRCoT QA", name), ["n", "mean"]]
        row = {
            "dataset": name,
            "n": len(setup.test),
            "stated": stated,
            "found": round(n),
            "right": round(n * share / 100),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def state_steps(question: Question, collected: Collection[str]) -> Iterator[str]:
    """The queries of a reader that makes no mistake and asks for nothing: the question,
    then a sentence for each step in order, once a paragraph that supports it has been
    `collected` (ids). It stops at a step that it has not read.
    """
    yield question.text
    for step, part in zip(question.steps, parts_of(question), strict=True):
        if not {*collected} & {*(step.gold or question.gold)}:
            return
        subject, relation, asked = part.text.partition(RELATION)
        answered = f"{part.text.rstrip('?')}: {step.answer}"
        stated = f"The {asked} of {subject} is {step.answer}."
        yield step.sentence or (stated if relation else answered)


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser, "sample")
    options = parser.parse_args()
    changes = parse_changes(options.set)
    p = read_parameters(options.profile, changes).change(**FIXED | changes)
    tables = [run_dataset(p, name) for name in p.datasets]
    answers = pd.concat(tables, ignore_index=True)
    table = measure(answers)
    save_figure(None, table, NAME, p)
    save_figure(None, compare(answers), f"{NAME}_compared", p)
    write_table(SHIPPED / "data" / "real_found.csv", count_found(p, table))


if __name__ == "__main__":
    main()
