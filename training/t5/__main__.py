"""Trains a shipped model: python -m training.t5 --size base --out FOLDER.

Every few hundred steps a new training world is drawn; its names never occur in held-out
worlds. A checkpoint is written every two minutes and at Ctrl-C; the same command
resumes from it. At the end, the folder holds a plain model with its tokenizer,
training.json (how it was made) and training.jsonl (the training curves). With
`--start`, training begins with the weights of a model of the same or a smaller size.
"""

from pathlib import Path

from ircotlib.options import new_parser
from training.folder import add_out
from training.t5.recipe import SIZES, T5Recipe


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add_out(parser)
    add("--size", choices=[*SIZES, "causal"], default="base")
    add("--steps", type=int, default=2600, help="larger sizes need more than base")
    add("--start", type=Path, help="folder of a trained model as large, or smaller")
    add("--seed", type=int, default=0)
    add("--peak", type=float, default=1e-2, help="learning rate; lower if larger")
    options = parser.parse_args()
    is_causal = options.size == "causal"
    if options.start and is_causal:
        parser.error("a causal model is trained from scratch: leave out --start")
    from training.loop import run_command  # importing torch takes seconds
    from training.t5.learn import train_t5

    is_grown = options.start is not None
    recipe = T5Recipe(options.steps, options.seed, options.peak, is_grown, is_causal)
    run_command(train_t5, options.out, options.size, recipe, options.start)


if __name__ == "__main__":
    main()
