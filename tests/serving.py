"""Servers on loopback for tests: a made-up one in this process, and `transformers serve`."""

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

from ircotlib.files.paths import MODELS

COPIES = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


class Fake:
    """Answers each prompt with itself in capitals, in this process. `faults`: what to answer first,
    by prompt: a reply, or a function of the request's body that makes one.
    """

    def __init__(self, httpserver):
        self.faults, self.asked, self.bodies, self.times = {}, [], [], []
        self.log, self.url = httpserver.log, httpserver.url_for("/")
        for path in ("/v1/completions", "/v1/chat/completions"):
            httpserver.expect_request(path).respond_with_handler(self.reply)

    def reply(self, request) -> Response:
        body = json.loads(request.get_data())
        prompt = body.get("prompt") or body["messages"][-1]["content"]
        self.asked.append(prompt)
        self.bodies.append(body)
        self.times.append(time.monotonic())
        faults = self.faults.get(prompt) or self.faults.get("all")
        fault = faults.pop(0) if faults else completion(prompt.upper())
        fault = fault if isinstance(fault, dict | Response) else fault(body)
        return Response(json.dumps(fault), 200) if isinstance(fault, dict) else fault


def completion(text: str, **more) -> dict:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return {"choices": [{"text": text, "index": 0, **more}], "usage": usage}


def status(number: int, message: str = "", headers=None, **error) -> Response:
    body = {"error": {"message": message, **error}}
    return Response(json.dumps(body), number, headers, content_type="application/json")


def copy_model(folder: Path) -> Path:
    """Copy mini-causal, with three changes for `transformers serve`: a chat template that adds no
    text; two more words, never read or written, because its stops need a line break and a test word
    in the vocabulary; and do_sample, without which it draws no samples.
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
    process = subprocess.Popen([program, "serve", str(folder), *options], **quiet, env=environment)
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, f"transformers serve ended: {process.returncode}"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Batches:
    """A server of batch files in a process of its own (`batch_server`)."""

    def __init__(self, process):
        self.url = f"http://127.0.0.1:{process.stdout.readline().strip()}"

    def plan(self, *batches: dict, **how) -> None:
        """How it fares from now on (`batch_server.PLAN`); its log begins anew."""
        usual = {"longest": 10**9, "refused": "", "ignores_n": False, "silent": 0}
        usual |= {"thoughts": "", "upload": None}
        body = json.dumps(usual | how | {"batches": batches}).encode()
        urllib.request.urlopen(f"{self.url}/plan", data=body, timeout=60).close()

    def log(self) -> dict:
        """What it was asked."""
        with urllib.request.urlopen(f"{self.url}/log", timeout=60) as reply:
            return json.load(reply)

    def end_batches(self) -> None:
        """End all that are under way."""
        urllib.request.urlopen(f"{self.url}/end", timeout=60).close()

    def lines(self) -> list[str]:
        """The ids of all requests that it took in batches."""
        return [id for batch in self.log()["batches"] for id in batch]


@contextmanager
def serve_batches():
    """A running server of batch files."""
    command = [sys.executable, "-S", str(Path(__file__).with_name("batch_server.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Batches(process)
        finally:
            process.kill()
