"""Trains the agent, the causal model that plays every system: python -m training.agent --out FOLDER

It learns from transcripts: the systems' own programs, played on training worlds with the replies
that it should give. A checkpoint is written every two minutes and at Ctrl-C; the same command
resumes from it. At the end, the folder holds a plain model with its tokenizer, training.json (how
it was made) and training.jsonl (the training curves).
With `--start`, a trained agent is given more layers and is trained further.
"""

import json
from pathlib import Path

from ircotlib.commands import new_parser, read_count, read_folder, read_number, read_rate, refuse


def _find_wrong_start(start: Path | None) -> str:
    """What is wrong with --start, or "" if nothing is."""
    if start is None:
        return ""
    path = start / "config.json"
    if not path.is_file():
        return f"found no {path}, expected --start to be the folder of a trained agent"
    if (kind := json.loads(path.read_text()).get("model_type")) != "llama":
        return f"found a {kind} in --start {start}, expected an agent, a llama"
    return ""


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--out", type=read_folder, required=True, help="folder of the model and its checkpoint")
    add("--steps", type=read_count, default=13_000, help="900 steps take about ten minutes")
    add("--start", type=Path, help="folder of a trained agent, which is given more layers")
    add("--seed", type=read_number, default=0)
    add("--peak", type=read_rate, default=1e-2, help="highest learning rate")
    add("--threads", type=read_count, default=1, help="processor cores to use")
    options = parser.parse_args()
    if wrong := _find_wrong_start(options.start):
        refuse(wrong)
    from training.agent_learn import Recipe, train  # importing torch takes seconds
    from training.checkpoint import run_command

    recipe = Recipe(options.steps, options.seed, options.peak)
    run_command(train, options.out, recipe, options.threads, options.start)


if __name__ == "__main__":
    main()
