"""Makes data/real_found.csv: of how many real questions (of the profile sample) a reader that makes
no mistake finds all gold paragraphs; and of how many IRCoT QA with SmolLM2-135M did, with as many
queries and paragraphs, and was right (bench/real_anchor.py). python -m docs.real_found
"""

from dataclasses import replace

import pandas as pd

from bench.real_anchor import FIXED, SHOWN
from ircotlib.experiment.setup import open_setup
from ircotlib.files import FIGURES, SHIPPED
from ircotlib.papers.steps import SENTENCES, find_gold
from ircotlib.parameters import read_parameters


def measure_found(**where: str) -> pd.DataFrame:
    p, rows = read_parameters("sample", where).change(**FIXED), []
    kept = pd.read_csv(FIGURES / "real_anchor.csv").set_index(["metric", "system", "dataset"])
    k, most = p.ircot_k[0], p.max_steps  # the first query is the question, the others sentences
    for name in p.datasets:
        setup = open_setup(p, name, "found", with_model=False)
        asked = [replace(question, steps=question.steps[: most - 1]) for question in setup.test]
        seek = lambda *at: [page for page, _ in setup.retriever.search(*at)]  # noqa: E731
        best = [find_gold(q, seek, k, SENTENCES, cap=k * most)["found"] for q in asked]
        n, share = kept.loc[(SHOWN, "IRCoT QA", name), ["n", "mean"]]
        rows.append((name, len(best), round(sum(best)), round(n), round(n * share / 100)))
    return pd.DataFrame(rows, columns=["dataset", "n", "could_be_found", "found", "right"])


if __name__ == "__main__":
    measure_found().to_csv(SHIPPED / "data" / "real_found.csv", index=False)
