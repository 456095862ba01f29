"""A client of Elasticsearch: it reads addresses, takes credentials from the environment, checks
versions, and waits for a server that is unavailable.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
)

from ircotlib.errors import Unavailable
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.files.old import read_urls
from ircotlib.files.urls import IN_CLEAR, may_have_key, read_header

need("elasticsearch", "elasticsearch")
import elastic_transport
import elasticsearch.helpers

TIMEOUT = 60.0  # seconds one request may take
# seconds between two requests to an unavailable server
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
OLDEST = 8  # major version of the server
KINDS = "ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"
CREDENTIALS = f"{KINDS}, in the environment"
T = TypeVar("T")

# otherwise it prints a traceback for every attempt
logging.getLogger("elastic_transport").addHandler(logging.NullHandler())


class TryAgain(Exception):
    """The server does not answer, or cannot for now: it is worth asking again."""


AWAY = TryAgain, elasticsearch.UnsupportedProductError  # perhaps another node answers


@dataclass(frozen=True)
class Server:
    """A server, or a cluster, that answered and whose version fits; see `connect`."""

    urls: tuple[str, ...]
    patience: float
    lucene: str  # version of its search library
    client: elasticsearch.Elasticsearch = field(repr=False)

    def ask(self, call: Callable[[], T]) -> T:
        """As `once`, again and again while unavailable, for `patience` s; then Unavailable."""
        again = Retrying(
            retry=retry_if_exception_type(AWAY),
            wait=wait_exponential(FIRST_PAUSE, LONGEST_PAUSE),
            stop=stop_after_delay(self.patience),
            reraise=True,
        )
        try:
            return again(once, call)
        except AWAY as error:
            silent = f"{', '.join(self.urls)} for {self.patience:.0f} s ({error})"
            advice = "start it again, then run the same command again: it goes on from there"
            raise Unavailable(f"no answer from Elasticsearch at {silent}; {advice}") from error

    def get_mappings(self, name: str) -> dict[str, dict]:
        """What each index of this name or alias says of itself (_meta), by index; none: {}."""
        indices = self.client.options(ignore_status=404).indices
        response = self.ask(lambda: indices.get_mapping(index=name))
        if response.meta.status == 404:
            return {}
        return {index: made["mappings"].get("_meta", {}) for index, made in response.items()}


def connect(url: str, patience: float = 60.0) -> Server:
    """Connect to a server, or to a cluster given as several addresses with commas between them.

    Credentials come from the environment only: ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and
    ELASTICSEARCH_PASSWORD; ELASTICSEARCH_CA is the file of the certificate to trust. Raises
    Unavailable at once if no server answers, and ValueError for what cannot be used.
    """
    urls = read_urls(url, "http://host:9200 or https://host:9200", CREDENTIALS, port=True)
    options = {"retry_on_timeout": True, "request_timeout": TIMEOUT} | _credentials(urls)
    each_node_once = len(urls) - 1
    client = elasticsearch.Elasticsearch(list(urls), max_retries=each_node_once, **options)
    accept = {"accept": "*/*"}  # without the header that asks for a version
    greet = partial(client.perform_request, "GET", "/", headers=accept)
    each = Retrying(
        retry=retry_if_exception_type(AWAY), stop=stop_after_attempt(len(urls)), reraise=True
    )
    try:
        version = each(once, greet)["version"]
    except TryAgain as error:
        silent = f"no Elasticsearch answers at {', '.join(urls)} ({error})"
        advice = "start one (docker compose -f docker/compose-one.yml up -d)"
        raise Unavailable(f"{silent}; {advice}, or correct the address") from error
    except elasticsearch.UnsupportedProductError as error:
        other = f"the server there is not Elasticsearch ({error})"
        raise ValueError(f"{', '.join(urls)}: {other}; correct the address") from error
    check_version(version["number"], elasticsearch.__versionstr__)
    return Server(urls, patience, version.get("lucene_version", "unknown"), client)


def check_version(server: str, client: str) -> None:
    """Raise ValueError if the server is too old, or the client does not fit."""
    major = int(server.split(".")[0])
    installed = f"found Elasticsearch {server}"
    if major < OLDEST:
        raise ValueError(f"{installed}, expected {OLDEST} or later; use a newer server")
    if int(client.split(".")[0]) not in (major, major - 1):
        expected = "expected a client of the server's major version or one lower"
        fitting = f"pip install 'elasticsearch>={major},<{major + 1}'"
        raise ValueError(f"{installed} and its Python client {client}, {expected}; {fitting}")


def once(call: Callable[[], T]) -> T:
    """The result of one call of the client. Its errors become TryAgain, Unavailable (TLS),
    PermissionError or ValueError, except UnsupportedProductError, which is raised as it is.
    """
    try:
        return call()
    except elastic_transport.TlsError as error:
        advice = "set ELASTICSEARCH_CA to the file of the server's certificate"
        raise Unavailable(f"no secure connection ({one_line(error.message)}); {advice}") from None
    except (elastic_transport.ConnectionError, elastic_transport.ConnectionTimeout) as error:
        raise TryAgain(one_line(error.message)) from None
    except elastic_transport.SerializationError as error:
        raise TryAgain(f"an unreadable reply: {one_line(error.message)}") from None
    except elasticsearch.UnsupportedProductError:
        raise
    except elasticsearch.ApiError as error:
        reason = explain(error.meta.status, error.body)
        if error.meta.status in (401, 403):
            raise PermissionError(f"Elasticsearch refused ({reason}); set {CREDENTIALS}") from None
        raise ValueError(f"Elasticsearch refused the request ({reason})") from None


def explain(status: int, body: object) -> str:
    """The status and the reason of a failure. Raises TryAgain if it is temporary: overload, or a
    failure of the server itself.
    """
    reason = f"status {status}, {reason_of(body)}"
    if status == 429 or status >= 500:
        raise TryAgain(reason)
    return reason


def reason_of(body: object) -> str:
    """The innermost type and reason in the body of an error, in at most 500 characters."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return one_line(error, 500)
    if failed := error.get("failed_shards"):
        error = failed[0]["reason"]
    while isinstance(error.get("caused_by"), Mapping):
        error = error["caused_by"]
    return one_line(f"{error.get('type')}: {error.get('reason')}", 500)


def _credentials(urls: tuple[str, ...]) -> dict:
    key = read_header("ELASTICSEARCH_API_KEY")
    names = ("USER", "PASSWORD", "CA")
    user, password, certificate = (os.environ.get(f"ELASTICSEARCH_{name}") for name in names)
    if bool(user) != bool(password) or (key and password):
        half = "found half of Elasticsearch's credentials, or two kinds of them"
        raise ValueError(f"{half}; set either {CREDENTIALS}")
    secure = all(url.startswith("https:") for url in urls)
    if certificate and not (secure and Path(certificate).is_file()):
        given = f"found ELASTICSEARCH_CA={certificate!r} for {', '.join(urls)}"
        raise ValueError(f"{given}, expected the file of a certificate and https addresses")
    if (key or user) and (clear := [url for url in urls if not may_have_key(url)]):
        given = f"found credentials of Elasticsearch and the address {clear[0]}, which is not https"
        raise ValueError(f"{given}; use https, or set {IN_CLEAR}=1 to send them in clear text")
    options = {"api_key": key} if key else {"basic_auth": (user, password)} if user else {}
    return options | ({"ca_certs": certificate} if certificate else {})
