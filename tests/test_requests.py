"""All systems' requests, letter by letter, and predictions are as recorded."""

import json
import lzma
from functools import cache
from itertools import groupby

import pytest

from ircotlib.data import Paragraph
from ircotlib.experiment.runs import Run
from ircotlib.systems import all_systems
from tests import recording


@cache
def recorded():
    """The recorded runs of each question, and all paragraphs, by id."""
    with lzma.open(recording.FILE, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    paragraphs = [Paragraph(**line) for line in lines if "steps" not in line]
    runs = [line for line in lines if "steps" in line]
    return runs, {paragraph.id: paragraph for paragraph in paragraphs}


def as_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("model", list(recording.parameters()))
def test_every_system_asks_and_predicts_what_was_recorded(model):
    lines, paragraphs = recorded()
    lines = [line for line in lines if line["model"] == model]
    setups = {setup.dataset.name: setup for setup in recording.setups_of(model)}
    assert {line["dataset"] for line in lines} == {*setups}
    differing = []
    groups = groupby(lines, lambda line: (line["dataset"], line["system"]))
    for (dataset, name), group in groups:
        setup, system = setups[dataset], all_systems()[name]
        build = Run(setup, system, "test", setup.settings(system)[0]).program
        questions = {question.id: question for question in setup.test}
        for line in group:
            program, reply = build(questions[line["id"]]), None
            try:
                for kind, fields, given in line["steps"]:
                    request = program.send(reply)
                    asked = as_json(recording.write_request(request))
                    if asked != [kind, fields]:
                        break
                    reply = recording.read_reply(request, given, paragraphs)
                else:
                    program.send(reply)
                    asked = "one request more"
                differing.append((dataset, name, line["id"], asked))
            except StopIteration as end:
                prediction = as_json(recording.write_prediction(end.value))
                if prediction != line["prediction"]:
                    differing.append((dataset, name, line["id"], end.value))
    assert not differing, f"{len(differing)} of {len(lines)} differ: {differing[0]}"
