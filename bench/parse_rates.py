"""Counts how many of a model's replies to real questions SearChain's systems can parse:
python -m bench.parse_rates --model NAME --server URL --data FOLDER [--chat]

Writes figures/bench_parse_rates.csv, with a row for each system, after each system. Replies are
cached: if interrupted, the same command resumes. For slow machines, samples, steps and lengths are
reduced (CUT), and some systems answer fewer questions (COSTLY).
"""

from argparse import Namespace
from dataclasses import replace

import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.datasets.pooled import sample_dev_test
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.files.options import new_parser, read_count, refusing
from ircotlib.files.paths import resolve
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.figures.panels import save_figure
from ircotlib.results.runs import count_parsed
from ircotlib.systems import SEARCHAIN, System, choose_systems

NAME = "bench_parse_rates"
# settings with fewer samples, queries, steps and paragraphs than in the papers
CUT = {
    "CoT-SC": {"n": 5},
    "Recite-and-answer": {"n": 3},
    "ReAct -> CoT-SC": {"n": 5},
    "Verify-and-Edit": {"n": 3},
    "Tree-of-Thought w/ IR": {"n": 2, "votes": 2, "depth": 3},
    "DSP": {"queries": 2, "n": 3, "annotated": 1},
    "InterAug": {"k": 5},
    "SearChain": {"max_rounds": 3},
    "SearChain w/o Verification": {"max_rounds": 3},
    "SearChain w/o Completion": {"max_rounds": 3},
}
# systems that still need many generations for a question, and how many questions they answer
COSTLY = dict.fromkeys(("Least-to-Most", "Self-Ask", "ReAct", "ReAct -> CoT-SC"), 6)
COSTLY |= dict.fromkeys(("Verify-and-Edit", "Tree-of-Thought w/ IR", "DSP", "InterAug"), 6)
COSTLY |= dict.fromkeys(("DecomP", "SearChain"), 2)
COSTLY |= dict.fromkeys(("SearChain w/o Verification", "SearChain w/o Completion"), 2)
ELSEWHERE = ("CoT", "Self-Ask", "ReAct", "SearChain")  # these are also run on OTHERS
OTHERS = ("strategyqa", "fever", "eli5")


def open_with(bench: Setup, dataset: str, questions: int) -> Setup:
    """A bench with the questions of another data set and the same paragraphs, since FEVER and ELI5
    have none of their own here.
    """
    p, record = bench.parameters, find_dataset(dataset)
    pairs = record.read(find_questions(record, resolve(p.data_dir)))
    _, test = sample_dev_test([question for question, _ in pairs], 0, questions, p.seed)
    changed = p.change(datasets=[dataset], test=questions)
    return replace(bench, parameters=changed, dataset=record, test=test)


def measure_parsed(bench: Setup, system: System, most_tokens: int) -> dict:
    """Run a system and return its row of the table, without seconds: replies may be cached."""
    lengths = {name: min(n, most_tokens) for name, n in bench.tokens(system).items()}
    setting = CUT.get(system.name, {}) | lengths
    run_system(bench, system, **setting)
    row = count_parsed(Run(bench, system, "test", setting).folder)
    return {"model": bench.parameters.model} | {n: v for n, v in row.items() if n != "seconds"}


def served_parameters(options: Namespace) -> Parameters:
    """The parameters that the options ask for. Raises ValueError or FileNotFoundError if files are
    missing.
    """
    changes = {"model": options.model, "server": options.server, "chat": options.chat}
    changes |= {"data_dir": options.data, "dev": 0, "test": options.questions, "in_flight": 4}
    changes |= {"timeout": 3600.0, "context_tokens": options.context_tokens}
    p = read_parameters("sample", changes | {"datasets": ["hotpotqa"]})
    for dataset in map(find_dataset, OTHERS):
        find_questions(dataset, resolve(p.data_dir))
    return p


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--model", required=True, help="the model's name on the server")
    add("--server", required=True, help="the server's address, as http://127.0.0.1:8000")
    add("--data", required=True, help="folder of the data sets' official files")
    add("--chat", action="store_true", help="the model takes messages")
    add("--questions", type=read_count, default=20, help="questions of HotpotQA per system")
    add("--elsewhere", type=read_count, default=2, help="questions of each other data set")
    add("--context-tokens", type=read_count, default=1200, help="the model's window")
    add("--most-tokens", type=read_count, default=160, help="limit of each generation")
    options = parser.parse_args()
    with refusing():
        p = served_parameters(options)
    bench, rows = open_setup(p, "hotpotqa", NAME), []
    systems = choose_systems(study=SEARCHAIN)
    runs = [(replace(bench, test=bench.test[: COSTLY.get(s.name)]), s) for s in systems]
    for dataset in OTHERS:
        other = open_with(bench, dataset, options.elsewhere)
        runs += [(other, system) for system in choose_systems(ELSEWHERE)]
    for bench, system in runs:
        rows.append(measure_parsed(bench, system, options.most_tokens))
        save_figure(None, pd.DataFrame(rows), NAME, p)
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
