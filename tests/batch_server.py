"""A server on loopback that takes batch files: python tests/batch_server.py prints its address.

A reply depends on the prompt alone. POST /plan sets how it behaves (`PLAN`), GET /log has all that
it was asked, with the lines of each batch, GET /end ends all batches.
"""

import email
import hashlib
import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

# batches: how those that come fare, one after another: seconds until it ends; status at its end;
# answered: how many lines; statuses: of lines, by a word in the prompt; error: code and message,
# before any line; stuck: whether the request that begins it is never answered, "before" or "after"
# it has begun; reasons: for the end of texts, by a word in the prompt; odd: what stands in place of
# its first line, whose id "ID" is; errors: of the batch. longest: characters of a prompt; refused:
# a field; silent: requests to fail; thoughts: before each text; upload: what is replied to an
# upload, if something else
PLAN = {"batches": [], "longest": 10**9, "refused": "", "ignores_n": False, "silent": 0}
PLAN |= {"thoughts": "", "upload": None}
NUMBERS, FILES, BATCHES = count(1), {}, {}
EMPTY = {"uploads": 0, "looks": 0, "stuck": False, "single": [], "batches": []}
LOG = EMPTY | {"single": [], "batches": []}


def write(prompt: str, number: int = 0) -> str:
    """A sentence of words of a prompt; every third one has an answer."""
    digest = hashlib.blake2b(f"{number} {prompt}".encode(), digest_size=8).digest()
    words = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+|[A-Z][a-z]{3,}", prompt[-600:]) or ["Nothing"]
    first, second = (words[byte % len(words)] for byte in digest[:2])
    return f"So the answer is: {first}." if digest[2] % 3 == 0 else f"{first} is near {second}."


def reply(body: dict) -> tuple[int, dict]:
    """The status of a request and what is sent with it."""
    prompt = body.get("prompt") or body["messages"][-1]["content"]
    if len(prompt) > PLAN["longest"]:
        return 400, {"error": {"message": "prompt too long", "code": "context_length_exceeded"}}
    if PLAN["refused"] in body:
        return 400, {"error": {"message": f"unsupported: {PLAN['refused']}"}}
    choices = []
    for number in range(1 if PLAN["ignores_n"] else body.get("n", 1)):
        text = write(prompt, number if body.get("temperature") else 0)
        if PLAN["thoughts"]:
            text = re.split("|".join(body.get("stop", ["$"])), PLAN["thoughts"] + text)[0]
        elif "messages" in body and body.get("stop"):
            text = ""  # as a model that begins with what ends it
        elif "messages" in body:
            text = f"A: {text}"
        choices.append({"text": text, "message": {"content": text}})
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 9 * len(choices)}
    return 200, {"choices": choices, "usage": usage}


def begin(about: dict) -> dict:
    """Begin a batch."""
    plan = PLAN["batches"].pop(0) if PLAN["batches"] else {}
    lines = [json.loads(line) for line in FILES[about["input_file_id"]].splitlines()]
    assert all(line["url"] == about["endpoint"] for line in lines)
    LOG["batches"].append([line["custom_id"] for line in lines])
    ended = {"completed": [], "failed": []}
    for line in lines[: plan.get("answered")]:
        prompt = line["body"].get("prompt", "")
        status, body = reply(line["body"])
        for word, other in plan.get("statuses", {}).items():
            if word in prompt:
                status, body = other, {"error": {"message": f"found {word}"}}
        for word, reason in plan.get("reasons", {}).items():
            if word in prompt:
                body["choices"][0]["finish_reason"] = reason
        row = {"custom_id": line["custom_id"], "error": None}
        row["response"] = {"status_code": status, "body": body}
        ended["completed" if status == 200 else "failed"].append(row)
    for line in lines[len(ended["completed"]) + len(ended["failed"]) :]:
        late = {"code": "batch_expired", "message": "not executed in time"}
        ended["failed"].append({"custom_id": line["custom_id"], "response": None, "error": late})
    batch = {"id": f"batch_{next(NUMBERS)}", "object": "batch", **about, "errors": None}
    batch |= {"ends": time.monotonic() + plan.get("seconds", 0.0), "created_at": 0}
    batch |= {"end": plan.get("status", "completed"), "output_file_id": None}
    if "error" in plan:
        code, message = plan["error"]
        batch["errors"] = {"data": [{"code": code, "message": message, "line": None}]}
        LOG["batches"].pop()
    else:
        batch["errors"] = plan.get("errors")
        for kind, name in (("completed", "output_file_id"), ("failed", "error_file_id")):
            if "odd" in plan and ended[kind]:
                first = json.dumps(ended[kind].pop(0)["custom_id"])
                odd = json.dumps(plan["odd"]).replace('"ID"', first)
                ended[kind].append(json.loads(odd))
            content = "".join(json.dumps(row) + "\n" for row in ended[kind])
            FILES[file := f"file_{next(NUMBERS)}"] = content
            batch[name] = file if content else None
    BATCHES[batch["id"]] = batch
    return plan


def look(batch: dict) -> dict:
    """What the server says of a batch."""
    over = time.monotonic() >= batch["ends"]
    counts = {"completed": 0, "failed": 0, "total": 0}
    return batch | {"status": batch["end"] if over else "in_progress", "request_counts": counts}


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.partition("?")[0]
        *_, kind, name = path.rstrip("/").split("/")
        if path == "/log":
            return self.send(200, LOG)
        if path == "/end":
            for batch in BATCHES.values():
                batch["ends"] = 0.0
            return self.send(200, {})
        if PLAN["silent"] > 0:
            PLAN["silent"] -= 1
            return self.send(503, {})
        if path == "/v1/batches":
            return self.send(200, {"data": [*map(look, reversed(BATCHES.values()))]})
        if kind == "batches" and name in BATCHES:
            LOG["looks"] += 1
            return self.send(200, look(BATCHES[name]))
        if name == "content" and (file := path.split("/")[-2]) in FILES:
            return self.send(200, FILES[file])
        return self.send(404, {"error": {"message": f"no {path}"}})

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/plan":
            PLAN.update(json.loads(content))
            LOG.update(EMPTY | {"single": [], "batches": []})
            self.send(200, {})
        elif self.path == "/v1/files":
            about = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
            parts = email.message_from_bytes(about + content).get_payload()
            [file] = [part for part in parts if part.get_filename()]
            FILES[id := f"file_{next(NUMBERS)}"] = file.get_payload(decode=True).decode()
            LOG["uploads"] += 1
            made = {"id": id, "object": "file"}
            self.send(200, made if PLAN["upload"] is None else PLAN["upload"])
        elif self.path == "/v1/batches":
            stuck = PLAN["batches"][0].pop("stuck", "") if PLAN["batches"] else ""
            if stuck == "before":
                PLAN["batches"].pop(0)
            else:
                begin(json.loads(content))
            if stuck:
                LOG["stuck"] = True
                time.sleep(60)
            self.send(200, look(list(BATCHES.values())[-1]))
        else:
            LOG["single"].append(json.loads(content))
            self.send(*reply(json.loads(content)))

    def send(self, status: int, content: dict | str) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        self.send_response(status)
        kind = "octet-stream" if isinstance(content, str) else "json"
        self.send_header("Content-Type", f"application/{kind}")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        """Write nothing."""


class Server(ThreadingHTTPServer):
    """Takes requests in threads."""

    daemon_threads = True

    def handle_error(self, *_):
        """Write nothing of a client that was killed."""


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        sys.exit(server.serve_forever())
