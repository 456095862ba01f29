"""How well `ircotlib plan` foresees: python -m bench.plan. Writes figures/bench_plan.csv.

It plans notebooks, and puts beside it what they took: the counts of all their runs of the profile
and, for all together, what is in the call cache, and the minutes from the first run to the last
executed notebook. So first run them once in an empty IRCOT_DATA:

    ircotlib figures --only 04_ircot && python -m bench.plan --only 04_ircot
"""

import json
import sys

import pandas as pd

from ircotlib.command.figures import add_notebooks, choose_notebooks
from ircotlib.command.plan import ALL, make_plan
from ircotlib.comparing.plans import read_all_comparisons
from ircotlib.files.options import new_parser, parse_changes, read_count, refusing
from ircotlib.files.paths import DATA
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.playing.cache import Calls
from ircotlib.results.figures.panels import save_figure
from ircotlib.running.run import read_about

ASKING_MORE = ["14_searchain_tables"]  # of whose texts most belong to no run


def read_runs(p: Parameters, notebook: str) -> dict[str, float]:
    """The sums of a notebook's runs; empty if it has none, or more than these."""
    paths = sorted((DATA / "runs" / p.profile).glob(f"{notebook}-*/**/run.json"))
    if not paths or notebook in ASKING_MORE:
        return {}
    kinds = [kind for path in paths for kind in read_about(path.parent)["counts"].items()]
    written = [counts for name, counts in kinds if name in ("Generate", "Sample")]
    row = {"generations": sum(counts["requests"] for counts in written)}
    row |= {name: sum(counts[name] for counts in written) for name in ("prompt_tokens", "tokens")}
    row |= {"retrievals": sum(c["requests"] for name, c in kinds if name == "Retrieve")}
    return row


def read_all(p: Parameters) -> dict[str, float]:
    """What all took: texts of models and their tokens, as they are in the call cache, and minutes,
    from the first file to the last executed notebook.
    """
    row = dict.fromkeys(("new_generations", "new_prompt_tokens", "new_tokens"), 0)
    times = [path.stat().st_mtime for path in (DATA / "runs" / p.profile).rglob("run.json")]
    executed = DATA / "executed" / p.profile / p.trial
    times += [path.stat().st_mtime for path in executed.glob("*.ipynb")]
    row |= {"minutes": (max(times, default=0) - min(times, default=0)) / 60}
    with Calls(DATA / "calls.sqlite") as calls:
        for reply in (json.loads(text) for page in calls.pages() for text in page.values()):
            if isinstance(reply, dict) and "prompt_tokens" in reply:
                row["new_generations"] += 1
                row["new_prompt_tokens"] += reply["prompt_tokens"]
                row["new_tokens"] += reply["tokens"]
    return row


def compare(plan: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """What was planned, what it took, and their ratio: a row for each notebook and count."""
    rows, of_all = [], read_all(p)
    for planned in plan.to_dict("records"):
        name = planned["notebook"]
        for count, took in (of_all if name == ALL else read_runs(p, name)).items():
            ratio = planned[count] / took if took else 1.0
            row = {"planned": planned[count], "took": took, "ratio": ratio}
            rows.append({"notebook": name, "count": count} | row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = new_parser(__doc__)
    add_notebooks(parser)
    parser.add_argument("--questions", type=read_count, default=5, help="of the sample")
    options = parser.parse_args()
    with refusing():
        changes = parse_changes(options.set)
        p = read_parameters(options.profile, changes)
        notebooks = choose_notebooks(options.only, p)
        planned, _ = read_all_comparisons(p.profile, changes, notebooks)
    table = compare(make_plan(p, planned, options.questions, None), p)
    if table.empty:
        sys.exit("found no runs with these parameters, expected some: run ircotlib figures first")
    save_figure(None, table.round(3), "bench_plan", p)
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main()
