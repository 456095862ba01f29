"""Servers on loopback for tests: a made-up one in this process, and `transformers
serve`.
"""

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

COPIES = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


class Fake:
    """Answers each prompt with itself in capitals, in this process. `faults`: what to
    answer first, by prompt: a reply, or a function of the request's body that makes
    one.
    """

    def __init__(self, httpserver):
        self.faults, self.bodies, self.times = {}, [], []
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
        self.times.append(time.monotonic())
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


def status(number: int, message: str = "", headers=None, **error) -> Response:
    body = {"error": {"message": message, **error}}
    return Response(json.dumps(body), number, headers, content_type="application/json")


def said(content: str, number: int = 200, kind: str = "application/json") -> Response:
    return Response(content, number, content_type=kind)


def copy_model(folder: Path) -> Path:
    """Copy mini-causal, with three changes for `transformers serve`: a chat template
    that adds no text; two more words, never read or written, because its stops need a
    line break and a test word in the vocabulary; and do_sample, without which it draws
    no samples.
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
    """The address of a `transformers serve` of a folder; the model's name is its path."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"--device cpu --dtype float32 --host 127.0.0.1 --port {port}".split()
    program = str(Path(sys.executable).with_name("transformers"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [program, "serve", str(folder), *options], **quiet, env=environment
    )
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/health", timeout=5
                ).close()
                break
            except OSError:
                assert process.poll() is None, (
                    f"transformers serve ended: {process.returncode}"
                )
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
