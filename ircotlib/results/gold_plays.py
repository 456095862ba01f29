"""How much of what is needed each system can find: plays of the gold reader (docs/gold.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pandas as pd

from ircotlib.data import Question
from ircotlib.datasets.musique import RELATION
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import UserError
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.files.progress import track
from ircotlib.parameters import GOLD, Parameters
from ircotlib.program import Outcome, Retrieve
from ircotlib.results.statistics import holm, mean_interval, paired_difference
from ircotlib.retrieval import retriever_name
from ircotlib.systems import all_systems

# how sub-questions are worded: all in natural words; some as relations ("Ada Moss >> father"); or
# there are none, only sentences
WORDINGS = NATURAL, RELATIONS, SENTENCES = "natural", "relations", "sentences"
FEW = 20  # questions of so many steps, below which a picture has no panel for them


@dataclass(frozen=True)
class GoldPlay:
    """A system with a setting of its program; `method`: its name in tables and figures."""

    method: str
    system: str
    setting: Mapping[str, object] = field(default_factory=dict)


KS = 1, 2, 3, 4, 6, 8
# each system that retrieves, with its paper's or its program's setting; of OneR as many paragraphs
# as IRCoT keeps at most (footnote 5)
GOLD_METHODS = [
    GoldPlay("OneR", "OneR", {"k": 15}),
    GoldPlay("IRCoT", "IRCoT", {"k": 4}),
    GoldPlay("SearChain", "SearChain"),
    GoldPlay("Self-Ask", "Self-Ask"),
    GoldPlay("ReAct", "ReAct"),
    GoldPlay("DecomP", "DecomP", {"k": 4}),
    GoldPlay("DSP", "DSP"),
    GoldPlay("Tree-of-Thought w/ IR", "Tree-of-Thought w/ IR"),
    GoldPlay("Verify-and-Edit", "Verify-and-Edit", {"always_edit": True}),
    GoldPlay("Plan-and-Solve w/ IR", "Plan-and-Solve w/ IR"),
    GoldPlay("ToolFormer", "ToolFormer"),
    GoldPlay("Direct Retrieval", "Direct Retrieval"),
]
GOLD_BY_K = [
    GoldPlay(name, name, {"k": k})
    for name in ("IRCoT", "OneR", "SearChain", "Tree-of-Thought w/ IR")
    for k in KS
]
GOLD_BY_KEPT = [  # IRCoT that keeps more or fewer paragraphs than 15 (footnote 5)
    GoldPlay(f"K = {k}, at most {most} paragraphs", "IRCoT", {"k": k, "max_paragraphs": most})
    for k in (4, 8)
    for most in (10, 15, 30)
]
GOLD_BY_KEPT += [  # and one that stops sooner than after 8 sentences (footnote 4)
    GoldPlay(f"K = 4, ends at sentence {most}", "IRCoT", {"k": 4, "max_steps": most})
    for most in (1, 2, 3)
]
GOLD_BY_STEP = [p for p in GOLD_METHODS if p.system in ("OneR", "IRCoT", "SearChain", "DSP")]
GOLD_BY_RETRIEVER = [
    play for play in GOLD_METHODS if play.system in ("OneR", "IRCoT", "SearChain", "DecomP")
]


def play_gold(p: Parameters, plays: Sequence[GoldPlay]) -> pd.DataFrame:
    """Play systems on all questions of the parameters' data sets whose steps are known. Those that
    the gold reader cannot play are left out (`refused_plays`).

    Return one row per data set, play and question: method, system, k; the question's id,
    number of steps (`hops`) and `wording`; `found`, whether all gold paragraphs are among those
    that the system kept, `recall`, `paragraphs` and `retrievals`, and `lost`, the numbers of the
    steps of which no supporting paragraph is; `searched`, the paragraphs of the corpus. A question
    without gold paragraphs has no row.
    """
    benches = [open_gold(p, dataset) for dataset in p.datasets]
    tables = []
    for bench in benches:
        groups = [play for play in plays if not why_refused(bench, play)]
        asked = [question for question in bench.test if question.gold]
        about = {"dataset": bench.dataset.name, "searched": len(bench.retriever.corpus)}
        about |= {"id": [q.id for q in asked], "hops": [len(q.steps) for q in asked]}
        about |= {"wording": [word_steps(q.steps) for q in asked]}
        for play in track(groups, f"{bench.dataset.name}, gold reader", every=1):
            named = {"method": play.method, "system": play.system, "k": play.setting.get("k")}
            build = program_of(bench, all_systems()[play.system], **play.setting)
            programs = {question.id: build(question) for question in asked}
            outcomes, _ = run(programs, bench.backends, bench.calls)
            found = [count_found(question, outcomes[question.id]) for question in asked]
            tables.append(pd.DataFrame(found).assign(**about, **named))
    table = pd.concat(tables, ignore_index=True)
    return table.assign(found=(table["recall"] == 1).astype(float), k=pd.to_numeric(table["k"]))


def count_found(question: Question, outcome: Outcome) -> dict:
    """How much was found for a question, at what cost, and the steps of which nothing was."""
    ids = {paragraph.id for paragraph in outcome.result.paragraphs}
    steps = [step.gold for step in question.steps]
    return {
        "recall": len(ids & {*question.gold}) / len({*question.gold}),
        "paragraphs": len(ids),
        "retrievals": sum(isinstance(step.request, Retrieve) for step in outcome.trace),
        "lost": [number for number, gold in enumerate(steps, 1) if gold and ids.isdisjoint(gold)],
    }


def open_gold(p: Parameters, dataset: str):
    """The bench of a data set with the gold reader, and all questions."""
    p = p.change(model=GOLD, dev=0, test=None)
    return open_setup(p, dataset, "gold", calls=Calls())  # not kept: it takes no time


def why_refused(bench, play: GoldPlay) -> str:
    """Why the gold reader cannot play a system on a data set; "" if it can."""
    try:
        bench.model.check(bench.test[0], all_systems()[play.system])
    except UserError as error:
        return str(error)
    return ""


def refused_plays(p: Parameters, plays: Sequence[GoldPlay]) -> list[str]:
    """Why the gold reader leaves plays out, one line each."""
    benches = [open_gold(p, dataset) for dataset in p.datasets]
    lines = [why_refused(bench, play) for bench in benches for play in plays]
    return list(dict.fromkeys(filter(None, lines)))


def play_by_retriever(p: Parameters, plays: Sequence[GoldPlay]) -> pd.DataFrame:
    """The rows of `play_gold` with each of `retrievers`, or with `retriever` alone. `retriever`: as
    figures name it.
    """
    tables = [
        play_gold(p.change(retriever=name), plays).assign(retriever=retriever_name(name))
        for name in p.retrievers or [p.retriever]
    ]
    return pd.concat(tables, ignore_index=True)


def word_steps(steps: Sequence) -> str:
    """How the sub-questions of a question are worded: WORDINGS."""
    if not all(step.question for step in steps):
        return SENTENCES
    return RELATIONS if any(RELATION in step.question for step in steps) else NATURAL


def average_found(plays: pd.DataFrame, *by: str) -> pd.DataFrame:
    """For each group: `mean`, the share of questions of which all gold paragraphs were found, with
    its 95% interval, and the mean recall, in percent; paragraphs and retrievals a question.
    """
    rows = []
    for group, of_one in plays.groupby(list(by), sort=False, dropna=False):
        row = dict(zip(by, group, strict=True)) | {"mean": 100 * of_one["found"].mean()}
        row |= dict(zip(("low", "high"), mean_interval(of_one["found"].to_numpy()), strict=True))
        row |= {"recall": 100 * of_one["recall"].mean(), "n": len(of_one)}
        row |= {name: of_one[name].mean() for name in ("paragraphs", "retrievals")}
        rows.append(row | {end: 100 * row[end] for end in ("low", "high")})
    return pd.DataFrame(rows).round(3)


def average_by_wording(plays: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The groups of `average_found` in each data set, then again for each wording of those that
    have several; `wording` is "all" before.
    """
    several = plays.groupby("dataset")["wording"].transform("nunique") > 1
    tables = [plays.assign(wording="all"), plays[several].sort_values("wording", kind="stable")]
    return pd.concat([average_found(each, "dataset", "wording", *by) for each in tables])


