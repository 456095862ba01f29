"""The claims of SearChain's §4 that runs can test, and the values that they compare."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import neg
from typing import NamedTuple

import numpy as np
import pandas as pd

from ircotlib.results.claims.claim import (
    ABLATIONS,
    CHAINS_OF_THOUGHT,
    SUB_QUESTIONS,
    WITH_IR,
    Claim,
    Printed,
    Values,
    over,
    values_of,
)
from ircotlib.results.head_to_head import first_measures, measures_of, of_first_measure
from ircotlib.results.searchain_measures import KNEW, count_steps, hops_of, is_helped, share_of_own
from ircotlib.results.tables import WITH_RETRIEVAL, WITHOUT_RETRIEVAL, datasets_of, systems_of

printed = partial(Printed, "searchain")


class Measured(NamedTuple):
    """What SearChain's claims are about."""

    table: pd.DataFrame  # the head to head
    scores: pd.DataFrame  # its scores
    runs: Mapping[tuple[str, str], pd.DataFrame]  # its runs, from `measures.read_all_runs`
    forms: pd.DataFrame  # of knowledge, from `knowledge.compare_forms`
    asked: pd.DataFrame  # MuSiQue's questions as they are, from `knowledge.ask_questions`
    second: pd.DataFrame  # the scores of a second model, if any
    thresholds: Mapping[float, Sequence[pd.DataFrame]]  # the scores of ELI5, if any, by threshold

    def at(self, by_dataset: Mapping[str, Mapping[str, pd.Series]], measure: str = "") -> Values:
        """Values of the head to head's model by a measure; "": scores of its runs, or shares of
        them that are right, by the measure of `read_run`.
        """
        model = next(iter(self.scores["model"]), "")
        values = {}
        for dataset, sides in by_dataset.items():
            name = measure or measures_of(dataset)[0]
            named = {side: of_side.rename(name) for side, of_side in sides.items()}
            values[dataset, model, dataset] = named
        return values


def scores(m: Measured, name: str = "scores") -> Values:
    """By the first measure of each data set."""
    table = getattr(m, name)
    if table.empty:  # then it may lack the column, too
        return {}
    return values_of(table.assign(metric=first_measures(table["dataset"])))


SECTION_4 = {}
TABLE_1 = printed("Table 1")
SECTION_4["§4.2"] = {
    "(1), Table 1: SearChain w/o IR is better than chains of thought": Claim(
        over(WITHOUT_RETRIEVAL, *CHAINS_OF_THOUGHT), scores, TABLE_1
    ),
    "(1), Table 1: SearChain w/o IR is better than sub-questions one at a time": Claim(
        over(WITHOUT_RETRIEVAL, *SUB_QUESTIONS), scores, TABLE_1
    ),
    "(2), Table 1: SearChain is better than all with IR": Claim(
        over(WITH_RETRIEVAL, *WITH_IR),
        scores,
        TABLE_1,
        note="an agent that was taught more of SearChain had it first (docs/agent.md)",
    ),
    "Table 1: SearChain is better with verification and completion": Claim(
        over(WITH_RETRIEVAL, *ABLATIONS), scores, TABLE_1
    ),
}


def own_knowledge(m: Measured) -> Values:
    """The share of each question's nodes that is the model's own, beside half of them."""
    shares = _shares_of_own(m)
    # half of a question's nodes: 50 percent of each
    sides = {d: {"knowledge_of_llm": own, "half": own * 0 + 50} for d, own in shares.items()}
    return m.at(sides, "knowledge_of_llm")


def own_by_dataset(m: Measured) -> Values:
    return m.at({"strategyqa": _shares_of_own(m)}, "knowledge_of_llm")


def _shares_of_own(m: Measured) -> dict[str, pd.Series]:
    datasets = datasets_of("Table 2", m.runs, WITH_RETRIEVAL)
    return {name: 100 * share_of_own(m.runs[name, WITH_RETRIEVAL]).dropna() for name in datasets}


SECTION_4["§4.3.1"] = {
    "Table 2: most knowledge is the model's": Claim(
        over("knowledge_of_llm", "half"),
        own_knowledge,
        printed("Table 2", side="metric", base=50.0),
        "share of the model's own knowledge > {1}",
        note="decided by how much the shipped agent was taught",
    ),
    "Table 2: IR provides less on StrategyQA than elsewhere": Claim(
        over("strategyqa", "hotpotqa", "musique", "2wikimultihopqa"),
        own_by_dataset,
        printed("Table 2", {"metric": "knowledge_of_llm"}, side="dataset"),
        "share of the model's own knowledge: {} > {}",
        paired=False,
    ),
}


def where_ir_helps(m: Measured) -> Values:
    """Scores with and without retrieval where it changes a node, and without it elsewhere."""
    by_dataset = {}
    for dataset in datasets_of("Table 3(a)", m.runs, WITH_RETRIEVAL, WITHOUT_RETRIEVAL):
        with_ir = 100 * m.runs[dataset, WITH_RETRIEVAL]["score"]
        alone = 100 * m.runs[dataset, WITHOUT_RETRIEVAL]["score"]
        helped = is_helped(m.runs[dataset, WITH_RETRIEVAL])
        by_dataset[dataset] = {
            "cover_em": alone[~helped],
            "cover_em_where_ir_helps": alone[helped],
            WITH_RETRIEVAL: with_ir[helped],
            WITHOUT_RETRIEVAL: alone[helped],
        }
    return m.at(by_dataset)


