"""Keys are not sent in clear text to another machine, unless asked for."""

import pytest

from ircotlib.errors import UserError
from ircotlib.keys import is_here, may_have_key, read_key
from ircotlib.models.server import ServerModel

# fmt: off
HERE = [
    "http://localhost:9200", "http://127.0.0.1", "http://127.8.9.1:1/v1",
    "http://[::1]:80",
]
BEYOND = [
    "http://host:9200", "http://10.0.0.5", "http://0.0.0.0:1", "http://[fe80::1]:80",
    "http://localhost.example.org", "http://127.0.0.1.example.org:9200",
    "http://127.0.0.1evil",
]
# fmt: on


def test_a_key_goes_to_this_machine_and_beyond_only_encrypted(monkeypatch):
    monkeypatch.delenv("IRCOT_KEYS_IN_CLEAR", raising=False)
    assert all(is_here(url) and may_have_key(url) for url in HERE)
    for url in BEYOND:
        assert not is_here(url) and not may_have_key(url)
        assert may_have_key(url.replace("http:", "https:"))
        monkeypatch.setenv("IRCOT_KEYS_IN_CLEAR", "1")
        assert may_have_key(url)
        monkeypatch.setenv("IRCOT_KEYS_IN_CLEAR", "no")
        assert not may_have_key(url)


def test_a_key_has_no_spaces_around_it(monkeypatch):
    monkeypatch.setenv("MY_KEY", " a-key \n")
    assert (read_key("MY_KEY"), read_key("NO_KEY")) == ("a-key", "")


@pytest.mark.parametrize("text", ["tell\nme", "tell\udc80me"])
def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch, text):
    monkeypatch.setenv("MY_KEY", text)
    with pytest.raises(
        UserError, match="^MY_KEY: the key is not all visible ASCII characters$"
    ) as error:
        read_key("MY_KEY")
    assert "tell" not in str(error.value) and "\n" not in str(error.value)


WRONG = [
    "127.0.0.1:8000",
    "http://u:pass@host",
    "http://a:b",
    "http://[::1",
    "http:///v1",
]


@pytest.mark.parametrize("url", WRONG)
def test_an_invalid_address_is_refused(url):
    expected = "not a valid address, expected one like http"
    with pytest.raises(UserError, match=expected) as error:
        ServerModel("m", url)
    assert "pass@" not in str(error.value)
    assert ServerModel("m", "http://a/ ").url == "http://a/v1"
    assert ServerModel("m", "http://a/x").url == "http://a/x"
