"""Measures a model server's requests per second, by requests in flight; nothing is cached.

python -m bench.server --model NAME --server URL [--chat] [--requests 16] [--in-flight 1 2 4 8]
"""

import time

import pandas as pd

from ircotlib.files.options import new_parser, read_count, refusing, say_error
from ircotlib.generation.server import ServerModel
from ircotlib.program import SENTENCE_OF_LINE, Generate
from ircotlib.prompting.demonstrations import find_demonstrations
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_demonstration


def make_requests(count: int, max_tokens: int) -> list[Generate]:
    """Prompts with three demonstrations and a question of our own, all different."""
    shown = find_demonstrations("prompts/own", "hotpotqa", "cot", "codex", 1, 0)[:3]
    above = BETWEEN_DEMONSTRATIONS.join(map(render_demonstration, shown))
    questions = [f"Q: Which of the years {n} and {n + 7} was earlier?\nA:" for n in range(count)]
    prompts = [above + BETWEEN_DEMONSTRATIONS + question for question in questions]
    return [Generate(prompt, SENTENCE_OF_LINE, max_tokens) for prompt in prompts]


def measure(model: ServerModel, requests: list[Generate]) -> dict:
    """The seconds for all requests, and the requests per second. Raises the first error."""
    started = time.perf_counter()
    failed = [reply for _, reply in model.answer(requests) if isinstance(reply, Exception)]
    if failed:
        raise failed[0]
    seconds = time.perf_counter() - started
    rate = len(requests) / seconds
    return {"in flight": model.in_flight, "seconds": seconds, "requests a second": rate}


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--model", required=True, help="the model's name on the server")
    add("--server", required=True, help="the server's address, as http://127.0.0.1:8000")
    add("--chat", action="store_true", help="the model takes messages")
    add("--requests", type=read_count, default=16, help="requests per measurement")
    add("--max-tokens", type=read_count, default=30, help="limit of each generation")
    add("--in-flight", type=read_count, nargs="+", default=[1, 2, 4, 8], help="numbers to compare")
    options = parser.parse_args()
    requests = make_requests(options.requests, options.max_tokens)
    name, url, chat = options.model, options.server, options.chat
    with refusing():
        models = [ServerModel(name, url, chat=chat, in_flight=n) for n in options.in_flight]
    try:
        measure(models[0], requests[:1])  # so that the server loads the weights first
        print(pd.DataFrame([measure(model, requests) for model in models]).round(2).to_string())
    except (ValueError, RuntimeError, OSError, LookupError) as error:
        raise SystemExit(say_error(error, 1)) from None


if __name__ == "__main__":
    main()
