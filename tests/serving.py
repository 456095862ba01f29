"""Servers for tests: a made-up one in this process, and `transformers serve`."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from tiny import change, copy
from werkzeug import Response

from ircotlib.files import MODELS
from ircotlib.models.server import ServerModel

COPIES = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


class Fake:
    """Answers each prompt with itself in capitals, in this process.

    `faults`: what to answer first, by prompt: replies, or functions from the request's
    body to a reply.
    """

    def __init__(self, httpserver):
        self.faults, self.bodies = {}, []
        self.log, self.url = httpserver.log, httpserver.url_for("/")
        for path in ("/v1/completions", "/v1/chat/completions"):
            httpserver.expect_request(path).respond_with_handler(self.reply)

    @property
    def asked(self) -> list[str]:
        """The prompts that were sent."""
        return [prompt_of(body) for body in self.bodies]

    def reply(self, request) -> Response:
        body = json.loads(request.get_data())
        self.bodies.append(body)
        faults = self.faults.get(prompt_of(body)) or self.faults.get("all")
        fault = faults.pop(0) if faults else self.answer(body)
        fault = fault if isinstance(fault, dict | Response) else fault(body)
        return fault if isinstance(fault, Response) else said(json.dumps(fault))

    def answer(self, body: dict) -> dict:
        return completion(prompt_of(body).upper())


def prompt_of(body: dict) -> str:
    return body.get("prompt") or body["messages"][-1]["content"]


def completion(text: str | None, **more) -> dict:
    """A reply to a completion and to a chat."""
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    choice = {"text": text, "message": {"content": text}, "finish_reason": "stop"}
    return {"choices": [choice | more], "usage": usage}


def status(number: int, message: str, **error) -> Response:
    return said(json.dumps({"error": {"message": message, **error}}), number)


def said(content: str, number: int = 200, kind: str = "application/json") -> Response:
    return Response(content, number, content_type=kind)


def model(fake: Fake, **options) -> ServerModel:
    """The model behind a fake server, which is asked one thing at a time."""
    return ServerModel("m", fake.url, **{"in_flight": 1} | options)


def copy_model(folder: Path) -> Path:
    """Copy mini-causal, with changes for `transformers serve`.

    A chat template that adds no text; two words, never read or written, because its
    stops need a line break and a test word in the vocabulary; do_sample, to sample.
    """
    folder = copy(MODELS / "mini-causal", folder)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    model["vocab"] |= {"abcdef": len(model["vocab"]), "\n": len(model["vocab"]) + 1}
    change(folder / "tokenizer.json", model=model)
    change(folder / "generation_config.json", do_sample=True)
    (folder / "chat_template.jinja").write_text(COPIES)
    return folder


@contextmanager
def serve_model(folder: Path):
    """The address of `transformers serve` with a folder; its path names the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = f"--device cpu --dtype float32 --host 127.0.0.1 --port {port}".split()
    program = Path(sys.executable).with_name("transformers")
    process = subprocess.Popen(
        [program, "serve", folder, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "transformers serve ended"
                time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()
