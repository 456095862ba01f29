"""What servers say in place of a reply, in the words and codes of many programs, and what it means:
the request must change, it may be sent again, or no request will be answered.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ircotlib.files.checksums import one_line
from ircotlib.files.urls import IN_CLEAR, may_have_key

KEY = "OPENAI_API_KEY"  # where the key is, in the environment
LONGEST = 300  # letters of a server's words that are shown
DEPTH = 8  # of the words in a body

# where words and codes are; nothing else is read, because it may repeat the prompt
WORDS = ("error", "errors", "data", "message", "msg", "detail", "error_description", "reason")
WORDS += ("metadata", "raw")  # of a provider behind a provider
CODES = ("code", "type", "status", "error_type", "error_code")
SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n")

# the optional fields of a request, as protocols name them, in small letters
FIELDS = {
    "max_tokens": r"max_(?:new_)?tokens|maxoutputtokens",
    "temperature": r"temperature",
    "stop": r"stop(?:[ _-]?(?:sequence|word|string|token)s?)?",
    "n": r"n|best_of|candidate_?count|num_return_sequences",
    "logprobs": r"(?:top_|response_?)?logprobs|log[ -]?prob(?:abilitie)?s",
}
UNSUPPORTED = re.compile(
    r"unsupported|n(?:o|')t \w* ?support|unknown|unrecogni[sz]ed|unexpected|disabled|not accept"
    r"|not (?:be )?(?:permitted|allowed|available|enabled|accepted|implemented)|extra (?:in|field)"
)
VALUE = re.compile(  # of stop, n and logprobs, which the reply does without
    r"must|should|cannot|invalid|exceed|at most|up to|more than|between|maximum|limit|only"
    r"|too (?:many|l)|white ?space|blank|empty"
)
TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|max_(?:model|seq|input)_len|model length|kv size"
    r"|(?:is|are|prompt|input|text|string|request|entity) too (?:long|large|big)|payload size"
    r"|above_max_length|too many (?:\w+ )?tokens|reduce the length"
    r"|reduce (?:the|your) (?:prompt|input|message)"
)
COUNT = re.compile(r"(?<!_)\b(?:tokens?\b|(?:prompt|input|inputs|sequence|total) length)")
COMPARED = re.compile(r"exceed|(?:long|great|larg)er than|less than|at most|max|limit|only|[<>]")
WRITTEN = re.compile(r"max_\w*tokens|(?:completion|output|new) tokens|array|list\b")
READ = re.compile(r"prompt|input|context|message|total")
ACCOUNT = re.compile(
    r"insufficient_(?:quota|balance|credits)|billing_|invalid_api_key"
    r"|(?:invalid|incorrect) api key|api key (?:is )?(?:not |in)valid"
)
BUSY = (408, 409, 425, 429)
STATUS = {  # of an error that came with status 200 and without a number
    r"not_?found": 404,
    r"auth|permission|credential|api_key": 401,
    r"rate_?limit|exhausted|too_?many": 429,
    r"overload|unavailable": 503,
    r"invalid|bad_?request|validation|unsupported|context": 400,
}


class AccessRefused(PermissionError):
    """The key or the account may not use the server: no request will succeed."""


class NotServed(LookupError):
    """The server has no such model, or is none of this protocol: no request will succeed."""


class OneFailed(RuntimeError):
    """All addresses failed with this request, perhaps only with this one."""


class Unreadable(ValueError):
    """A reply that is not as the protocol has it: the fault of the address, not of the request."""


class RequestRefused(ValueError):
    """A request that the server does not accept. `too_long`: it says that the prompt is; `field`:
    the optional field of the request that it does not accept.
    """

    def __init__(self, reason: str, too_long: bool = False, field: str | None = None):
        super().__init__(reason)
        self.too_long, self.field = too_long, field


class TemporaryFailure(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `busy`:
    it says that it cannot answer now; `alone`: perhaps only this request fails; `billed`: it may
    have written a text, and charge for it.
    """

    def __init__(self, reason: str, wait=0.0, busy=False, alone=False, billed=False):
        super().__init__(reason)
        self.wait, self.busy, self.alone, self.billed = wait, busy, alone, billed


def is_refusal(content: Mapping) -> bool:
    """Whether an object that came with status 200 says that something failed."""
    failed = content.get("error") or content.get("detail") or content.get("object") == "error"
    return bool(failed and not content.get("choices"))


