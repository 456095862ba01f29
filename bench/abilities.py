"""Tests whether the simulated reader predicts: python -m bench.abilities predict, then play; or
draws its map finely: python -m bench.abilities map

`predict` sets its dials to what probes of single facts say of READERS (python -m
training.agent.probes), plays all systems, and writes figures/abilities_predicted.csv; it is to be
kept before `play`, with which the READERS themselves play all systems. That writes
figures/abilities_measured.csv. Replies are cached: if interrupted, the same command resumes. `map`
writes figures/abilities_map_fine.*, that of 15_abilities with more questions and seeds (FINE).
"""

import pandas as pd

from ircotlib.comparing.comparison import run_system
from ircotlib.files.options import add_profile, new_parser, parse_changes, refusing
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.abilities.map import STEP_BY_STEP, WORDS, map_systems
from ircotlib.results.abilities.predictions import predict_readers
from ircotlib.results.abilities.simulation import (
    describe_simulations,
    setting_of,
    simulated_systems,
)
from ircotlib.results.figures.maps import draw_map
from ircotlib.results.figures.panels import save_figure
from ircotlib.results.head_to_head import measures_of, panels_of
from ircotlib.running.bench import open_bench

EXPERIMENT = "abilities_readers"
# one agent at a fifth, a third, half and all of its training, and one that was taught otherwise
READERS = [f"data/models/agent{name}" for name in ("-20", "-35", "-55", "", "-by-system")]
QUESTIONS = 60  # of each data set
FINE = {"abilities_test": 200, "abilities_seeds": 10}


def play_reader(p: Parameters, folder: str) -> pd.DataFrame:
    """The scores of all systems with a reader, in percent, by data set."""
    [panel, *_] = panels_of(p.change(agent=folder))
    rows = []
    for dataset in p.head_to_head:
        bench, metric = open_bench(panel, dataset, EXPERIMENT), measures_of(dataset)[0]
        for system in simulated_systems():
            scores = run_system(bench, system, **setting_of(p, system))[metric]
            row = {"reader": folder.rpartition("/")[2], "dataset": dataset, "system": system.name}
            rows.append(row | {"n": len(scores), "measured": 100 * scores.mean()})
    return pd.DataFrame(rows).round(2)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("step", choices=("predict", "play", "map"))
    add_profile(parser, "mini")
    options = parser.parse_args()
    with refusing():
        p = read_parameters(options.profile, parse_changes(options.set))
    if options.step == "predict":
        save_figure(None, predict_readers(p, READERS), "abilities_predicted", p)
    elif options.step == "map":
        who, [always] = map_systems(p.change(**FINE)), STEP_BY_STEP
        figure = draw_map(who, always, WORDS, "Who answers best on MuSiQue?")
        save_figure(figure, who, "abilities_map_fine", p, describe_simulations(p.change(**FINE)))
    else:
        played = p.change(dev=0, head_to_head_test=QUESTIONS)
        tables = [play_reader(played, folder) for folder in READERS]
        save_figure(None, pd.concat(tables, ignore_index=True), "abilities_measured", p)


if __name__ == "__main__":
    main()
