"""Probes of single facts, in the transcripts of two systems and of the shipped agent."""

import pytest
from transformers import AutoModelForCausalLM

from ircotlib.files.paths import MODELS
from training.agent import probes
from training.agent.draw_transcripts import taught_systems
from training.agent.probes import ASKS, READS, draw_probes, probe_memory, probe_stages


@pytest.fixture(autouse=True)
def few(monkeypatch):
    chosen = {name: taught_systems()[name] for name in ("Self-Ask", "IRCoT QA")}
    monkeypatch.setattr(probes, "taught_systems", lambda: chosen)
    monkeypatch.setattr(probes, "STYLES", ("musique",))


def test_probes_are_values_that_a_page_states_and_what_is_asked():
    kinds = {READS: 0, ASKS: 0}
    for transcript, found in draw_probes(6):
        values = {fact.value for fact in transcript.stated}
        for kind, stage, start, end in found:
            text, before = transcript.text[start:end], transcript.text[:start]
            kinds[kind] += 1
            assert any(span.start <= start and end <= span.end for span in transcript.spans)
            if kind == READS:
                assert any(before.startswith(text, value) for value in values), text
            elif stage == "self_ask/ask":
                assert text.endswith("?")
    assert min(kinds.values()) > 10


def test_the_shipped_agent_reads_and_asks_mostly_right():
    model = AutoModelForCausalLM.from_pretrained(MODELS / "agent")
    found = probe_stages(model, 4)
    assert {"self_ask/read", "ircot/cot"} <= {*found[READS]} and "self_ask/ask" in found[ASKS]
    for kind, least in ((READS, 0.7), (ASKS, 0.6)):
        right, count = map(sum, zip(*found[kind].values(), strict=True))
        assert least < right / count <= 1 and count > 10
    known = probe_memory(MODELS / "agent", 6)
    for counts in known.values():
        [(right, count)] = counts.values()
        assert 0 <= right <= count and count >= 6
