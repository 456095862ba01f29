"""Records what every system asks and predicts, for `test_requests.py`: python -m
tests.recording

The shipped agent runs all systems on 20 questions of each of SearChain's eight data
sets, and mini-xxl runs IRCoT's on its four, each with the first setting of its grid.
The file has a line for each question and system, and one for each paragraph that was
retrieved.
"""

import json
import lzma
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path

from ircotlib.data import Paragraph
from ircotlib.engine.cache import Calls
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.parameters import EIGHT, Parameters, read_parameters
from ircotlib.program import (
    Extract,
    Extracted,
    NearestTitle,
    Retrieve,
    Sample,
    Sampled,
    Step,
)
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

FILE = Path(__file__).with_name("requests.jsonl.xz")
QUESTIONS = 20


def parameters() -> dict[str, Parameters]:
    """The parameters by model: the agent's and mini-xxl's."""
    p = read_parameters("mini").change(workers=1, test=QUESTIONS)
    return {"agent": p.for_agent().change(datasets=EIGHT), "mini-xxl": p}


def systems_of(model: str) -> list[System]:
    """All systems that answer, or those of IRCoT's study."""
    if model == "mini-xxl":
        return choose_systems()
    return choose_systems(study=SEARCHAIN) + [
        s for s in choose_systems() if s.tuned_by == ANSWER
    ]


def setups_of(model: str) -> Iterator[Setup]:
    """A setup for each data set."""
    for dataset in parameters()[model].datasets:
        yield open_setup(parameters()[model], dataset, "requests", calls=Calls(None))


def write_reply(reply: object, paragraphs: dict[str, Paragraph]) -> object:
    """A reply as JSON: paragraphs are their ids, and are added to `paragraphs`."""
    if isinstance(reply, tuple) and reply and isinstance(reply[0], Paragraph):
        paragraphs.update((paragraph.id, paragraph) for paragraph in reply)
        return [paragraph.id for paragraph in reply]
    return reply


def read_reply(
    request: object, reply: object, paragraphs: dict[str, Paragraph]
) -> object:
    """The reply that a program gets to a request; see `write_reply`."""
    if isinstance(request, Retrieve):
        return tuple(paragraphs[id] for id in reply)
    if isinstance(request, Sample):
        return tuple(Sampled(*sampled) for sampled in reply)
    if isinstance(request, Extract):
        return Extracted(*reply)
    return tuple(reply) if isinstance(request, NearestTitle) else reply


def write_request(request: object) -> list:
    """A request as JSON, letter by letter."""
    return [type(request).__name__, asdict(request)]


def write_prediction(prediction: object) -> dict:
    """A system's prediction, as JSON."""
    about = {
        "answer": prediction.answer,
        "reading": prediction.reading,
        "fault": prediction.fault,
    }
    about |= {"paragraphs": [paragraph.id for paragraph in prediction.paragraphs]}
    about |= {"thoughts": list(prediction.thoughts)}
    return about | {"nodes": [asdict(node) for node in prediction.nodes]}


def write_steps(trace: tuple[Step, ...], paragraphs: dict[str, Paragraph]) -> list:
    """The steps of a question: pairs of a request and its reply."""
    steps = []
    for step in trace:
        reply = write_reply(step.reply, paragraphs)
        steps.append([*write_request(step.request), reply])
    return steps


def main() -> None:
    """Run all systems and write the file."""
    paragraphs, lines = {}, []
    for model in parameters():
        for setup, system in product(setups_of(model), systems_of(model)):
            setting = setup.settings(system)[0]
            outcomes = answer_all(setup, system, setup.test[:QUESTIONS], **setting)
            for id, outcome in outcomes.items():
                about = {
                    "model": model,
                    "dataset": setup.dataset.name,
                    "system": system.name,
                }
                about |= {"id": id, "steps": write_steps(outcome.trace, paragraphs)}
                lines.append(about | {"prediction": write_prediction(outcome.result)})
            print(model, setup.dataset.name, system.name, flush=True)
    with lzma.open(
        FILE, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME
    ) as file:
        for paragraph in paragraphs.values():
            file.write(json.dumps(asdict(paragraph), ensure_ascii=False) + "\n")
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
