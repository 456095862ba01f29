"""The numbers of SearChain's Tables 2 to 6 from runs; shares and accuracies are in percent."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean

import pandas as pd

from ircotlib.data import Node
from ircotlib.experiment.runs import read_about, read_lines, read_scores
from ircotlib.parameters import Parameters
from ircotlib.program import Generate, Outcome, Retrieve, Sample
from ircotlib.results.head_to_head import measures_of
from ircotlib.results.runs import find_test_runs
from ircotlib.systems.searchain import COMPLETION, VERIFICATION, citations
from ircotlib.text import sentences

SOURCES = {"of_llm": "", "corrected_by_ir": VERIFICATION, "completed_by_ir": COMPLETION}
NAN = float("nan")
KNEW = "CoT"  # its right answers count as what the model knows (Tables 3b, 7, 8; ours)
ASKS_ITSELF_LAST = "Least-to-Most"  # whose last call, on the question itself, is no thought


def read_run(folder: Path) -> pd.DataFrame:
    """The questions of a run, one row each, by id, with `score`, from 0 to 1, and `right`, whether
    it is 1, by the first measure of the head to head (`measures_of`): the same for all systems.
    Raises DataError, in one line, for an incomplete folder.
    """
    about = read_about(folder)
    rows = {}
    scores = read_scores(folder)
    measure = measures_of(about["dataset"])[0]
    for id, line in read_lines(folder).items():
        score = scores[id][measure]
        row = {name: line[name] for name in ("answer", "thoughts", "reading")}
        row |= {"kind": scores[id]["kind"], "score": score, "right": score == 1}
        rows[id] = row | {"nodes": tuple(Node(**node) for node in line["nodes"])}
    return pd.DataFrame.from_dict(rows, orient="index")


def read_all_runs(p: Parameters, experiment: str) -> dict[tuple[str, str], pd.DataFrame]:
    """The test runs of an experiment by data set and system, each from `read_run`."""
    return {key: read_run(folder) for key, folder in find_test_runs(p, experiment).items()}


def knowledge_sources(run: pd.DataFrame) -> dict[str, float]:
    """Where the knowledge of the nodes is from, as shares of the nodes counted: the model itself,
    correction by verification, completion (SearChain Table 2). Counted are the nodes that were
    compared with a passage, except unsolved ones without feedback (ours: the paper does not say).
    """
    # the nodes of all questions of a data set together (SearChain §4.3.1)
    nodes = [node for nodes in run["nodes"] for node in _with_source(nodes)]
    feedback = pd.Series([node.feedback for node in nodes], dtype=object)
    return {f"knowledge_{name}": 100 * (feedback == kind).mean() for name, kind in SOURCES.items()}


def share_of_own(run: pd.DataFrame) -> pd.Series:
    """Of each question, the share, 0 to 1, of those nodes that are the model's own, by id; NaN for
    none (SearChain Table 2).
    """
    nodes = run["nodes"].map(_with_source)
    return nodes.map(lambda nodes: fmean(not node.feedback for node in nodes) if nodes else NAN)


def _with_source(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.passage and (node.feedback or not node.unsolved)]


def is_helped(run: pd.DataFrame) -> pd.Series:
    """For which questions retrieval corrected or completed a node, by id."""
    return run["nodes"].map(lambda nodes: any(node.feedback for node in nodes))


def positive_effect(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> dict[str, float]:
    """The mean scores without retrieval, and of both where it helps (SearChain Table 3a)."""
    helped = is_helped(with_ir)
    return {
        "without_ir": 100 * without_ir["score"].mean(),
        "without_ir_where_ir_helps": 100 * without_ir["score"][helped].mean(),
        "with_ir_where_ir_helps": 100 * with_ir["score"][helped].mean(),
    }


def misled_by_ir(without_ir: pd.DataFrame, with_ir: pd.DataFrame) -> float:
    """Of the answers that are right without retrieval, the share wrong with it (SearChain 3b)."""
    return 100 * (~with_ir["right"][without_ir["right"]]).mean()


def count_steps(run: pd.DataFrame, system: str) -> pd.Series:
    """The number of reasoning steps of each question, by id (SearChain Table 4): of nodes on the
    correct path of a chain of query, else of Self-Ask's follow-up questions, else of thoughts or
    sentences but the one that gives the answer; of Least-to-Most, of the sub-questions and the
    question itself, which it answers last (ours: the paper does not say).
    """
    counts = []
    for row in run.itertuples():
        lines = row.thoughts or sentences(row.reading)
        follow_ups = [line for line in lines if line.startswith("Follow up:")]
        steps = follow_ups or [line for line in lines if "answer is" not in line]
        last = 1 if row.thoughts and system == ASKS_ITSELF_LAST else 0
        counts.append(sum(node.mark > 0 for node in row.nodes) if row.nodes else len(steps) + last)
    return pd.Series(counts, run.index, dtype=float)


def hops_of(run: pd.DataFrame) -> pd.Series:
    """The number of hops of MuSiQue's questions, by id, as reported.csv names it: musique_2hop."""
    return "musique_" + run["kind"].str.extract(r"^(\dhop)")[0]


def references_marked(run: pd.DataFrame) -> float:
    """The mean number of items of knowledge in an answer that are marked (SearChain Table 5, SKC).
    Adjacent marks, such as [1][2], mark one item; those of no passage do not count (ours).
    """
    counts = []
    for reading, nodes in zip(run["reading"], run["nodes"], strict=True):
        # a mark is of a node on the correct path (SearChain §4.3.4)
        passages = {node.mark for node in nodes if node.mark and node.passage}
        counts.append(sum(not passages.isdisjoint(marks) for marks in citations(reading)))
    return fmean(counts)


def efficiency(outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """The mean words that the model reads and writes, and the mean rounds of retrieval, per
    question; also the mean words per call (SearChain Table 6, which does not say which of the two
    it counts). A round is all retrieval before the model writes again. `outcomes`: from `replay`.
    """
    words_in = words_out = rounds = calls = 0
    for outcome in outcomes.values():
        retrieving = False
        for request, reply in ((step.request, step.reply) for step in outcome.trace):
            if isinstance(request, Retrieve):  # #r: rounds of model and retriever (§4.3.5)
                rounds += not retrieving
                retrieving = True
            elif isinstance(request, Generate | Sample):
                prompt = request.prompt
                retrieving = False
                texts = [prompt] if isinstance(prompt, str) else [part.text for part in prompt]
                words_in += sum(len(text.split()) for text in texts)
                texts = [reply] if isinstance(reply, str) else [sample.text for sample in reply]
                words_out += sum(len(text.split()) for text in texts)
                calls += 1
    n = len(outcomes)
    each = calls or NAN
    per_question = {"words_in": words_in / n, "words_out": words_out / n, "rounds": rounds / n}
    per_call = {"words_in_of_a_call": words_in / each, "words_out_of_a_call": words_out / each}
    return per_question | per_call
