"""How well `ircotlib plan` foresees: python -m bench.plan. Writes figures/bench_plan.csv.

It plans notebooks, and puts beside it what they took: the counts of all their runs of the profile,
and the minutes of their executed copies. So first run them, in an empty IRCOT_DATA:

    ircotlib figures --only 04_ircot && python -m bench.plan --only 04_ircot
"""

import json
import sys

import pandas as pd

from ircotlib.command.figures import choose_notebooks
from ircotlib.command.notebooks import all_notebooks, made_by
from ircotlib.command.plan import ALL, make_plan
from ircotlib.files.options import add_profile, new_parser, parse_changes, read_count, refusing
from ircotlib.files.paths import DATA
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures.panels import save_figure
from ircotlib.running.folder import read_about


def read_truth(p: Parameters, notebook: str) -> dict[str, float]:
    """What a notebook took: the sums of its runs, and its minutes; empty if it has no runs."""
    paths = sorted((DATA / "runs" / p.profile).glob(f"{notebook}-*/**/run.json"))
    abouts = [read_about(path.parent) for path in paths]
    executed = DATA / "executed" / p.profile / f"{notebook}.ipynb"
    if not abouts or not executed.exists():
        return {}
    kinds = [kind for about in abouts for kind in about["counts"].items()]
    written = [counts for name, counts in kinds if name in ("Generate", "Sample")]
    row = {"generations": sum(counts["requests"] for counts in written)}
    row |= {name: sum(counts[name] for counts in written) for name in ("prompt_tokens", "tokens")}
    row |= {"retrievals": sum(c["requests"] for name, c in kinds if name == "Retrieve")}
    about = json.loads(executed.read_text(encoding="utf-8"))["metadata"]["papermill"]
    return row | {"minutes": about["duration"] / 60}


def compare(plan: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """One row per notebook that ran: what it took, what was planned, and their ratio."""
    rows = []
    for planned in plan[plan["notebook"] != ALL].to_dict("records"):
        row = {"notebook": planned["notebook"]}
        for name, took in read_truth(p, planned["notebook"]).items():
            ratio = planned[name] / took if took else 1.0
            row |= {name: took, f"{name}_planned": planned[name], f"{name}_ratio": ratio}
        rows += [row] if len(row) > 1 else []
    return pd.DataFrame(rows)


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--questions", type=read_count, default=5, help="of the sample")
    options = parser.parse_args()
    with refusing():
        p = read_parameters(options.profile, parse_changes(options.set))
        makes = {name: made_by(name, p.profile) for name in all_notebooks()}
        notebooks = choose_notebooks(options.only, makes)
    table = compare(make_plan(p, notebooks, options.questions, None), p)
    if table.empty:
        sys.exit("found no runs with these parameters, expected some: run ircotlib figures first")
    save_figure(None, table.round(3), "bench_plan", p.profile)
    print(table.set_index("notebook").T.to_string(float_format="{:,.2f}".format))


if __name__ == "__main__":
    main()
