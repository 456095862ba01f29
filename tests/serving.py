"""Real servers on loopback for tests, each in a process of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from werkzeug import Response

from ircotlib.files.paths import MODELS

COPIES = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@dataclass
class Served:
    """A server process, and its address."""

    process: subprocess.Popen
    url: str
    model: str

    def kill(self) -> None:
        """A crash; nothing when it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Fake:
    """Answers each prompt with itself in capitals, in this process. `faults`: what to answer first,
    by prompt: a reply, or a function of the request's body that makes one.
    """

    def __init__(self, httpserver):
        self.faults, self.asked, self.bodies, self.times = {}, [], [], []
        self.url = httpserver.url_for("/")
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
    shutil.copytree(MODELS / "mini-causal", folder)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    words = tokenizer["model"]["vocab"]
    words |= {"abcdef": len(words), "\n": len(words) + 1}
    path.write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text(COPIES)
    about = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(about | {"do_sample": True}))
    return folder


def serve_model(folder: Path) -> Served:
    """`transformers serve` of a folder; the model's name is its path."""
    program = str(Path(sys.executable).with_name("transformers"))
    options = ["--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1"]
    return _start([program, "serve", str(folder), *options, "--port"], str(folder))


def serve_echo() -> Served:
    """A server that completes every prompt with its last line, a little slowly."""
    return _start([sys.executable, __file__], "echo")


def _start(command: list[str], model: str) -> Served:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [*command, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )
    served = Served(process, f"http://127.0.0.1:{port}", model)
    for _ in range(1200):
        try:
            urllib.request.urlopen(f"{served.url}/health", timeout=5).close()
            return served
        except OSError:
            assert process.poll() is None, f"{command} ended with {process.returncode}"
            time.sleep(0.1)
    served.kill()
    raise TimeoutError(f"{command} does not answer")


def _echo(port: int) -> None:
    import asyncio

    import uvicorn
    from fastapi import FastAPI, Request

    app, answered = FastAPI(), []

    @app.get("/health")
    async def health():
        return {"answered": len(answered)}

    @app.post("/v1/completions")
    async def complete(request: Request):
        prompt = (await request.json())["prompt"]
        await asyncio.sleep(0.05)
        answered.append(prompt)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": 1}
        return {"choices": [{"text": prompt.split("\n")[-1], "index": 0}], "usage": usage}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    _echo(int(sys.argv[1]))