def where_known(m: Measured) -> Values:
    """Whether systems are right where the model knows the answer without retrieval."""
    by_dataset = {}
    for dataset in datasets_of("Table 3(b)", m.runs, WITH_RETRIEVAL, KNEW):
        knew = m.runs[dataset, KNEW]["right"]
        names = systems_of("Table 3(b)", m.runs, dataset)
        by_dataset[dataset] = {n: 100.0 * m.runs[dataset, n]["right"][knew] for n in names}
    return m.at(by_dataset)


SECTION_4["§4.3.2"] = {
    "(1), Table 3(a): the model alone is worse where IR helps": Claim(
        over("cover_em", "cover_em_where_ir_helps"),
        where_ir_helps,
        printed(
            "Table 3(a)",
            {"system": WITHOUT_RETRIEVAL},
            side="metric",
            wording="{:+.2f} (all questions > where IR helps)",
        ),
        f"{WITHOUT_RETRIEVAL}: other questions > where IR helps",
        paired=False,
    ),
    "(1), Table 3(a): where IR helps, it makes answers better": Claim(
        over(WITH_RETRIEVAL, WITHOUT_RETRIEVAL),
        where_ir_helps,
        printed("Table 3(a)", {"metric": "cover_em_where_ir_helps"}),
        "{} > {} where IR helps",
    ),
    "(2), Table 3(b): IR misleads SearChain less than others": Claim(
        over(
            WITH_RETRIEVAL,
            "Self-Ask",
            "ReAct",
            "Plan-and-Solve w/ IR",
            "Verify-and-Edit",
            "Tree-of-Thought w/ IR",
            "DSP",
        ),
        where_known,
        printed("Table 3(b)", scale=neg),
        "{} misled less than {}",
    ),
}


def steps(m: Measured) -> Values:
    """The steps of systems without retrieval on MuSiQue: how many more than the hops of a question,
    and of SearChain also how many, by hops.
    """
    runs = {name: m.runs["musique", name] for name in systems_of("Table 4", m.runs, "musique")}
    counted = {name: count_steps(run, name) for name, run in runs.items()}
    hops = {name: run["kind"].str.extract(r"^(\d)")[0] for name, run in runs.items()}
    sides = {name: (n - hops[name].astype(float)).dropna() for name, n in counted.items()}
    if WITHOUT_RETRIEVAL in runs:
        by_hops = counted[WITHOUT_RETRIEVAL].groupby(hops_of(runs[WITHOUT_RETRIEVAL]))
        sides |= dict(iter(by_hops))
    return m.at({"musique": sides}, "reasoning_steps")


STEPS = {"metric": "reasoning_steps"}
OF_HOPS = "{:+.2f} (mean of 2 to 4 hops)"
TAUGHT = "with a model that was taught one step for each hop, as the shipped agent was"
HOPS = [f"musique_{hops}hop" for hops in (2, 3, 4)]
SECTION_4["§4.3.3"] = {
    "(1), Table 4: SearChain w/o IR takes more steps than others": Claim(
        over(WITHOUT_RETRIEVAL, "CoT", *SUB_QUESTIONS),
        steps,
        printed("Table 4", STEPS, wording=OF_HOPS),
        "steps: {} > {}",
        settled={WITHOUT_RETRIEVAL: f"cannot hold {TAUGHT}"},
    ),
    "(1), Table 4: SearChain w/o IR takes more steps for more hops": Claim(
        [(more, fewer) for fewer, more in pairwise(HOPS)],
        steps,
        printed("Table 4", STEPS | {"system": WITHOUT_RETRIEVAL}, side="dataset"),
        "steps: {} > {}",
        paired=False,
        settled=dict.fromkeys(HOPS, f"cannot fail {TAUGHT}"),
    ),
}


def halvings(seconds: float | pd.Series) -> float | pd.Series:
    """The speed: how many times the seconds of a question must be halved to be one, negative."""
    return -np.log2(seconds)


def speed(m: Measured) -> Values:
    groups = of_first_measure(m.table).dropna(subset="seconds").set_index("dataset")
    groups = groups.groupby("system")["seconds"]
    return m.at({"unspecified": {name: halvings(seconds) for name, seconds in groups}}, "seconds")


SECTION_4["§4.3.5"] = {
    "Table 6: SearChain takes hardly more time than others": Claim(
        over(
            WITH_RETRIEVAL,
            "Self-Ask",
            "Plan-and-Solve w/ IR",
            "ReAct -> CoT-SC",
            "Verify-and-Edit",
            "Tree-of-Thought w/ IR",
            "DSP",
        ),
        speed,
        printed("Table 6", {"metric": "seconds"}, scale=halvings, wording="{:+.2f} (halvings)"),
        "{} at most 1.4 times as long as {}",  # than Plan-and-Solve 1.4 times as much
        margin=0.5,
        note="n counts data sets; decided by the time that the shipped agent takes, not by the "
        "systems alone",
    ),
}
