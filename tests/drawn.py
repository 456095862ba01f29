"""Every kind of figure, drawn of the kept numbers."""

import pandas as pd

from bench import reading, real_anchor
from ircotlib.data import Node
from ircotlib.files.paths import FIGURES
from ircotlib.results.factuality import SHARE
from ircotlib.results.figures import lines, maps, rows, tree


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(FIGURES / f"{name}.csv", keep_default_na=True)


def draw_tree(table: pd.DataFrame, title: str):
    table = table.fillna({"answer": "", "found": "", "feedback": "", "passage": ""})
    after = [None if pd.isna(n) else int(n) for n in table.pop("after")]
    rows = zip(table.to_dict("records"), after, strict=True)
    return tree.draw_tree([Node(**row, after=n) for row, n in rows], title)


CAUSES = "Why answers are wrong"
SIZE = "by size of the model (as IRCoT Figure"
OTHERS = "demonstrations of another data set (as IRCoT Figure"
DRAWN = {
    "head_to_head": lambda t: rows.draw_front(read("head_to_head_means"), "All systems"),
    "head_to_head_census": lambda t: rows.draw_causes(t.assign(dataset="all data sets"), CAUSES),
    "head_to_head_datasets": lambda t: rows.draw_by_dataset(t, "All systems by data set"),
    "ircot_fig03_recall": lambda t: rows.draw_with_reported(
        t, "Recall (as IRCoT Figure 3)", "recall, %", "gain over OneR, points"
    ),
    "ircot_fig04_f1": lambda t: rows.draw_with_reported(
        t, "Answer F1 (as IRCoT Figure 4)", "answer F1, %"
    ),
    "ircot_fig06_ood_f1": lambda t: rows.draw_by_demonstrations(
        t, f"Answer F1, {OTHERS} 6)", "answer F1, %"
    ),
    "ircot_fig07_factual_errors": lambda t: rows.draw_factual_errors(
        t[t["metric"] == SHARE], "Chains with a factual error (as IRCoT Figure 7)", "chains, %"
    ),
    "ircot_fig09_scale_f1": lambda t: lines.draw_by_size(t, f"Answer F1 {SIZE} 9)", "F1, %"),
    "ircot_tuning": lambda t: maps.draw_tuning(t, "Tuning on 30 dev questions a data set, %"),
    "mini_training": lambda t: lines.draw_training(t, "The shipped models in training"),
    "own_answers": lambda t: rows.draw_with_reported(t, "Your own questions", "answer F1, %"),
    "reader_confidence": lambda t: reading.draw(t),
    "real_anchor": real_anchor.draw,
    "retrieval_scale": lambda t: lines.draw_retrieval_scale(t),
    "sample_oner_recall_by_retriever": lambda t: lines.draw_recall(t, "retriever", "OneR"),
    "searchain_fig10": lambda t: lines.draw_forms(t, "Forms of knowledge (SearChain Figure 10)"),
    "searchain_tree": lambda t: draw_tree(t, "Who is the founder?"),
}
