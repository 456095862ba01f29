"""Models that think before they write, behind a server and on this machine: only the text counts."""

import json
from functools import partial

import pytest
from asking import ask_one
from thinking import CHATS, TAGS, THOUGHTS, Thinker

pytest.importorskip("openai", reason="needs the client: pip install -e '.[server]'")

from ircotlib.generation.server import ServerModel
from ircotlib.generation.server.endpoints import Patience
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate

QUICK = Patience(timeout=5, attempts=3, first_pause=0.01, longest_pause=0.02)
WRITTEN = "It is Ann. She is old.\nNo more."
KEPT = {SENTENCE: "It is Ann.", SENTENCE_OF_LINE: "It is Ann.", LINE: "It is Ann. She is old."}
KEPT |= {("No", " old"): "It is Ann. She is", None: WRITTEN}


@pytest.fixture
def thinker(servers):
    servers[0].clear()
    return partial(Thinker, servers[0])


def model(fake, **options) -> ServerModel:
    return ServerModel("m", fake.url, **{"in_flight": 1, "patience": QUICK} | options)


WAYS = [(way, True) for way in CHATS] + [(way, False) for way in TAGS]


@pytest.mark.parametrize(("way", "chat"), WAYS)
@pytest.mark.parametrize("most", [9, 300])
def test_what_is_kept_is_the_text_wherever_the_thoughts_stand(thinker, way, chat, most):
    """With a limit that thoughts exceed, and one that they do not."""
    fake, prompts = thinker(way), {stop: f"Who? {stop}" for stop in KEPT}
    fake.texts = {prompt: [(WRITTEN, -0.5)] * 3 for prompt in prompts.values()}
    backend = model(fake, chat=chat)
    for asked, (stop, text) in enumerate(KEPT.items(), start=1):
        reply = json.loads(ask_one(backend, Generate(prompts[stop], stop, most)))
        assert reply["text"] == text
        told = "" if way == "hidden" else THOUGHTS
        assert "".join(reply.get("thoughts", [""])).strip() == told
        assert reply["tokens"] > len(THOUGHTS.split())
        assert len(fake.asked) <= asked + 1  # it is known to think after the first reply
