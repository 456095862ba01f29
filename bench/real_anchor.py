"""Runs a real model on real questions, through systems of both papers: python -m bench.real_anchor
--set model=NAME --set server=URL --set data_dir=FOLDER

Writes figures/real_anchor.csv, means with intervals by data set, system and measure, with their
picture; real_anchor_rates.csv: how often the model is right without paragraphs and with all gold
ones, and how many of its replies can be read; real_anchor_differences.csv: IRCoT QA against every
other system. Replies are cached: if interrupted, the same command resumes.
"""

from pathlib import Path

import pandas as pd

from ircotlib.comparing.checks import check_places
from ircotlib.comparing.comparison import run_system
from ircotlib.files.options import add_profile, new_parser, parse_changes, refusing
from ircotlib.metrics import paragraph_recall
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures.panels import save_figure
from ircotlib.results.figures.rows import draw_measures
from ircotlib.results.statistics import describe, paired_difference, summarise
from ircotlib.running.bench import open_bench
from ircotlib.running.predictions import read_predictions
from ircotlib.running.run import Run
from ircotlib.systems import SEARCHAIN, choose_systems
from ircotlib.text import answer_from_chain

NAME = "real_anchor"
CLOSED = ("NoR QA", "Direct Prompting", "CoT")  # they retrieve nothing
SYSTEMS = (*CLOSED, "OneR QA", "IRCoT QA", "Self-Ask", "ReAct", "SearChain")
# nothing is tuned; IRCoT collects up to 6 paragraphs, 2 for the question and for each of 2 thoughts
FIXED = {"dev": 0, "distractors": [1], "oner_k": [6], "ircot_k": [2], "max_steps": 3}
FIXED |= {"context_tokens": 4000, "test": 30, "in_flight": 4, "timeout": 3600.0}
# SearChain's systems write fewer and shorter texts than in its paper
FEWER = {"Self-Ask": {"max_follow_ups": 4}, "ReAct": {"max_actions": 4}}
FEWER |= {"SearChain": {"max_rounds": 2}}
MOST_TOKENS = 128
MEASURES = ("recall", "f1", "cover_em")
BY = ("model", "dataset", "system")


def run_dataset(p: Parameters, dataset: str) -> pd.DataFrame:
    """Run SYSTEMS, or those that `p` names, on a data set, then IRCoT QA with its other reader if
    `p` has both; return a row for each answer, with the columns of `read_predictions`, and whether
    the reply was `parsed`.
    """
    tables, names = [], p.systems or SYSTEMS
    other = [("IRCoT QA", p.other_reader())] if p.both_readers and "IRCoT QA" in names else []
    for name, q in [*((name, p) for name in names), *other]:
        bench, [system] = open_bench(q, dataset, NAME), choose_systems([name])
        setting = {name: values[0] for name, values in bench.grid(system).items()}
        if system.study == SEARCHAIN:
            setting |= {name: min(n, MOST_TOKENS) for name, n in bench.tokens(system).items()}
        setting |= FEWER.get(system.name, {})
        run_system(bench, system, **setting)
        answers = read_predictions(Run(bench, system, "test", setting).folder)
        parsed = answers["fault"] == ""
        if system.reads and q.reader == "cot":
            parsed = answers["reading"].map(answer_from_chain).notna()
        name = name if q is p else f"{name}, {q.reader}"
        tables.append(answers.assign(parsed=parsed.astype(float), system=name))
    return pd.concat(tables, ignore_index=True).assign(model=Path(p.model).name)


def measure(answers: pd.DataFrame) -> pd.DataFrame:
    """The means of MEASURES with their intervals, by data set, measure and system."""
    tables = [with_recall(answers), answers, answers]
    scores = [rows.assign(metric=name) for rows, name in zip(tables, MEASURES, strict=True)]
    table = summarise(pd.concat(scores), BY).drop(columns="deviation")
    order = [*answers["dataset"].unique(), *MEASURES]
    keys = {"by": ["dataset", "metric"], "key": lambda names: names.map(order.index)}
    return table.sort_values(**keys, kind="stable", ignore_index=True)


def with_recall(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers of systems that retrieve, and OneR QA's again, with the recall of its first
    paragraphs, as many as IRCoT QA collected for the question.
    """
    one, other = (answers[answers["system"] == name] for name in ("OneR QA", "IRCoT QA"))
    keys, recalls = ["dataset", "id"], []
    fewer = one.merge(other[[*keys, "collected"]], on=keys, suffixes=("", "_by_ircot"))
    for row in fewer.itertuples():
        first = row.collected[: len(row.collected_by_ircot)]
        recalls.append(paragraph_recall(first, row.gold_found + row.gold_missed))
    fewer = fewer.assign(recall=recalls, system="OneR QA, as many")
    return pd.concat([answers[~answers["system"].isin(CLOSED)], fewer])


def rate(answers: pd.DataFrame) -> pd.DataFrame:
    """Shares in percent, with their intervals, by data set, and of "all", and by system: answers
    right (cover-EM) without paragraphs; right where the reader was shown all gold paragraphs;
    replies parsed.
    """
    answers = pd.concat([answers, answers.assign(dataset="all")])
    closed = answers[answers["system"].isin(CLOSED)]
    shown = answers["system"].str.contains("(?:OneR|IRCoT) QA") & (answers["recall"] == 1)
    rows = closed.assign(metric="cover_em", rate="right without paragraphs")
    rows = [rows, answers[shown].assign(metric="cover_em", rate="right, all gold paragraphs shown")]
    rows += [answers.assign(metric="parsed", rate="replies parsed")]
    return summarise(pd.concat(rows), ("rate", *BY)).drop(columns=["deviation", "metric"])


def compare(answers: pd.DataFrame) -> pd.DataFrame:
    """How many points more IRCoT QA has than each other system, in recall and F1, on the questions
    of all data sets together: the paired difference, its interval and p-value, not corrected.
    """
    tables, rows = {"recall": with_recall(answers), "f1": answers}, []
    for metric, table in tables.items():
        scores = 100 * table.pivot(index=["dataset", "id"], columns="system", values=metric)
        for name in scores.columns.drop("IRCoT QA") if "IRCoT QA" in scores else ():
            difference = paired_difference(scores["IRCoT QA"], scores[name])
            rows.append({"metric": metric, "system": name, "n": len(scores)} | difference._asdict())
    return pd.DataFrame(rows).round(4)


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser, "sample")
    options = parser.parse_args()
    with refusing():
        changes = parse_changes(options.set)
        p = read_parameters(options.profile, changes).change(**FIXED | changes)
        check_places(p)
    answers = pd.concat([run_dataset(p, name) for name in p.datasets], ignore_index=True)
    table = measure(answers)
    figure = draw_measures(table, "Real questions")
    save_figure(figure, table, NAME, p, describe(answers, p.profile))
    save_figure(None, rate(answers), f"{NAME}_rates", p)
    save_figure(None, compare(answers), f"{NAME}_differences", p)


if __name__ == "__main__":
    main()
