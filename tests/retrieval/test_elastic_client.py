"""Connecting to Elasticsearch: addresses, versions, credentials, and servers that go away."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml
from asking import ask

from ircotlib.data import Paragraph
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import Unavailable
from ircotlib.files.paths import ROOT
from ircotlib.program import Retrieve
from ircotlib.retrieval.corpus import write_corpus

elasticsearch = pytest.importorskip("elasticsearch", reason="needs pip install -e '.[dev]'")

from ircotlib.retrieval import elastic_client
from ircotlib.retrieval.elastic import Elasticsearch
from ircotlib.retrieval.elastic_client import check_version, connect, reason_of
from ircotlib.retrieval.elastic_load import open_elasticsearch

SECRET = "dont-tell-4711"


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch):
    for name in ("API_KEY", "USER", "PASSWORD", "CA"):
        monkeypatch.delenv(f"ELASTICSEARCH_{name}", raising=False)


@pytest.fixture
def corpus(tmp_path):
    texts = [f"word{number % 7} word{number % 11} text" for number in range(200)]
    paragraphs = [Paragraph(f"p{number}", text[:5], text) for number, text in enumerate(texts)]
    return write_corpus(tmp_path / "corpus", paragraphs)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def answering(status: int, body: dict, **headers: str):
    """The address of a stand-in for other servers, and the headers of its requests."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(dict(self.headers))
            self.send_response(status)
            for name, value in ({"content-type": "application/json"} | headers).items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def version(number: str) -> dict:
    return {"version": {"number": number}}


ANY = {"accept": "*/*"}
PRODUCT = {"x_elastic_product": "Elasticsearch"}


def test_a_server_that_fits(elasticsearch_url):
    server = connect(f" {elasticsearch_url}/ ,{elasticsearch_url}")
    assert (server.urls, server.lucene) == ((elasticsearch_url,), "10.1.0")


def test_no_server_is_told_at_once():
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match=f"no Elasticsearch answers at {url} .*compose-one"):
        connect(url, patience=1000)


@pytest.mark.parametrize(
    "url", ["", "http://a:9200,,http://b:1", f"http://host:9200,http://me:{SECRET}@other:9200"]
)
def test_an_address_that_cannot_be_used_and_no_password_in_it_is_repeated(url):
    with pytest.raises(ValueError, match="http://host:9200|ELASTICSEARCH_API_KEY") as error:
        connect(url)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("server", "client", "message"),
    [
        ("7.17.9", "8.19.1", "found Elasticsearch 7.17.9, expected 8 or later"),
        ("8.19.0", "9.5.1", "pip install 'elasticsearch>=8,<9'"),
        ("9.0.4", "10.0.0", "9.0.4 and its Python client 10.0.0.*'elasticsearch>=9,<10'"),
        ("11.0.0", "9.5.1", "pip install 'elasticsearch>=11,<12'"),
    ],
)
def test_versions_that_do_not_fit(server, client, message):
    for fitting in (("8.19.0", "8.19.1"), ("9.0.4", "8.19.1"), ("10.0.0", "9.5.1")):
        check_version(*fitting)
    with pytest.raises(ValueError, match=message):
        check_version(server, client)


def test_versions_and_products_are_compared_when_connecting():
    with answering(200, version("7.17.9"), **PRODUCT) as (url, _):
        with pytest.raises(ValueError, match=r"found Elasticsearch 7\.17\.9"):
            connect(url)
    with answering(200, version("9.0.4"), x_elastic_product="Opensearch") as (url, _):
        with pytest.raises(ValueError, match=f"{url}: the server there is not Elasticsearch"):
            connect(url)


PAGE = {"content_type": "text/html"}
STATUSES = [(200, PAGE), (500, PRODUCT), (503, PRODUCT), (200, {"content_type": "x/y"})]


@pytest.mark.parametrize(("status", "headers"), STATUSES)
def test_a_node_that_fails_in_any_way_costs_no_request(status, headers):
    good, bad = answering(200, version("9.1.0"), **PRODUCT), answering(status, {"no": 1}, **headers)
    with good as (url, asked), bad as (other, seen):
        server = connect(f"{other},{url}", patience=5)
        for _ in range(4):
            reply = server.ask(lambda: server.client.perform_request("GET", "/", headers=ANY))
            assert reply["version"]["number"] == "9.1.0"
        assert len(asked) == 5 and len(seen) <= 5


def test_credentials_are_sent_from_the_environment(monkeypatch):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", SECRET)
    with answering(200, version("9.0.4"), **PRODUCT) as (url, seen):
        connect(url)
        monkeypatch.delenv("ELASTICSEARCH_API_KEY")
        monkeypatch.setenv("ELASTICSEARCH_USER", "me")
        monkeypatch.setenv("ELASTICSEARCH_PASSWORD", SECRET)
        connect(url)
    basic = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert [headers["authorization"] for headers in seen] == [f"ApiKey {SECRET}", f"Basic {basic}"]


@pytest.mark.parametrize("given", [("USER",), ("PASSWORD",), ("USER", "PASSWORD", "API_KEY")])
def test_half_or_two_kinds_of_credentials_are_an_error(given, monkeypatch):
    for name in given:
        monkeypatch.setenv(f"ELASTICSEARCH_{name}", SECRET)
    with pytest.raises(ValueError, match="half of .* or two kinds") as error:
        connect("http://127.0.0.1:9200")
    assert SECRET not in str(error.value)