def compare_found(plays: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Each pair of methods in each group, over the same questions: of how many only the first, and
    only the second, finds all gold paragraphs; the difference in points with its 95% interval; and
    the exact p, corrected for all pairs of the group (Holm).
    """
    tables = []
    for group, of_one in plays.groupby([*by], sort=False):
        found = of_one.pivot(index="id", columns="method", values="found")
        rows = []
        for a, b in combinations(of_one["method"].unique(), 2):
            mean, low, high, p = paired_difference(found[a], found[b])
            row = dict(zip(by, group, strict=True))
            row |= {"method": a, "other": b, "difference": 100 * mean}
            row |= {"low": 100 * low, "high": 100 * high}
            row |= {"only first": int((found[a] > found[b]).sum())}
            rows.append(row | {"only second": int((found[a] < found[b]).sum()), "p": p})
        ends = ["difference", "low", "high", "only first", "only second", "p"]
        table = pd.DataFrame(rows, columns=[*by, "method", "other", *ends])
        tables.append(table.assign(p_holm=holm(table["p"])))
    return pd.concat(tables, ignore_index=True).round({"difference": 2, "low": 2, "high": 2})


def average_steps(plays: pd.DataFrame) -> pd.DataFrame:
    """For each data set, number of steps and system, and each step: `mean`, the share of questions
    of which a paragraph that supports the step was found, with its 95% interval, in percent; of
    data sets that state sub-questions, and without numbers of steps that FEW questions have.
    """
    asked = plays[plays["wording"] != SENTENCES]
    steps = [range(1, hops + 1) for hops in asked["hops"]]
    each = asked.assign(step=steps).explode("step", ignore_index=True)
    kept = [step not in lost for step, lost in zip(each["step"], each["lost"], strict=True)]
    each = each.assign(found=[float(is_kept) for is_kept in kept])
    table = average_found(each, "dataset", "hops", "system", "step")
    columns = ["dataset", "hops", "system", "step", "mean", "low", "high", "n"]
    return table[table["n"] >= FEW].sort_values(["dataset", "hops"], kind="stable")[columns]
