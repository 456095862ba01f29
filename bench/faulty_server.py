"""A model server on loopback that fails at random, for bench.soak."""

import json
import random
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Lock

from ircotlib.engine.cache import Calls
from ircotlib.files.paths import MODELS
from ircotlib.files.urls import why_unreachable
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate, key

# a whole reply, or what comes in its place
FAULTS = ["500", "503", "429", "page", "cut", "silence", "drip", "null", "no text", "no reply"]
PAGES = {"page": b"<html>Welcome", "null": b'{"choices": [null]}', "no text": b'{"choices": []}'}
LONG = 4.0  # seconds: longer than the soak's clients wait


class Server:
    """A server at a port of its own, in a process of a context of multiprocessing (see `serve`).
    `notes`: the faults of all servers with the same `kept`, one a line.
    """

    def __init__(self, context, kept: Path, rate: float):
        self.context, self.kept, self.rate, self.process = context, kept, rate, None
        self.notes = kept.with_suffix(".notes")
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self, seed: int = 0) -> None:
        """Start it, in place of one that runs, and wait until it answers."""
        self.stop()
        arguments = self.port, self.kept, self.notes, seed, self.rate
        self.process = self.context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        while why_unreachable(self.url):
            time.sleep(0.1)

    def stop(self) -> None:
        """Kill it."""
        if self.process:
            self.process.kill()
            self.process.join()


class Faulty(ThreadingHTTPServer):
    """Serves mini-base. `kept`: a call cache of its replies, which several servers may share.
    `notes`: a file to which each request adds its fault. `rate`: which part of the requests meets
    one.
    """

    def __init__(self, port: int, kept: Path, notes: Path, seed: int, rate: float):
        super().__init__(("127.0.0.1", port), Handler)
        self.model, self.calls, self.turn = LocalModel(MODELS / "mini-base"), Calls(kept), Lock()
        self.notes, self.chance, self.rate = notes, random.Random(seed), rate

    def draw_fault(self) -> str:
        """The fault of the next request, or "none"."""
        chance = self.chance
        fault = chance.choice(FAULTS) if chance.random() < self.rate else "none"
        with self.notes.open("a") as lines:
            lines.write(f"{fault}\n")
        return fault

    def reply(self, body: dict) -> bytes:
        """The reply of a server to the body of a request."""
        stop = tuple(body["stop"]) if body.get("stop") else None
        request = Generate(body["prompt"], stop, body["max_tokens"])
        with self.turn:
            asked = key(request, self.model.fingerprint)
            if asked not in (replies := self.calls.get_many([asked])):
                [(_, reply)] = self.model.answer([request])
                replies = self.calls.put_many({asked: reply})
        reply = json.loads(replies[asked])
        usage = {"prompt_tokens": reply["prompt_tokens"], "completion_tokens": reply["tokens"]}
        return json.dumps({"choices": [{"text": reply["text"]}], "usage": usage}).encode()

    def handle_error(self, *_):
        """Write nothing of a client that was killed or did not wait."""


class Handler(BaseHTTPRequestHandler):
    """Answers the requests to a `Faulty` server."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.server.draw_fault()
        if fault in ("500", "503", "429"):
            self.send(b"{}", int(fault), wait="0.1" if fault == "429" else "")
        elif fault in PAGES:
            self.send(PAGES[fault])
        elif fault == "silence":
            time.sleep(LONG)
        elif fault != "no reply":
            self.send(self.server.reply(body), fault=fault)
        self.close_connection = fault != "none"

    def send(self, body: bytes, status=200, fault="none", wait="") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if wait:
            self.send_header("Retry-After", wait)
        self.end_headers()
        if fault == "drip":
            for byte in body:
                time.sleep(2 * LONG / len(body))
                self.wfile.write(bytes([byte]))
        else:
            self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    def log_message(self, *_):
        """Write nothing."""


def serve(*arguments) -> None:
    """Serve as `Faulty`, until this process is killed."""
    with Faulty(*arguments) as server:
        server.serve_forever()
