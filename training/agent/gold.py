"""What each system answers if its model writes what a careful reader would: python -m
training.agent.gold FOLDER. That its program works, and how far the agent falls behind
it.
"""

import random
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from ircot_laboratory.make import make_dataset
from ircotlib.datasets import find_dataset, score
from ircotlib.experiment.setup import open_corpus
from ircotlib.files import write_table
from ircotlib.options import new_parser
from ircotlib.parameters import Parameters, read_parameters
from ircotlib.results.head_to_head import for_head_to_head
from training.agent.draw_transcripts import play_turns, taught_systems
from training.agent.lessons import known_facts
from training.teachers.library import Library
from training.teachers.mind import Mind

SETTINGS = {  # right replies need no votes; K, where a system has no number of its own
    "OneR QA": {"k": 15},
    "IRCoT QA": {"k": 6},
    "CoT-SC": {"n": 1},
    "Recite-and-answer": {"n": 1},
    "DSP": {"n": 1, "queries": 1},
    "Tree-of-Thought w/ IR": {"votes": 1},
}
APART = "Auto-CoT"  # its program takes the examples that another one writes


def answer_with_gold(p: Parameters) -> pd.DataFrame:
    """By data set and system, the share of the head to head's `n` test questions that
    are answered right, in percent (`gold`). The reader knows by heart what the agent
    was taught.
    """
    p = for_head_to_head(p)
    systems = {name: s for name, s in taught_systems().items() if name != APART}
    rows = []
    for dataset in p.datasets:
        measure = find_dataset(dataset).covering
        if measure == "rouge_l":  # of texts, neither right nor wrong
            continue
        world, riddles = make_dataset(dataset)
        by_text = {riddle.text: riddle for riddle in riddles}
        library = Library(world, missed=0)
        _, questions, _ = open_corpus(p, dataset)
        for name, system in tqdm(systems.items(), desc=dataset):
            right = []
            for question in questions:
                rng = random.Random(question.id)
                mind = Mind(by_text[question.text], library, known_facts().get, rng)
                play_turns(system, mind, setting=SETTINGS.get(name, {}))
                right.append(100 * score(question, mind.prediction)[measure])
            rows.append((dataset, name, len(right), sum(right) / len(right)))
    return pd.DataFrame(rows, columns=["dataset", "system", "n", "gold"]).round(2)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "folder", type=Path, help="folder of the agent: writes its gold.csv"
    )
    folder = parser.parse_args().folder
    write_table(folder / "gold.csv", answer_with_gold(read_parameters("mini")))


if __name__ == "__main__":
    main()
