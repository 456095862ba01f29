"""A model server on loopback that fails at random, for bench.soak."""

import json
import random
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from threading import Lock

from ircotlib.files.paths import MODELS
from ircotlib.files.urls import why_unreachable
from ircotlib.generation.local import LocalModel
from ircotlib.program import Generate, key
from ircotlib.running.cache import Calls

# a whole reply, or what comes in its place
FAULTS = ["500", "503", "429", "page", "cut", "silence", "drip", "null", "no text", "no reply"]
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


def serve(port: int, kept: Path, notes: Path, seed: int, rate: float) -> None:
    """Serve mini-base at a port, until this process is killed.

    `kept`: a call cache of its replies, which several servers may share. `notes`: a file to which
    each request adds its fault. `rate`: which part of the requests meets one.
    """
    model, calls, turn = LocalModel(MODELS / "mini-base"), Calls(kept), Lock()
    chance = random.Random(seed)

    def write(body: dict) -> bytes:
        """The reply of a server to the body of a request."""
        stop = tuple(body["stop"]) if body.get("stop") else None
        request = Generate(body["prompt"], stop, body["max_tokens"])
        with turn:
            asked = key(request, model.fingerprint)
            if asked not in (replies := calls.get_many([asked])):
                [(_, reply)] = model.answer([request])
                replies = calls.put_many({asked: reply})
        reply = json.loads(replies[asked])
        usage = {"prompt_tokens": reply["prompt_tokens"], "completion_tokens": reply["tokens"]}
        return json.dumps({"choices": [{"text": reply["text"]}], "usage": usage}).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = chance.choice(FAULTS) if chance.random() < rate else "none"
            with notes.open("a") as lines:
                lines.write(f"{fault}\n")
            if fault in ("500", "503", "429"):
                self.send(b"{}", int(fault), wait="0.1" if fault == "429" else "")
            elif fault == "page":
                self.send(b"<html>Welcome")
            elif fault == "null":
                self.send(b'{"choices": [null]}')
            elif fault == "no text":
                self.send(b'{"choices": []}')
            elif fault == "silence":
                time.sleep(LONG)
            elif fault != "no reply":
                self.send(write(body), fault=fault)
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

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            """Write nothing of a client that was killed or did not wait."""

    with Server(("127.0.0.1", port), Handler) as server:
        server.serve_forever()
