"""Trains the shipped extractive reader: python -m training.reader --out FOLDER.

The reader is a small DPR reader (SearChain §3.2), trained from scratch on queries and
paragraphs of training worlds, whose names never occur in held-out worlds. A checkpoint
is written every two minutes and at Ctrl-C; the same command resumes from it. At the
end, the folder holds a plain DPRReader with its tokenizer, reading.json (how it was
made) and reading.jsonl (training curves).
"""

from ircotlib.options import new_parser
from training.folder import add_out


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add_out(parser)
    add("--steps", type=int, default=2500)
    add("--seed", type=int, default=0)
    options = parser.parse_args()
    from training.loop import run_command  # importing torch takes seconds
    from training.reader.learn import ReaderRecipe, train_reader

    run_command(train_reader, options.out, ReaderRecipe(options.steps, options.seed))


if __name__ == "__main__":
    main()
