"""Computes the numbers of SearChain's Tables 2 to 8 from run folders and from replayed runs.

Shares and accuracies are in percent, as in data/reported.csv, except those of Table 7, from 0 to 1.
Table 5's AMP comes from judgements (`references`), Table 6's seconds from bench/systems.py: in a
replayed run cached calls take no time.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from ircotlib.data import Node
from ircotlib.program import Generate, Outcome, Retrieve, Sample, Step
from ircotlib.running.folder import read_about
from ircotlib.running.predictions import read_lines, read_scores
from ircotlib.systems.searchain.chain import citations
from ircotlib.systems.searchain.tree import COMPLETION, VERIFICATION
from ircotlib.text import sentences

FOLLOW_UP = "Follow up:"  # Self-Ask's mark
SOURCES = {
    "": "knowledge_of_llm",
    VERIFICATION: "knowledge_corrected_by_ir",
    COMPLETION: "knowledge_completed_by_ir",
}
SAID = ("answer", "thoughts", "reading", "nodes")  # read from predictions.jsonl


def read_run(folder: Path) -> pd.DataFrame:
    """The questions of a run, one row each, by id: `kind`, `answer`, `thoughts`, `reading`,
    `nodes`, `score`, the run's measure from 0 to 1, and `right`, whether it is 1. Raises
    ValueError, in one line, for an incomplete folder.
    """
    about, folder = read_about(folder), Path(folder)
    said, scores = read_lines(folder, about, SAID), read_scores(folder, about)
    rows = {}
    for id, line in said.items():
        nodes, score = tuple(Node(**node) for node in line["nodes"]), scores[id][about["metric"]]
        told = {"kind": scores[id]["kind"], "score": score, "right": not score < 1}
        rows[id] = line | {"nodes": nodes} | told
    return pd.DataFrame.from_dict(rows, orient="index")


def count_parsed(folder: Path) -> dict:
    """Count a run's questions: `answered`; `parsed`, those with all replies read; "said to be
    unparsed", those with a fault; `unsolved`, those without an answer whose chain of query was read
    and has an unsolved query; `silent`, all others without an answer. Also the calls of the model,
    the tokens it wrote, and the seconds of the run.
    """
    about = read_about(folder)
    said = list(read_lines(Path(folder), about, ("answer", "fault", "nodes")).values())
    empty = [one for one in said if not (one["answer"] or one["fault"])]
    unsolved = sum(any(node["unsolved"] for node in one["nodes"]) for one in empty)
    counts = [about["counts"].get(kind, {}) for kind in ("Generate", "Sample")]
    row = {"dataset": about["dataset"], "system": about["system"], "questions": len(said)}
    row |= {"answered": sum(bool(one["answer"]) for one in said)}
    row |= {"parsed": sum(not one["fault"] for one in said)}
    row |= {"said to be unparsed": len(said) - row["parsed"]}
    row |= {"unsolved": unsolved, "silent": len(empty) - unsolved}
    row |= {"calls": sum(kind.get("requests", 0) for kind in counts)}
    row |= {"tokens written": sum(kind.get("tokens", 0) for kind in counts)}
    return row | {"seconds": round(about["seconds"])}


def knowledge_sources(run: pd.DataFrame) -> dict[str, float]:
    """Where the knowledge of the nodes is from, as shares of the nodes counted: the model itself,
    correction by verification, completion (SearChain Table 2).

    Counted are the nodes that were compared with a passage, except unsolved ones that got no
    feedback (ours: the paper does not say).
    """
    nodes = [node for nodes in run["nodes"] for node in nodes if node.passage]
    nodes = [node for node in nodes if node.feedback or not node.unsolved]
    return {
        name: _percent(node.feedback == feedback for node in nodes)
        for feedback, name in SOURCES.items()
    }


def positive_effect(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> dict[str, float]:
    """The mean scores of two runs on the same questions: of the run without retrieval on all
    questions, and of both runs where retrieval corrected or completed a node (SearChain Table 3a).
    """
    without_ir = _same_questions(without_ir, with_ir)
    helped = with_ir["nodes"].map(lambda nodes: any(node.feedback for node in nodes))
    return {
        "without_ir": 100 * without_ir["score"].mean(),
        "without_ir_where_ir_helps": 100 * without_ir["score"][helped].mean(),
        "with_ir_where_ir_helps": 100 * with_ir["score"][helped].mean(),
    }


def misled_by_ir(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> float:
    """Of the questions answered right without retrieval, the share answered wrong with it
    (SearChain Table 3b).

    The paper does not say which prompt is used without retrieval; `without_ir` may be any run.
    """
    without_ir = _same_questions(without_ir, with_ir)
    return _percent(~with_ir["right"][without_ir["right"]])


def steps_by_hops(run: pd.DataFrame) -> dict[int, float]:
    """The mean number of reasoning steps by a question's number of hops, which is part of MuSiQue's
    kinds (SearChain Table 4).

    A step is a node on the correct path of a chain of query; without nodes a follow-up question of
    Self-Ask; without these a thought or, without thoughts, a sentence, except one that gives the
    answer (ours: the paper does not say).
    """
    hops = run["kind"].str.extract(r"^(\d)hop")[0].dropna().astype(int)
    return count_steps(run)[hops.index].groupby(hops).mean().to_dict()


def count_steps(run: pd.DataFrame) -> pd.Series:
    """The number of reasoning steps of each question, by id, counted as in `steps_by_hops`."""
    return pd.Series([_steps(row) for row in run.itertuples()], run.index, dtype=float)


def _steps(row) -> int:
    if row.nodes:
        return sum(node.mark > 0 for node in row.nodes)
    written = row.thoughts or sentences(row.reading)
    asked = [line for line in written if line.startswith(FOLLOW_UP)]
    return len(asked or [line for line in written if "answer is" not in line])


def references_marked(run: pd.DataFrame) -> float:
    """The mean number of items of knowledge in an answer that are marked with a passage (SearChain
    Table 5, SKC).

    Adjacent marks, such as [1][2], mark one item; marks that belong to no passage are ignored
    (ours).
    """
    return fmean(map(_marked, run["reading"], run["nodes"]))


def _marked(reading: str, nodes: Sequence[Node]) -> int:
    with_passage = {node.mark for node in nodes if node.mark and node.passage}
    return sum(not with_passage.isdisjoint(marks) for marks in citations(reading))


def efficiency(outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """The mean words that the model reads and writes, and the mean rounds of retrieval, per
    question; also the mean words per call (SearChain Table 6). `outcomes`: from `runs.replay`.

    A round is all retrieval before the model writes again. The paper does not say whether its words
    are counted per question or per call.
    """
    traces = [outcome.trace for outcome in outcomes.values()]
    calls = [[step for step in trace if _is_call(step)] for trace in traces]
    words_in = [[_words_in(step) for step in steps] for steps in calls]
    words_out = [[_words_out(step) for step in steps] for steps in calls]
    return {
        "words_in": fmean(map(sum, words_in)),
        "words_out": fmean(map(sum, words_out)),
        "rounds": fmean(map(_rounds, traces)),
        "words_in_of_a_call": _mean([n for counts in words_in for n in counts]),
        "words_out_of_a_call": _mean([n for counts in words_out for n in counts]),
    }


def _is_call(step: Step) -> bool:
    return isinstance(step.request, Generate | Sample)


def _words_in(step: Step) -> int:
    prompt = step.request.prompt
    texts = [prompt] if isinstance(prompt, str) else [message.text for message in prompt]
    return sum(len(text.split()) for text in texts)


def _words_out(step: Step) -> int:
    texts = [step.reply] if isinstance(step.reply, str) else [drawn.text for drawn in step.reply]
    return sum(len(text.split()) for text in texts)


def _rounds(trace: Sequence[Step]) -> int:
    kinds = "".join("w" if _is_call(s) else "r" * isinstance(s.request, Retrieve) for s in trace)
    return len(re.findall("r+", kinds))


def accuracy_where_parts_known(
    run: pd.DataFrame, parts: pd.DataFrame, parts_of: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """The `mean` score, 0 to 1, and the number of questions, `size`, by number of hops, on the
    questions whose sub-questions are all answered right (SearChain Table 7).

    `parts`: a run on the sub-questions; `parts_of`: their ids, by question id.
    """
    known = [id for id in run.index if parts["right"][list(parts_of[id])].all()]
    hops = [len(parts_of[id]) for id in known]
    return run["score"][known].groupby(hops).agg(["mean", "size"])


def conflict(
    without_ir: pd.DataFrame, with_ir: pd.DataFrame, first_right: Mapping[str, bool]
) -> dict[str, float]:
    """How retrieval helps and harms, on the questions that the model alone answers right and on
    those it answers wrong: the share whose best passage is right, and the accuracy with retrieval
    (SearChain Table 8).

    `first_right`: by id, whether the best passage is right; the paper does not say how it judges
    that.
    """
    without_ir, found = _same_questions(without_ir, with_ir), {}
    for name, among in (("right", without_ir["right"]), ("wrong", ~without_ir["right"])):
        ids = with_ir.index[among]
        found[f"top1_where_llm_{name}"] = _percent(first_right[id] for id in ids)
        found[f"accuracy_where_llm_{name}"] = _percent(with_ir["right"][ids])
    return found


def _same_questions(run: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows of a run in the order of another run on the same questions."""
    if different := sorted(set(run.index) ^ set(other.index)):
        found = f"found the question {different[0]!r} in one of two runs"
        raise ValueError(f"{found}, expected the same in both: run them on the same questions")
    return run.loc[other.index]


def _percent(holds) -> float:
    return 100 * _mean(list(holds))


def _mean(values: Sequence[float]) -> float:
    """The mean; NaN for no values."""
    return fmean(values) if values else float("nan")