def read_words(content: object) -> tuple[str, list[str], list[str]]:
    """The words in the body of a refusal, which is a text or JSON that was read, its codes, and the
    fields that it names.
    """
    found = {"words": {}, "code": {}, "field": {}}
    for kind, text in _find(content, DEPTH):
        found[kind][text] = True
    return "; ".join(found["words"]), [*found["code"]], [*found["field"]]


def read_refusal(
    url: str, status: int, content: object, sent: Collection[str] = (), wait: float = 0.0
) -> Exception:
    """The error that a refusal means. `content`: as of read_words; `sent`: the fields of the
    request; `wait`: the seconds that the server asks to wait.
    """
    words, codes, named = read_words(content)
    status = status if status >= 300 else _read_status(codes)
    whole = content if isinstance(content, str) else json.dumps(content)
    reason = f"{url}: status {status}, {one_line(words or whole, LONGEST) or 'without a word'}"
    if field := _find_field(status, words, codes, named, sent):
        return RequestRefused(reason, field=field)
    said = f"{words}\n{' '.join(codes)}".lower()
    if _is_too_long(status, said):
        return RequestRefused(reason, too_long=True)
    if status in (401, 402, 403) or ACCOUNT.search(said):
        unsent = f"not https, so {KEY} was not sent; to send it in clear text, set {IN_CLEAR}=1"
        withheld = os.environ.get(KEY) and not may_have_key(url)
        return AccessRefused(f"{reason}; {unsent if withheld else f'see {KEY}'}")
    if status in (404, 405) or status < 400:
        return NotServed(f"{reason}; correct model, server or chat")
    if status in BUSY or status >= 500:  # the same request may be answered later
        alone = status in (500, 502)
        return TemporaryFailure(reason, wait, busy=not alone, alone=alone)
    return RequestRefused(reason)


def _find(content: object, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the words, codes and names of fields in a refusal, each with its kind."""
    if isinstance(content, str) and content.lstrip()[:1] in ("{", "["):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            pass
    if isinstance(content, str) and content.strip():
        yield "words", content.strip()
    elif isinstance(content, list) and depth:
        for part in content:
            yield from _find(part, depth - 1)
    elif isinstance(content, dict) and depth:
        place = content.get("loc")  # of FastAPI, as ["body", "stop"]
        place = ".".join(map(str, place)) if isinstance(place, list) else ""
        for part in map(content.get, WORDS):
            for kind, text in _find(part, depth - 1):
                yield kind, f"{place}: {text}" if place and kind == "words" else text
        for part in map(content.get, CODES):
            if isinstance(part, str | int):
                yield "code", str(part)
        for part in (content.get("param"), place):
            if isinstance(part, str) and part:
                yield "field", part


def _read_status(codes: Sequence[str]) -> int:
    """The status that the codes of an error mean: a number or a name among them; else 500."""
    numbers = [int(code) for code in codes if re.fullmatch("[345][0-9]{2}", code)]
    named = [status for name, status in STATUS.items() if re.search(name, " ".join(codes).lower())]
    return next(iter(numbers + named), 500)


def _find_field(
    status: int, words: str, codes: Sequence[str], named: Sequence[str], sent: Collection[str]
) -> str | None:
    """The optional field, among those sent, that a refusal is about."""
    if status in (401, 402, 404, 405, *BUSY) or (status >= 500 and status != 501):
        return None
    sentences = SENTENCE.split(words.lower())
    places = {place for name in named for place in re.split(r"\W+", name.lower())}
    for field in filter(sent.__contains__, FIELDS):
        names, needless = FIELDS[field], field in ("stop", "n", "logprobs")
        about = [text for text in sentences if re.search(rf"(?<![\w\\-])(?:{names})(?!\w)", text)]
        if any(re.fullmatch(names, place) for place in places):
            about = [*sentences, *codes, "invalid"]
        if about and status == 403:
            return field
        if any(UNSUPPORTED.search(text) or (needless and VALUE.search(text)) for text in about):
            return field
    return None


def _is_too_long(status: int, said: str) -> bool:
    """Whether a refusal says, in small letters, that the prompt has too many tokens."""
    if status in (401, 402, 403):
        return False
    if status in (*BUSY, 503, 504):
        return "request too large" in said  # larger than what may be read in a minute
    for text in SENTENCE.split(said):
        counted = COUNT.search(text) and COMPARED.search(text) and re.search(r"\d", text)
        if (counted or TOO_LONG.search(text)) and (READ.search(text) or not WRITTEN.search(text)):
            return True
    return status == 413 or bool(re.search(r"\d tokens\b.*\d tokens\b", said, re.DOTALL))
