"""Addresses, and where keys are sent: not in clear text to another machine, unless asked for."""

import pytest

from ircotlib.files.urls import is_here, may_have_key, read_urls

HERE = ["http://localhost:9200", "http://127.0.0.1", "http://127.8.9.1:1/v1", "http://[::1]:80"]
BEYOND = [
    "http://host:9200",
    "http://10.0.0.5",
    "http://0.0.0.0:1",
    "http://localhost.example.org",
    "http://127.0.0.1.example.org:9200",
    "http://127.0.0.1evil",
    "http://[fe80::1]:80",
]


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


def test_addresses_are_read_each_once():
    text = " http://a:1/ ,https://b/v1,http://a:1"
    assert read_urls(text, "x", "KEY") == ("http://a:1", "https://b/v1")


@pytest.mark.parametrize(
    "url",
    ["", "a:1", "ftp://a:1", "http://", "http://a:b", "http://a:0", "http://a:65536", "http://[::1",
     "http://a?b", "http://a#b", "http://127.0.0.1\\.evil.org", "http://a b", "http://a\n",
     "http://a\u202e", "http://a,,http://b"],
)  # fmt: skip
def test_what_is_no_address_is_one_line(url):
    url = url.replace("a\n", "a\nb")
    with pytest.raises(ValueError, match="found the address .*, expected EXAMPLE, sev"):
        read_urls(url, "EXAMPLE", "KEY")


def test_a_port_may_be_needed():
    assert read_urls("http://a", "x", "KEY") == ("http://a",)
    with pytest.raises(ValueError, match="found the address 'http://a'"):
        read_urls("http://a", "x", "KEY", port=True)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://me:secret@a", "one without user and password; set KEY"),
        ("http://a?key=secret", "'http://a' with a query or a fragment, expected x"),
        ("https://a/v1#secret", "'https://a/v1' with a query or a fragment, expected x"),
        ("http://b,http://a?secret,c", "'http://a' with a query"),
    ],
)
def test_a_password_or_a_key_is_not_repeated(url, named):
    with pytest.raises(ValueError, match=named) as error:
        read_urls(url, "x", "KEY")
    assert "secret" not in str(error.value)
