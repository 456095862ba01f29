"""What is asked of a server about batch files, and read from its replies: of OpenAI's `/v1/files`
and `/v1/batches`, in which nothing is taken to be as the protocol has it.
"""

import json
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import quote

from ircotlib.files.checksums import one_line
from ircotlib.generation.server import protocol, refusals
from ircotlib.generation.server.endpoint import Endpoint
from ircotlib.generation.server.protocol import Sending, ServerReply, read_content, read_object
from ircotlib.generation.server.refusals import NotServed, TemporaryFailure, read_words

ENDED = ("completed", "failed", "expired", "cancelled")  # states of a batch
UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling", "queued", "pending")


def upload(address: Endpoint, name: str, content: bytes) -> str:
    """Upload a file; return the server's name of it. Raises NotServed for a reply without one:
    sent again, it would be there twice.
    """
    file = {"file": (f"{name}.jsonl", content), "purpose": "batch"}
    text = address.call(lambda client: client.files.with_raw_response.create(**file))
    return _read_id(text) or _refuse(address, text, "file")


def begin(address: Endpoint, name: str, file: str, path: str) -> str:
    """Begin a batch under a name of ours, unless an attempt whose reply was lost did; return the
    server's name of it. Raises NotServed if nothing shows that it began.
    """
    if begun := look_for(address, name):
        return begun
    how = {"completion_window": "24h", "metadata": {"ircotlib": name}}
    how |= {"input_file_id": file, "endpoint": path}
    text = address.call(lambda client: client.batches.with_raw_response.create(**how))
    return _read_id(text) or look_for(address, name) or _refuse(address, text, "batch")


def look_for(address: Endpoint, name: str) -> str:
    """The server's name of the batch under a name of ours among the newest; "" if there is none."""
    batches = address.read(address.get("/batches?limit=100")).get("data", "")
    if not isinstance(batches, list | None):
        odd = f"found {one_line(batches, 80)!r}, expected a list of batches"
        raise TemporaryFailure(f"{address.url}: {odd}; correct server")
    for batch in batches or ():
        if protocol.as_object(protocol.as_object(batch).get("metadata")).get("ircotlib") == name:
            return str(batch.get("id") or "")
    return ""


def look_at(address: Endpoint, batch: str) -> dict:
    """A batch as it is now, its status in small letters. Raises TemporaryFailure for a status that
    the protocol does not have: it may pass.
    """
    found = address.read(address.get(f"/batches/{quote(batch, safe='')}"))
    status = str(found.get("status")).lower()
    if status not in ENDED + UNDER_WAY:
        odd = f"found the status {one_line(status, 40)!r} of batch {batch}"
        raise TemporaryFailure(f"{address.url}: {odd}, expected {', '.join(ENDED)}")
    return found | {"status": status}


def tell_end(batch: Mapping) -> tuple[str, bool]:
    """How a batch ended, in words, and whether it failed because of a limit of the server."""
    words, codes, _ = read_words(batch.get("errors"))
    told = f"{batch['status']}; {one_line(words)}" if words else batch["status"]
    return told, any("limit" in code for code in codes)


def read_replies(
    address: Endpoint, batch: Mapping, requests: Mapping[str, Sending]
) -> dict[str, ServerReply | Exception]:
    """The replies in the files of a batch, or the errors in their place, by the ids of requests."""
    replies = {}
    for name in filter(None, map(batch.get, ("output_file_id", "error_file_id"))):
        text = address.get(f"/files/{quote(str(name), safe='')}/content")
        rows = [*filter(None, map(read_object, text.split("\n")))]
        if text.strip() and not rows:
            odd = f"found {one_line(text, 80)!r}, expected lines of JSON"
            raise TemporaryFailure(f"{address.url}: {odd}; correct server")
        for row in rows:
            id = row.get("custom_id")
            if (
                isinstance(id, str)
                and id in requests
                and not isinstance(replies.get(id), ServerReply)
            ):
                replies[id] = _read_row(address.url, row, requests[id])
    return replies


def _read_row(url: str, row: Mapping, asked: Sending) -> ServerReply | Exception:
    response = protocol.as_object(row.get("response"))
    status, body = protocol.as_count(response.get("status_code")) or 0, response.get("body")
    if status >= 300 or (status >= 200 and isinstance(body, dict) and refusals.is_refusal(body)):
        return refusals.read_refusal(url, status, body, asked.body)
    if status >= 200 and isinstance(body, dict):
        reply = read_content(body)
        passing = (fault for fault in reply.faults if isinstance(fault, TemporaryFailure))
        return reply if reply.texts else next(passing, reply)
    words, *_ = read_words(row.get("error"))
    return TemporaryFailure(f"{url}: {one_line(words or json.dumps(row))}")


def _read_id(text: str) -> str:
    """The name of what a server made, "" if its reply has none."""
    name = (read_object(text) or {}).get("id")
    return name if isinstance(name, str) else ""


def _refuse(address: Endpoint, text: str, made: str) -> NoReturn:
    found = f"found {one_line(text, 80)!r} in reply to a {made}, expected the {made}'s id"
    raise NotServed(f"{address.url}: {found}; correct server")
