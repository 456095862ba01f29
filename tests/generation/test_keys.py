"""Headers, proxies and certificates of the environment: used or refused, and keys never shown."""

import traceback
from itertools import product

import pytest
from asking import ask, ask_one
from serving import status

openai = pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.experiment.checks import check_places

from ircotlib.errors import UserError
from ircotlib.files.checksums import one_line
from ircotlib.generation.server import ServerModel
from ircotlib.generation.server.attempts import Patience
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate

HEADERS = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
FAR = "http://example.org/v1"


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in (*HEADERS, "SSL_CERT_FILE", "SSL_CERT_DIR", "IRCOT_KEYS_IN_CLEAR"):
        monkeypatch.delenv(name, raising=False)


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, in_flight=1, patience=Patience(5, 2, 0.01), **options)


@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", "  {}\t", "\n{}"])
def test_white_space_around_a_header_is_no_part_of_it(fake, monkeypatch, around):
    for name in HEADERS[:3]:
        monkeypatch.setenv(name, around.format(f"sk-{name}"))
    ask(model(fake), [Generate("red")])
    headers = fake.log[0][0].headers
    assert headers["Authorization"] == "Bearer sk-OPENAI_API_KEY"
    assert headers["OpenAI-Organization"] == "sk-OPENAI_ORG_ID"
    assert headers["OpenAI-Project"] == "sk-OPENAI_PROJECT_ID"


def test_a_key_of_white_space_is_none(fake, monkeypatch):
    for name in HEADERS:
        monkeypatch.setenv(name, " \n")
    ask(model(fake), [Generate("red")])
    headers = fake.log[0][0].headers
    assert headers["Authorization"] == "Bearer none" and "OpenAI-Project" not in headers


NO_HEADER = ["“sk-SECRET123”", "sk-SECRET123é", "sk-SECRET123\x7f", "sk-\x1bSECRET123"]
NO_HEADER += ["sk-SECRET123\udc80"]  # a byte that is no UTF-8
NO_KEY = [*NO_HEADER, "sk-SECRET123\nsk-OTHER456", "Bearer sk-SECRET123"]
ILLEGAL = [*product(HEADERS[:3], NO_KEY)]
ILLEGAL += [(HEADERS[3], f"X-Title: mine\nX-Key: {value}") for value in NO_HEADER]
ILLEGAL += [(HEADERS[3], "X Key: SECRET"), (HEADERS[3], ": SECRET")]


@pytest.mark.parametrize(("name", "value"), ILLEGAL, ids=ascii)
def test_what_is_no_header_is_refused_before_any_work_and_not_shown(
    fake, monkeypatch, name, value, capsys
):
    monkeypatch.setenv(name, value)
    p = read_parameters("mini", {"model": "x", "server": fake.url})
    for refuse in (lambda: check_places(p, ()), lambda: ask(model(fake), [Generate("red")])):
        with pytest.raises(UserError, match=f"^{name}: found") as error:
            refuse()
        shown = "".join(traceback.format_exception(error.value)) + capsys.readouterr().err
        assert "SECRET" not in shown and "\n" not in str(error.value) and not fake.asked


@pytest.mark.parametrize("said", ["Incorrect API key: {}", "b'Bearer {}\\n'", '{{"key": "{}"}}'])
def test_a_key_that_a_server_or_the_client_repeats_is_not_shown(fake, monkeypatch, said):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET123")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Title: mine\nX-Key: Basic SECRET456")
    for key in ("sk-SECRET123", "SECRET456"):
        for number in (400, 401, 500):
            fake.faults = {"all": [status(number, said.format(key))] * 2}
            try:
                shown = repr(ask_one(model(fake), Generate("red")))
            except Exception as error:
                shown = "".join(traceback.format_exception(error))
            assert "SECRET" not in shown and "…" in shown

    def fail(client):
        raise UnicodeEncodeError("ascii", said.format("sk-SECRET123"), 0, 1, "no")

    with pytest.raises(ValueError, match="the client failed") as caught:
        model(fake).endpoints.all[0].call(fail)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


NAMES = ["HF_TOKEN", "ELASTICSEARCH_PASSWORD", "ELASTICSEARCH_API_KEY", "AZURE_OPENAI_KEY"]


@pytest.mark.parametrize("name", NAMES)
def test_other_keys_are_hidden_too_and_words_are_not(monkeypatch, name):
    monkeypatch.setenv(name, "hf_SECRET \n")
    said = "401: hf_SECRET for http://user:pass@host/x was\x1b[1m refused"
    assert one_line(ValueError(said)) == "401: … for http://…@host/x was [1m refused"
    monkeypatch.setenv(name, "word")
    assert one_line("a word, two words, word") == "a …, two words, …"
    monkeypatch.setenv(name, "x")  # no secret
    assert one_line("x") == "x"


@pytest.mark.parametrize("in_clear", [False, True])
def test_no_header_of_the_environment_goes_in_clear_to_another_machine(monkeypatch, in_clear):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Key: one\nauthorization: Basic two")
    for name in HEADERS[:3]:
        monkeypatch.setenv(name, "three")
    monkeypatch.setenv("IRCOT_KEYS_IN_CLEAR", "1" if in_clear else "0")
    client = ServerModel("m", FAR).endpoints.all[0].client
    request = client._build_request(openai._models.FinalRequestOptions(method="post", url="/x"))
    sent = {value for value in request.headers.values() if value.split()[-1:] != ["none"]}
    assert (sent & {"one", "Basic two", "three"} != set()) == in_clear


BAD = [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("SSL_CERT_FILE", __file__), ("SSL_CERT_DIR", "/no")]
BAD += [("SSLKEYLOGFILE", "/nowhere/keys"), ("HTTP_PROXY", "http://127.0.0.1:abc")]
BAD += [("https_proxy", "http://u:geheim@[::1"), ("ALL_PROXY", "ftp://u:geheim@h:1")]
BAD += [("http_proxy", "u:geheim@127.0.0.1:1x"), ("HTTPS_PROXY", "://x")]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_proxy_or_certificate_that_cannot_be_used_is_named(fake, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    p = read_parameters("mini", {"model": "x", "server": "https://example.org"})
    shown = value.rpartition("@")[2]
    for refuse in (lambda: check_places(p, ()), lambda: ServerModel("m", p.server).endpoints):
        with pytest.raises(UserError, match=f"^{name}: found .*correct or unset it") as error:
            refuse()
        assert shown in str(error.value)
        assert "geheim" not in "".join(traceback.format_exception(error.value))
    ask(model(fake), [Generate("red")])  # not used for this machine
