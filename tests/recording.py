"""Records what every system asks and predicts: python -m tests.recording

The shipped agent runs all systems on 20 questions of each of SearChain's eight data
sets, and mini-xxl runs IRCoT's on its four, each with the first setting of its grid.
The file has a line for each question and system, and one for each paragraph that was
retrieved.
"""

import json
import lzma
from collections.abc import Iterator
from dataclasses import asdict, fields
from itertools import product
from pathlib import Path

from ircotlib import program
from ircotlib.data import Paragraph
from ircotlib.engine.cache import Calls
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.parameters import EIGHT, Parameters, read_parameters
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

FILE = Path(__file__).with_name("requests.jsonl.xz")
QUESTIONS = 20
# what the profile had when the requests were recorded
RECORDED = {"dev": 30, "samples": 5}


def parameters() -> dict[str, Parameters]:
    """The parameters by model: the agent's and mini-xxl's."""
    p = read_parameters("mini").change(workers=1, test=QUESTIONS, **RECORDED)
    return {"agent": p.for_agent().change(datasets=EIGHT), "mini-xxl": p}


def systems_of(model: str) -> list[System]:
    """All systems that answer, or those of IRCoT's study."""
    if model == "mini-xxl":
        return choose_systems()
    answering = [system for system in choose_systems() if system.tuned_by == ANSWER]
    return choose_systems(study=SEARCHAIN) + answering


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


def read_reply(request, reply, paragraphs: dict[str, Paragraph]) -> object:
    """The reply that a program gets to a request; see `write_reply`."""
    if isinstance(request, program.Retrieve):
        return tuple(paragraphs[id] for id in reply)
    if isinstance(request, program.Sample):
        return tuple(program.Sampled(*sampled) for sampled in reply)
    if isinstance(request, program.Extract):
        return program.Extracted(*reply)
    if isinstance(request, program.NearestTitle):
        return tuple(reply)
    return reply


def write_request(request: object) -> list:
    """A request as JSON, letter by letter."""
    compared = {field.name for field in fields(request) if field.compare}
    values = {
        name: value for name, value in asdict(request).items() if name in compared
    }
    return [type(request).__name__, values]


def write_prediction(prediction: object) -> dict:
    """A system's prediction, as JSON."""
    return {
        "answer": prediction.answer,
        "reading": prediction.reading,
        "fault": prediction.fault,
        "paragraphs": [paragraph.id for paragraph in prediction.paragraphs],
        "thoughts": list(prediction.thoughts),
        "nodes": [asdict(node) for node in prediction.nodes],
    }


def write_step(step: program.Step, paragraphs: dict[str, Paragraph]) -> list:
    return [*write_request(step.request), write_reply(step.reply, paragraphs)]


def main() -> None:
    """Run all systems and write the file."""
    paragraphs, lines = {}, []
    for model in parameters():
        for setup, system in product(setups_of(model), systems_of(model)):
            setting = setup.settings(system)[0]
            outcomes = answer_all(setup, system, setup.test[:QUESTIONS], **setting)
            for id, outcome in outcomes.items():
                line = {
                    "model": model,
                    "dataset": setup.dataset.name,
                    "system": system.name,
                    "id": id,
                    "steps": [write_step(step, paragraphs) for step in outcome.trace],
                    "prediction": write_prediction(outcome.result),
                }
                lines.append(line)
            print(model, setup.dataset.name, system.name, flush=True)
    preset = 9 | lzma.PRESET_EXTREME
    with lzma.open(FILE, "wt", encoding="utf-8", preset=preset) as file:
        for line in [*map(asdict, paragraphs.values()), *lines]:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
