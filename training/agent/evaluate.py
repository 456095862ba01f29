"""Measures how well the agent plays: python -m training.agent.evaluate FOLDER [--closed QUESTIONS]

First, each of its turns on questions of the default laboratory, given gold replies in all earlier
turns. Then, with --closed, whole systems in closed loop: all replies are the agent's own and all
retrieval is real. The results are printed and written to FOLDER/playing.json.
"""

import json
from pathlib import Path

from ircotlib.options import new_parser


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("folder", type=Path, help="folder of the trained agent")
    add("--questions", type=int, default=300, help="questions for each system, turn by turn")
    add("--closed", type=int, default=0, help="questions of each data set, in closed loop")
    options = parser.parse_args()
    if not (options.folder / "config.json").is_file():
        parser.error(f"found no config.json in {options.folder}, expected a trained agent")
    from training.agent.stages import measure_agent  # importing torch takes seconds

    measured = measure_agent(options.folder, options.questions, options.closed)
    record = json.dumps(measured, indent=1)
    print(record)
    (options.folder / "playing.json").write_text(record + "\n")


if __name__ == "__main__":
    main()