def test_refused_credentials(monkeypatch):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", SECRET)
    refused = {"error": {"type": "security_exception", "reason": "who are you"}}
    with answering(401, refused, **PRODUCT) as (url, _):
        with pytest.raises(PermissionError, match="who are you.*ELASTICSEARCH_API_KEY") as error:
            connect(url)
    assert SECRET not in str(error.value) + repr(error.value.__cause__)


def test_certificates(elasticsearch_url, monkeypatch, tmp_path):
    safe, file = elasticsearch_url.replace("http:", "https:"), tmp_path / "missing.crt"
    with pytest.raises(Unavailable, match="no secure connection .*set ELASTICSEARCH_CA"):
        connect(safe)
    monkeypatch.setenv("ELASTICSEARCH_CA", str(file))
    with pytest.raises(ValueError, match=r"missing\.crt' for https.*expected the file"):
        connect(safe)
    file.write_text("no certificate")
    with pytest.raises(ValueError, match="for http:.*expected .* https addresses"):
        connect(elasticsearch_url)


@pytest.mark.parametrize("given", [("API_KEY",), ("USER", "PASSWORD")])
def test_credentials_are_not_sent_in_clear_text_to_another_machine(given, monkeypatch):
    for name in given:
        monkeypatch.setenv(f"ELASTICSEARCH_{name}", SECRET)
    looked_up = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **_: looked_up.append(names) or [])
    for url in ("http://example.org:9200", "http://127.0.0.1:1,http://10.0.0.5:9200"):
        with pytest.raises(ValueError, match="which is not https; use https, or set IRCOT_KEYS_"):
            connect(url)
    assert not looked_up, "not even a connection"


def test_a_redirection_gets_no_credentials(monkeypatch):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", SECRET)
    with answering(200, version("9.0.4"), **PRODUCT) as (elsewhere, seen):
        with answering(302, {}, location=f"{elsewhere}/") as (url, _):
            with pytest.raises((ValueError, Unavailable)):
                connect(url)
    assert not seen


def programs() -> dict:
    def program(number: int):
        for step in range(3):
            yield Retrieve(f"word{number} word{number + step} text{number}", 5)

    return {f"q{number}": program(number) for number in range(5)}


def test_credentials_are_not_kept_or_shown(elasticsearch_url, corpus, tmp_path, monkeypatch):
    plain = open_elasticsearch(corpus, elasticsearch_url, "secrets").fingerprint
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", SECRET)
    backend = open_elasticsearch(corpus, elasticsearch_url, "secrets")
    with Calls(tmp_path / "calls.sqlite") as calls:
        outcomes, counts = run(programs(), [backend], calls)
    assert backend.fingerprint == plain and len(outcomes) == 5
    index = backend._server.client.indices.get(index="secrets").body
    shown = [backend, vars(backend), outcomes, counts, backend._server, index]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in "".join(map(repr, shown)) and len(kept) > 10_000
    assert SECRET.encode() not in kept and elasticsearch_url.encode() not in kept


def test_the_innermost_reason_is_told():
    inner = {"type": "outer", "reason": "x", "caused_by": {"type": "in", "reason": "y"}}
    failed = {"type": "phase", "reason": "shards", "failed_shards": [{"reason": inner}]}
    assert reason_of({"error": failed}) == "in: y"
    assert reason_of({"error": "plain"}) == "plain" and reason_of(None) == "None"


def test_a_server_that_hangs_or_dies_is_waited_for(start_node, corpus, tmp_path, monkeypatch):
    port, home = free_port(), tmp_path / "node"
    node = start_node(port, home)
    backend = open_elasticsearch(corpus, node.url, "away")
    requests = [Retrieve(f"word{number}", 5) for number in range(11)]
    before = ask(backend, requests)

    monkeypatch.setattr(elastic_client, "TIMEOUT", 1)
    monkeypatch.setattr(elastic_client, "LONGEST_PAUSE", 1)
    hasty = Elasticsearch(corpus, node.url, "away", patience=2)
    os.killpg(node.process.pid, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="for 2 s .*timed out"):
        ask(hasty, requests)
    os.killpg(node.process.pid, signal.SIGCONT)
    assert ask(backend, requests) == before

    node.kill()
    with Calls(tmp_path / "calls.sqlite") as calls:
        with pytest.raises(RuntimeError, match="question 'q0' .*Elasticsearch failed") as error:
            run(programs(), [hasty], calls)
    assert isinstance(error.value.__cause__, Unavailable)

    nodes = []
    starting = threading.Thread(target=lambda: nodes.append(start_node(port, home)))
    starting.start()
    assert ask(backend, requests) == before
    starting.join()
    backend._server.client.indices.delete(index=backend._index)
    with pytest.raises(ValueError, match="refused the .*index_not_found"):
        ask(backend, requests)
    nodes[0].kill()


def test_without_the_client_the_rest_works_and_the_error_says_what_to_install():
    code = "import sys; sys.modules['elasticsearch'] = None; import ircotlib.experiment.runs; "
    code += "import ircotlib.retrieval.elastic_load"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 1 and "experiment.py" not in ended.stderr
    assert 'pip install "ircotlib[elasticsearch]"' in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(("name", "count"), [("one", 1), ("three", 3)])
def test_composed_servers_listen_on_loopback_only(name, count):
    composed = yaml.safe_load((ROOT / "docker" / f"compose-{name}.yml").read_text())
    nodes = composed["services"].values()
    ports = [port.split(":")[0::2] for node in nodes for port in node["ports"]]
    assert ports == [["127.0.0.1", "9200"]] * count
    assert len({node["image"] for node in nodes}) == 1
