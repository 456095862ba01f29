"""Trains the agent, the model that all systems can ask: python -m training.agent --out
FOLDER

It learns from transcripts: the systems' own programs, run on training worlds with the
replies that it should give. A checkpoint is written every two minutes and at Ctrl-C;
the same command resumes from it. At the end, the folder holds a plain model with its
tokenizer, training.json (how it was made) and training.jsonl (the training curves).
"""

from ircotlib.options import new_parser
from training.folder import add_out


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add_out(parser)
    add("--steps", type=int, default=15_000, help="900 steps take about ten minutes")
    add("--seed", type=int, default=0)
    add("--peak", type=float, default=1e-2, help="highest learning rate")
    add("--start", default="", help="folder of an agent that learns on")
    options = parser.parse_args()
    # importing torch takes seconds
    from training.agent.learn import AgentRecipe, train_agent
    from training.loop import run_command

    recipe = AgentRecipe(options.steps, options.seed, options.peak, options.start)
    run_command(train_agent, options.out, recipe)


if __name__ == "__main__":
    main()
