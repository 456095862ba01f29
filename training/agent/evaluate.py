"""The gate: what the agent can do, stage by stage: python -m training.agent.evaluate FOLDER

Its turns on questions of a held-out world are judged, each given gold replies before it: the share
of the tokens that bear a turn (names, values, numbers, verdicts) that are right, with exact
intervals. A stage passes if 95% of them are, and 95% of its verdicts. The table is printed and
written to FOLDER/gate.csv.
"""

from pathlib import Path

from ircotlib.files import write_table
from ircotlib.options import new_parser


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the trained agent")
    parser.add_argument("--turns", type=int, default=300, help="turns of each stage, at least")
    options = parser.parse_args()
    if not (options.folder / "config.json").is_file():
        parser.error(f"found no config.json in {options.folder}, expected a trained agent")
    from training.agent.stages import measure_gate  # importing torch takes seconds

    table = measure_gate(options.folder, options.turns)
    shown = table[table["dataset"] == "all"].drop(columns="dataset")
    print(shown.to_string(index=False))
    print(f"{shown['passes'].sum()} of {len(shown)} pass")
    write_table(options.folder / "gate.csv", table)


if __name__ == "__main__":
    main()
