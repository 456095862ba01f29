"""What SearChain's claims are about: values of our runs, by the names that the claims use."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from ircotlib.results.claims.comparing import Values, values_of
from ircotlib.results.head_to_head import measures_of, of_first_measure
from ircotlib.results.measures import KNEW, count_steps, is_helped, share_of_own
from ircotlib.results.reported import read_reported
from ircotlib.results.tables import WHOLE, WITH_IR, WITHOUT, holds_answers

Runs = Mapping[str, pd.DataFrame]  # of a data set, by system


def searchain_values(
    table: pd.DataFrame,
    scores: pd.DataFrame,
    runs: Mapping[tuple[str, str], pd.DataFrame],
    forms: pd.DataFrame,
    whole: pd.DataFrame,
    second: pd.DataFrame,
    thresholds: Mapping[float, Sequence[pd.DataFrame]],
) -> dict[str, Values]:
    """What SearChain's claims are about: the `table` and `scores` of the head to head, and what is
    measured on its `runs`, from `measures.read_all_runs`; the `forms` of knowledge and MuSiQue's
    `whole` questions, from `knowledge`; the scores of a `second` model, and of ELI5 by ROUGE
    threshold, if any.
    """
    model, values, shares = next(iter(scores["model"]), ""), {}, {}

    def add(name: str, dataset: str, sides: Mapping[str, pd.Series]) -> None:
        values.setdefault(name, {})[dataset, model, dataset] = sides

    for name, run in (("scores", scores), ("second model", second)):
        if len(run):
            first = run["dataset"].map(lambda dataset: measures_of(dataset)[0])
            values[name] = values_of(run.assign(metric=first))
    of_table_2 = set(read_reported("searchain", source="Table 2")["dataset"])
    for dataset in dict.fromkeys(dataset for dataset, _ in runs):
        systems = {name: run for (of, name), run in runs.items() if of == dataset}
        if dataset in of_table_2:
            for name, sides in _of_table_3(systems).items():
                add(name, dataset, sides)
        own = 100 * share_of_own(systems[WHOLE]).dropna() if WHOLE in systems else ()
        if dataset in of_table_2 and len(own):
            shares[dataset] = own
            half = pd.Series(50.0, shares[dataset].index)
            sides = {"knowledge_of_llm": shares[dataset], "half": half}
            add("share of the model's own", dataset, sides)
        if dataset == "musique":
            add("steps", dataset, _of_each(systems, count_steps))
        if dataset == "musique" and WITHOUT in systems:
            steps = count_steps(systems[WITHOUT])
            hops = "musique_" + systems[WITHOUT]["kind"].str.extract(r"^(\d)hop")[0] + "hop"
            add("steps by hops", dataset, dict(iter(steps.groupby(hops))))
        if holds_answers(dataset) and {KNEW, WITH_IR} <= set(systems):
            for side, ids in _right_and_wrong(systems[KNEW]):
                sides = {"LLM": systems[KNEW], "LLM w/ IR": systems[WITH_IR]}
                sides = _of_each(sides, lambda run, ids=ids: 100.0 * run["right"][ids])
                add(f"where the model is {side}", dataset, sides)
    add("share of the model's own, by data set", "strategyqa", shares)
    seconds = of_first_measure(table).dropna(subset="seconds").set_index("dataset")
    speeds = {name: -np.log2(rows["seconds"]) for name, rows in seconds.groupby("system")}
    add("speed", "unspecified", speeds)
    for name, sides in _of_knowledge(forms, whole).items():
        add(name, "musique", sides)
    by_threshold = {
        f"{WHOLE} (alpha {a:.2f})": run for a, tables in thresholds.items() for run in tables
    }
    add(
        "thresholds",
        "eli5",
        {name: 100 * run.set_index("id")["rouge_l"] for name, run in by_threshold.items()},
    )
    return values


def _of_table_3(systems: Runs) -> Values:
    """Where the model knows the answer, and where IR helps (SearChain Table 3)."""
    values = {}
    if WHOLE in systems and KNEW in systems and (knew := systems[KNEW]["right"]).any():
        right = _of_each(systems, lambda run: 100.0 * run["right"][knew])
        values["right where the model knows"] = right
    if WHOLE in systems and (where := is_helped(systems[WHOLE])).any():
        values["scores where IR helps"] = _of_each(systems, lambda run: 100 * run["score"][where])
        if WITHOUT in systems and not where.all():
            score = 100 * systems[WITHOUT]["score"]
            sides = {"cover_em": score[~where], "cover_em_where_ir_helps": score[where]}
            values["scores without IR"] = sides
    return values


def _right_and_wrong(run: pd.DataFrame) -> list[tuple[str, pd.Index]]:
    """The ids of the questions that a run answers right, and of the others, if any."""
    sides = (("right", run.index[run["right"]]), ("wrong", run.index[~run["right"]]))
    return [(side, ids) for side, ids in sides if len(ids)]


def _of_knowledge(forms: pd.DataFrame, whole: pd.DataFrame) -> dict[str, dict[str, pd.Series]]:
    """Forms of knowledge (SearChain Figure 10), and questions with known parts (Table 7)."""
    parts = forms[forms["i"] < forms["hops"]].set_index(["id", "i"])  # the prompt has some
    panels = {"a": "knowledge in the prompt", "b": "sub-questions alone"}
    panels = {panels[name]: rows for name, rows in parts.groupby("panel")}
    values = {"forms": _of_each(panels, lambda rows: 100.0 * rows["right"])}
    by_i = forms[forms["panel"] == "a"].set_index("id").groupby("i")["right"]
    values["parts by heart"] = {f"last {i} by heart": 100.0 * right for i, right in by_i}
    known = forms.loc[forms["panel"] == "b", "id"].unique()  # asked where all parts are known
    if len(known):
        right = 100.0 * whole["right"][known]
        sides = {"their parts": pd.Series(100.0, right.index), "LLM": right}
        values["questions whose parts are known"] = sides
    return values


def _of_each(systems: Runs, measure: Callable) -> dict[str, pd.Series]:
    """What is measured on each table; of no metric, unlike scores."""
    return {name: measure(run).rename(None) for name, run in systems.items()}
