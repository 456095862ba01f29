"""What SearChain's Tables 2 to 8 count, from run folders and from the traces of replayed runs.

Shares and accuracies are per cent, as in data/reported.csv, but Table 7's, which is from 0 to 1.
Table 5's AMP is judged by people, and its tables' seconds are not counted: a remembered call takes
none.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from ircotlib.chains import citations
from ircotlib.data import Node
from ircotlib.predictions import read_lines, read_scores
from ircotlib.program import Generate, Outcome, Retrieve, Sample, Step
from ircotlib.reasoning import COMPLETION, VERIFICATION
from ircotlib.runs import read_about
from ircotlib.text import sentences

FOLLOW_UP = "Follow up:"  # Self-Ask's mark
SOURCES = {
    "": "knowledge_of_llm",
    VERIFICATION: "knowledge_corrected_by_ir",
    COMPLETION: "knowledge_completed_by_ir",
}
SAID = ("answer", "thoughts", "reading", "nodes")  # of a line of predictions.jsonl


def read_run(folder: Path) -> pd.DataFrame:
    """The questions of a run, one row each, by id: `kind`, `answer`, `thoughts`, `reading`,
    `nodes`, the `score` by which the run is judged, from 0 to 1, and whether it is `right`, that
    is 1. ValueError, in one line, for a folder that is not whole.
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
    """Of a run's questions, how many were answered, of how many all replies could be read, and of
    how many it is said that some could not; `silent`: neither an answer nor a word of it. With the
    texts and tokens that the model wrote, and the seconds of the run.
    """
    about = read_about(folder)
    said = list(read_lines(Path(folder), about, ("answer", "fault")).values())
    counts = [about["counts"].get(kind, {}) for kind in ("Generate", "Sample")]
    row = {"dataset": about["dataset"], "system": about["system"], "questions": len(said)}
    row |= {"answered": sum(bool(one["answer"]) for one in said)}
    row |= {"parsed": sum(not one["fault"] for one in said)}
    row |= {"said to be unparsed": len(said) - row["parsed"]}
    row |= {"silent": sum(not (one["answer"] or one["fault"]) for one in said)}
    row |= {"calls": sum(kind.get("requests", 0) for kind in counts)}
    row |= {"tokens written": sum(kind.get("tokens", 0) for kind in counts)}
    return row | {"seconds": round(about["seconds"])}


def knowledge_sources(run: pd.DataFrame) -> dict[str, float]:
    """Where the knowledge of the nodes is from, as shares of all nodes: the model's own, corrected
    by verification, given by completion (Table 2).

    The nodes counted are those compared with a passage; the paper does not say (ours).
    """
    nodes = [node for nodes in run["nodes"] for node in nodes if node.passage]
    nodes = [node for node in nodes if node.feedback or not node.unsolved]
    return {
        name: _percent(node.feedback == feedback for node in nodes)
        for feedback, name in SOURCES.items()
    }


def positive_effect(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> dict[str, float]:
    """The mean score of two runs on the same questions: without retrieval on all, and of both on
    those where retrieval corrected or completed a node (Table 3a).
    """
    without_ir = _same_questions(without_ir, with_ir)
    helped = with_ir["nodes"].map(lambda nodes: any(node.feedback for node in nodes))
    return {
        "without_ir": 100 * without_ir["score"].mean(),
        "without_ir_where_ir_helps": 100 * without_ir["score"][helped].mean(),
        "with_ir_where_ir_helps": 100 * with_ir["score"][helped].mean(),
    }


def misled_by_ir(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> float:
    """The share of the questions answered right without retrieval that are answered wrong with it
    (Table 3b).

    With which prompt the model answers without, the paper does not say: give the run of choice.
    """
    without_ir = _same_questions(without_ir, with_ir)
    return _percent(~with_ir["right"][without_ir["right"]])


def steps_by_hops(run: pd.DataFrame) -> dict[int, float]:
    """The mean number of steps of reasoning by the number of hops of a question, which MuSiQue's
    kinds name (Table 4).

    A step is a node on the path of a chain of query; else a follow up question of Self-Ask; else a
    thought or, without any, a sentence, except one that gives the answer (ours: the paper does not
    say).
    """
    hops = run["kind"].str.extract(r"^(\d)hop")[0].dropna().astype(int)
    return count_steps(run)[hops.index].groupby(hops).mean().to_dict()


def count_steps(run: pd.DataFrame) -> pd.Series:
    """The steps of reasoning of each question, by id, as steps_by_hops counts them."""
    return pd.Series([_steps(row) for row in run.itertuples()], run.index, dtype=float)


def _steps(row) -> int:
    if row.nodes:
        return sum(node.mark > 0 for node in row.nodes)
    written = row.thoughts or sentences(row.reading)
    asked = [line for line in written if line.startswith(FOLLOW_UP)]
    return len(asked or [line for line in written if "answer is" not in line])


def references_marked(run: pd.DataFrame) -> float:
    """How many items of knowledge of an answer are marked with a passage, in the mean (Table 5,
    SKC).

    Marks with nothing between them, such as [1][2], mark one item; a mark that belongs to no
    passage counts for nothing (ours).
    """
    return fmean(map(_marked, run["reading"], run["nodes"]))


def _marked(reading: str, nodes: Sequence[Node]) -> int:
    with_passage = {node.mark for node in nodes if node.mark and node.passage}
    return sum(not with_passage.isdisjoint(marks) for marks in citations(reading))


def efficiency(outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """The mean words in and out of the model and rounds of interaction with retrieval a question,
    and the words of one call, from a replayed run (Table 6; `runs.replay`).

    A round is what is retrieved before the model writes again. Whether the paper's words are those
    of a question or of a call, it does not say.
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
) -> dict[int, float]:
    """The mean score, 0 to 1, by the number of hops, on the questions all of whose sub-questions
    are answered right (Table 7).

    `parts`: a run of the sub-questions; `parts_of`: their ids, by id of the question.
    """
    known = [id for id in run.index if parts["right"][list(parts_of[id])].all()]
    hops = [len(parts_of[id]) for id in known]
    return run["score"][known].groupby(hops).mean().to_dict()


def conflict(
    without_ir: pd.DataFrame, with_ir: pd.DataFrame, first_right: Mapping[str, bool]
) -> dict[str, float]:
    """How retrieval helps and harms, on the questions that the model alone answers right and on the
    others: the share whose best passage is right, and the model's accuracy with it (Table 8).

    `first_right`: by id; how the paper judges that it does not say. IRCoT's gold paragraphs tell.
    """
    without_ir, found = _same_questions(without_ir, with_ir), {}
    for name, among in (("right", without_ir["right"]), ("wrong", ~without_ir["right"])):
        ids = with_ir.index[among]
        found[f"top1_where_llm_{name}"] = _percent(first_right[id] for id in ids)
        found[f"accuracy_where_llm_{name}"] = _percent(with_ir["right"][ids])
    return found


def _same_questions(run: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """A run in the order of another of the same questions."""
    if different := sorted(set(run.index) ^ set(other.index)):
        found = f"found the question {different[0]!r} in one of two runs"
        raise ValueError(f"{found}, expected the same in both: run them on the same questions")
    return run.loc[other.index]


def _percent(holds) -> float:
    return 100 * _mean(list(holds))


def _mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return fmean(values) if values else float("nan")
