"""The client of one address, with what the environment says: keys, proxies and certificates."""

import os
import re
import ssl
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.files.urls import is_here, may_have_key, read_header
from ircotlib.generation.server.refusals import KEY, Unreadable

IDS = {"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"}  # attributes of the client
MORE = "OPENAI_CUSTOM_HEADERS"  # lines "name: value", which the client reads by itself
NAME, VALUE = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII), re.compile("[ -~]*")  # of a header


def check_environment(urls: Iterable[str]) -> None:
    """Raise UserError for a variable of the environment that no request to these addresses can be
    sent with: a header, whose value is not shown, a proxy or a certificate.
    """
    for name in (KEY, *IDS.values()):
        read_header(name)
    _read_more()
    if all(map(is_here, urls)):
        return  # without proxies and certificates
    import httpx2

    checks = {"SSLKEYLOGFILE": lambda path: Path(path).open("a").close()}  # read by the next, too
    checks["SSL_CERT_FILE"] = lambda path: ssl.create_default_context(cafile=path)
    checks["SSL_CERT_DIR"] = lambda paths: [*map(os.listdir, paths.split(os.pathsep))]
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        checks[name] = checks[name.upper()] = lambda url: httpx2.HTTPTransport(
            proxy=url if "://" in url else f"http://{url}", verify=False, trust_env=False
        )
    for name, check in checks.items():
        if value := os.environ.get(name):
            try:
                check(value)
            except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
                shown = f"…@{value.rpartition('@')[2]}" if "@" in value else value
                reason = f"{name}: found {one_line(shown)!r} in the environment, which cannot be"
                raise UserError(f"{reason} used ({one_line(error)}); correct or unset it") from None


def open_client(url: str, timeout: float):
    """The client of openai for an address. Headers of the environment are sent only where
    may_have_key allows it. Raises UserError as check_environment, and Unavailable without openai.
    """
    need("openai", "server")
    import openai

    check_environment([url])
    allowed = may_have_key(url)
    # a proxy must not see requests to this machine
    http = openai.DefaultHttpxClient(
        follow_redirects=False,
        trust_env=not is_here(url),
        event_hooks={"response": [_refuse_stream, partial(_limit_time, seconds=timeout)]},
    )
    key = (allowed and read_header(KEY)) or "none"
    unsent = dict.fromkeys(_read_more(), openai.Omit()) | {"Authorization": f"Bearer {key}"}
    options = {"max_retries": 0, "timeout": timeout, "default_headers": {} if allowed else unsent}
    client = openai.OpenAI(base_url=url, api_key=key, http_client=http, **options)
    for attribute, name in IDS.items():
        setattr(client, attribute, (allowed and read_header(name)) or None)
    return client


def _read_more() -> list[str]:
    """The names of the headers in MORE. Raises UserError, without a value, for one that is none."""
    lines = [line.partition(":") for line in os.environ.get(MORE, "").split("\n") if ":" in line]
    for number, (name, _, value) in enumerate(lines, start=1):
        if not NAME.fullmatch(name.strip()) or not VALUE.fullmatch(value.strip()):
            expected = "expected lines of NAME: VALUE in visible ASCII characters; correct it"
            raise UserError(f"{MORE}: found no header in line {number} of them, {expected}")
    return [name.strip() for name, *_ in lines]


def _refuse_stream(response) -> None:
    """Raise Unreadable for a stream of events, which was not asked for and may never end."""
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):
        raise Unreadable(f"found a stream ({kind}), expected a JSON object; correct server")


def _limit_time(response, seconds: float) -> None:
    """Raise ReadTimeout if a body takes longer: the client limits each read, not all together, and
    would read for ever what comes byte by byte.
    """
    import httpx2

    class Limited(httpx2.SyncByteStream):
        def __iter__(self):
            end = time.monotonic() + seconds
            for piece in body:
                yield piece
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout(f"no end in {seconds:g} s", request=response.request)

        def close(self):
            body.close()

    body, response.stream = response.stream, Limited()
