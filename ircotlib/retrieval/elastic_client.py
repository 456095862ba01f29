"""A client of Elasticsearch: addresses, credentials from the environment, versions that fit, and
patience with a server that is away.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from ircotlib.urls import IN_CLEAR, may_have_key, read_urls

try:
    import elastic_transport
    import elasticsearch.helpers
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Elasticsearch's client is not installed: pip install -e '.[elasticsearch]'"
    ) from error

TIMEOUT = 60.0  # seconds one request may take
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0  # seconds between two requests to a server that is away
OLDEST = 8  # major version of the server
EXAMPLE = "http://host:9200 or https://host:9200"
CREDENTIALS = (
    "ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD, in the environment"
)
T = TypeVar("T")

# it would print a traceback for every attempt
logging.getLogger("elastic_transport").addHandler(logging.NullHandler())


class Away(Exception):
    """A server that does not answer, or answers that it cannot for now: worth asking again."""


@dataclass(frozen=True)
class Server:
    """A server that answered and fits the client, or a cluster of them; `connect` makes it.
    `lucene`: the version of its search library.
    """

    urls: tuple[str, ...]
    patience: float
    lucene: str
    client: elasticsearch.Elasticsearch = field(repr=False)

    def ask(self, call: Callable[[], T]) -> T:
        """What a call returns; made again while the server is away, for `patience` seconds with
        longer and longer pauses.

        Raises ConnectionError when the patience is over, PermissionError for refused credentials,
        ValueError for a refused request.
        """
        again = Retrying(
            retry=retry_if_exception_type(Away),
            wait=wait_exponential(FIRST_PAUSE, LONGEST_PAUSE),
            stop=stop_after_delay(self.patience),
            reraise=True,
        )
        try:
            return again(once, call)
        except Away as error:
            raise ConnectionError(
                f"no answer from Elasticsearch at {', '.join(self.urls)} "
                f"for {self.patience:.0f} s ({error}); start it again, then run the same "
                "again: it goes on from there"
            ) from error


def connect(url: str, patience: float = 60.0) -> Server:
    """Connect to a server, or to a cluster given as several addresses with commas between them.

    Credentials come from the environment only: ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and
    ELASTICSEARCH_PASSWORD; ELASTICSEARCH_CA is the file of the certificate to trust. Raises
    ConnectionError at once when no server answers, ValueError for an address that cannot be used, a
    server that is not Elasticsearch, or versions that do not fit.
    """
    urls = read_urls(url, EXAMPLE, CREDENTIALS, port=True)
    each_node_once = {
        "max_retries": len(urls) - 1,
        "retry_on_timeout": True,
        "request_timeout": TIMEOUT,
    }
    client = elasticsearch.Elasticsearch(
        list(urls), **each_node_once, **_credentials(os.environ, urls)
    )
    try:
        # no header that asks for a version
        found = once(lambda: client.perform_request("GET", "/", headers={"accept": "*/*"}))[
            "version"
        ]
    except Away as error:
        raise ConnectionError(
            f"no Elasticsearch answers at {', '.join(urls)} ({error}); "
            "start one (docker compose -f docker/compose-one.yml up -d), or correct the address"
        ) from error
    except elasticsearch.UnsupportedProductError as error:
        other = f"what answers there is not Elasticsearch ({error})"
        raise ValueError(f"{', '.join(urls)}: {other}; correct the address") from error
    check_version(found["number"], elasticsearch.__versionstr__)
    return Server(urls, patience, found.get("lucene_version", "unknown"), client)


def check_version(server: str, client: str) -> None:
    """Raise ValueError, naming what to install, unless the client's major version is the server's
    or one lower.
    """
    major = int(server.split(".")[0])
    if major < OLDEST:
        raise ValueError(
            f"found Elasticsearch {server}, expected {OLDEST} or later; use a newer server"
        )
    if int(client.split(".")[0]) not in (major, major - 1):
        raise ValueError(
            f"found Elasticsearch {server} and its Python client {client}, expected a client of "
            "the server's major version or one lower; "
            f"pip install 'elasticsearch>={major},<{major + 1}'"
        )


def once(call: Callable[[], T]) -> T:
    """What a call of the client returns, or its failure as one of Away, ConnectionError,
    PermissionError and ValueError.
    """
    try:
        return call()
    except elastic_transport.TlsError as error:
        advice = "set ELASTICSEARCH_CA to the file of the server's certificate"
        raise ConnectionError(f"no safe connection ({error.message}); {advice}") from error
    except (elastic_transport.ConnectionError, elastic_transport.ConnectionTimeout) as error:
        raise Away(error.message) from error
    except elasticsearch.UnsupportedProductError:
        raise
    except elasticsearch.ApiError as error:
        reason = f"status {error.meta.status}, {reason_of(error.body)}"
        if is_away(error.meta.status):
            raise Away(reason) from error
        if error.meta.status in (401, 403):
            raise PermissionError(f"Elasticsearch refused ({reason}); set {CREDENTIALS}") from error
        raise ValueError(f"Elasticsearch refused the request ({reason})") from error


def is_away(status: int) -> bool:
    """Whether an HTTP status says that the same request may be answered later: overload, or a
    failure of the server itself.
    """
    return status == 429 or status >= 500


def reason_of(body: object) -> str:
    """The innermost type and reason in the body of an error, in at most 500 characters."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return str(error)[:500]
    if failed := error.get("failed_shards"):
        error = failed[0]["reason"]
    while isinstance(error.get("caused_by"), Mapping):
        error = error["caused_by"]
    return f"{error.get('type')}: {error.get('reason')}"[:500]


def _credentials(environment: Mapping[str, str], urls: tuple[str, ...]) -> dict:
    """What the client is given of the environment; ValueError for half of it, both kinds, a
    certificate that cannot be used, or an address that they may not be sent to.
    """
    key, user, password, certificate = (
        environment.get(f"ELASTICSEARCH_{name}") for name in ("API_KEY", "USER", "PASSWORD", "CA")
    )
    if bool(user) != bool(password) or (key and password):
        found = "found half of the credentials of Elasticsearch, or two kinds of them"
        raise ValueError(f"{found}; set either {CREDENTIALS}")
    if certificate and not (
        Path(certificate).is_file() and all(url.startswith("https:") for url in urls)
    ):
        found = f"found ELASTICSEARCH_CA={certificate!r} for {', '.join(urls)}"
        raise ValueError(f"{found}, expected the file of a certificate, and https addresses")
    if (key or user) and (clear := [url for url in urls if not may_have_key(url)]):
        found = f"found credentials of Elasticsearch and the address {clear[0]}, which is not https"
        raise ValueError(f"{found}; use https, or set {IN_CLEAR}=1 to send them in clear text")
    given = {"api_key": key} if key else {"basic_auth": (user, password)} if user else {}
    return given | ({"ca_certs": certificate} if certificate else {})
