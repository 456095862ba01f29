"""The values that SearChain's claims compare (`judge_claims`)."""

from collections.abc import Iterable, Iterator

import pandas as pd

from ircotlib.datasets import COVER_EM
from ircotlib.papers.claims import values_of
from ircotlib.papers.searchain import (
    ALONE,
    HELPED,
    SCALES,
    WHOLE,
    Measured,
    Runs,
    datasets_of,
    knowledge_of,
    measure_answers,
    measure_effects,
    measure_steps,
)
from ircotlib.results.head_to_head import first_measures

KNOWLEDGE = "knowledge_of_llm"


def measure_searchain(
    scores: pd.DataFrame,
    runs: Runs,
    forms: pd.DataFrame,
    other: pd.DataFrame,
    alphas: pd.DataFrame,
) -> pd.DataFrame:
    """The values (columns VALUES) of the head to head (`scores`, and its `runs`), of
    forms of knowledge (`compare_forms`), of a second model (`other`) and of thresholds
    of ROUGE (`alphas`).
    """
    effects = list(measure_effects(runs))
    steps = list(measure_steps(runs))
    sides = [
        _side(row.metric, row.dataset, row.system, row.metric, row.values)
        for row in (*effects, *steps, *measure_answers(alphas))
    ]
    sides += _where_retrieval_helps(effects)
    for row in steps:
        if row.system == ALONE:
            name = "steps by hops"
            sides.append(_side(name, "musique", row.dataset, row.metric, row.values))
    sides += _own_knowledge(runs)
    sides += _forms_of_knowledge(forms)
    tables = [
        values_of(scores.assign(metric=first_measures), "scores"),
        values_of(other.assign(metric=first_measures), "scores of the second model"),
        *(side.assign(model=scores["model"].iloc[0]) for side in sides),
    ]
    return pd.concat(tables, ignore_index=True)


def _side(
    measured: str, dataset: str, side: str, metric: str, values: pd.Series
) -> pd.DataFrame:
    """The values of one side of claims. `measured`, `dataset` and `side` are those of
    data/claims.csv; `values`: by the questions' ids.
    """
    value = SCALES.get(metric, 100) * values.to_numpy(float)
    table = pd.DataFrame({"id": values.index, "value": value})
    table = table.assign(measured=measured, side=side, metric=metric)
    return table.assign(dataset=dataset, demonstrations=dataset)


def _where_retrieval_helps(effects: Iterable[Measured]) -> Iterator[pd.DataFrame]:
    """Without retrieval, on S_IR, which retrieval helps, and elsewhere (§4.3.2)."""
    alone = [row for row in effects if row.system == ALONE]
    every = {row.dataset: row.values for row in alone if row.metric == COVER_EM}
    for row in alone:
        if row.metric == HELPED:
            rest = every[row.dataset].drop(row.values.index)
            yield _side("w/o IR", row.dataset, "where IR helps", COVER_EM, row.values)
            yield _side("w/o IR", row.dataset, "elsewhere", COVER_EM, rest)


def _own_knowledge(runs: Runs) -> Iterator[pd.DataFrame]:
    """Of each question with nodes that were compared, the share of the model's own
    knowledge, beside one half, and beside that on StrategyQA (§4.3.1).
    """
    for dataset in datasets_of("Table 2", runs, WHOLE):
        sources = runs[dataset, WHOLE]["nodes"].map(knowledge_of)
        own = sources[sources.map(bool)].map(lambda kinds: kinds.count("") / len(kinds))
        yield _side("own knowledge", dataset, "the model's own", KNOWLEDGE, own)
        yield _side("own knowledge", dataset, "half", KNOWLEDGE, own * 0 + 0.5)
        name = "own knowledge by data set"
        yield _side(name, "strategyqa", dataset, KNOWLEDGE, own)


def _forms_of_knowledge(forms: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """By how many parts are known by heart, and by panel, of Figure 10 (A.2.1)."""
    in_prompt = forms[forms["panel"] == "a"].set_index("id")
    for i, right in in_prompt.groupby("i")["right"]:
        yield _side("knowledge", "musique", f"last {i} by heart", COVER_EM, right)
    # where some parts are in the prompt, of questions that both panels have
    some = forms[forms["i"] < forms["hops"]].set_index(["id", "i", "panel"])["right"]
    # the mean of a question, since its several i are no sample
    both = some.astype(float).unstack().dropna().groupby("id").mean()
    names = {"a": "knowledge in the prompt", "b": "sub-questions alone"}
    for panel in both:
        yield _side("knowledge", "musique", names[panel], COVER_EM, both[panel])
