"""Models that think before they write, behind a server: only the text counts."""

import json
import re
from functools import partial
from itertools import accumulate

import pytest
from asking import ask, ask_one
from serving import Fake, completion, model, prompt_of, status

from ircotlib.models.local import LocalModel
from ircotlib.models.thoughts import split_thoughts
from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE, Generate, Sample, Sampled

THOUGHTS = (
    "Let me see.\n\nQ: Who is it? Ann or Ben?\nA: It may be Ann. The answer is: Ben."
)
ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"
TAGS = {  # in the text itself
    "think": ("<think>\n", "\n</think>\n\n"),
    "THINK": ("[THINK]", "[/THINK]"),
    "harmony without marks": ("analysis", "assistantfinal"),
    "harmony": (ANALYSIS, FINAL),
}
OPENED = {"opened": ("", "\n</think>\n\n")}  # by a template


def beside(name: str):
    def message(thoughts: str, text: str | None) -> dict:
        return {"content": text, name: thoughts}

    return message


def parts(thoughts: str, text: str | None) -> dict:
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": thoughts}]}]
    texts = [] if text is None else [text[:2], text[2:]]
    written = [{"type": "text", "text": each} for each in texts]
    return {"role": "assistant", "content": [*thinking, *written]}


FIELDS = {
    "reasoning_content": beside("reasoning_content"),
    "parts": parts,
    "reasoning": beside("reasoning"),
    "hidden": lambda thoughts, text: {"content": text or ""},
}


class Thinker(Fake):
    """Thinks in a `way`, then answers each prompt with its `texts`, pairs of text and
    log-probability, one for each sample. As in most servers, stop and max_tokens are
    applied to all that is written, thoughts included; a word is a token.
    """

    def __init__(self, httpserver, way: str, thoughts: str = THOUGHTS):
        super().__init__(httpserver)
        self.way, self.thoughts, self.texts = way, thoughts, {}

    def answer(self, body: dict) -> dict:
        texts = self.texts.get(prompt_of(body), [("RED", -0.5)])
        drawn = [texts[at % len(texts)] for at in range(body.get("n", 1))]
        written = [self.write(body, text, log) for text, log in drawn]
        count = sum(tokens for _, tokens in written)
        usage = {"prompt_tokens": 7, "completion_tokens": count}
        if self.way == "hidden":
            details = {"reasoning_tokens": len(self.thoughts.split())}
            usage["completion_tokens_details"] = details
        return {"choices": [choice for choice, _ in written], "usage": usage}

    def write(self, body: dict, text: str, log: float) -> tuple[dict, int]:
        """A choice, and its number of tokens."""
        opening, closing = (TAGS | OPENED).get(self.way, TAGS["think"])
        head = opening + self.thoughts + closing
        tokens = [(piece, -9.0) for piece in re.findall(r"\s*\S+|\s+$", head)]
        tokens += [(piece, log) for piece in re.findall(r"\s*\S+|\s+$", text)]
        whole = head + text
        ends = [at for stop in body.get("stop", ()) if (at := whole.find(stop)) >= 0]
        whole = whole[: min(ends, default=None)]
        starts = accumulate((len(piece) for piece, _ in tokens), initial=0)
        kept = [token for token, at in zip(tokens, starts) if at < len(whole)]
        end = "length" if len(kept) > body["max_tokens"] else "stop"
        kept = kept[: body["max_tokens"]]
        whole = whole[: sum(len(piece) for piece, _ in kept)]
        if "messages" not in body:
            tokens, logs = zip(*kept, strict=True)
            logs = {"tokens": tokens, "token_logprobs": logs}
            return {"finish_reason": end, "text": whole, "logprobs": logs}, len(kept)
        logs = {"content": [{"token": t, "logprob": value} for t, value in kept]}
        message = {"content": whole}
        if self.way in FIELDS:
            thoughts, closed, text = whole.removeprefix(opening).partition(closing)
            message = FIELDS[self.way](thoughts, text if closed else None)
        return {"finish_reason": end, "message": message, "logprobs": logs}, len(kept)


@pytest.fixture
def thinker(httpserver, quick):
    return partial(Thinker, httpserver)


WRITTEN = "It is Ann. She is old.\nNo more."
KEPT = {
    SENTENCE: "It is Ann.",
    SENTENCE_OF_LINE: "It is Ann.",
    LINE: "It is Ann. She is old.",
    ("No", " old"): "It is Ann. She is",
    None: WRITTEN,
}
CHATS = [(way, True) for way in (*TAGS, *OPENED, *FIELDS)]
WAYS = CHATS + [(way, False) for way in TAGS]


@pytest.mark.parametrize(("way", "chat"), WAYS)
@pytest.mark.parametrize(("most", "first"), [(9, 0), (300, 2)])
def test_only_the_text_is_kept_wherever_the_thoughts_are(
    thinker, way, chat, most, first
):
    """With a limit that thoughts exceed, and one that they do not."""
    fake, stops = thinker(way), [*KEPT][first:] + [*KEPT][:first]
    fake.texts = {f"Who? {stop}": [(WRITTEN, -0.5)] for stop in KEPT}
    backend = model(fake, chat=chat)
    for asked, stop in enumerate(stops, start=1):
        reply = json.loads(ask_one(backend, Generate(f"Who? {stop}", stop, most)))
        assert reply["text"] == KEPT[stop] and reply["tokens"] > len(THOUGHTS.split())
        seen = "" if way == "hidden" else THOUGHTS
        assert "".join(reply.get("thoughts", [""])).strip() == seen
        # it is known to think after the first reply
        assert len(fake.asked) <= asked + 1


SOME = [("opened", True), ("parts", True), ("reasoning", True), ("harmony", False)]


@pytest.mark.parametrize(("way", "chat"), SOME)
def test_samples_have_the_mean_log_probability_of_their_texts_alone(thinker, way, chat):
    fake = thinker(way)
    expected = [("It is Ann.", -0.25), ("No.", -0.75), ("It is Ann.", -0.125)]
    fake.texts = {"Who?": [(f"{text}\nIt", log) for text, log in expected]}
    backend = model(fake, chat=chat)
    reply = ask_one(backend, Sample("Who?", 3, 0.5, LINE, 60))
    assert backend.decode(reply) == tuple(Sampled(*each) for each in expected)
    assert len(json.loads(reply).get("thoughts", "...")) == 3


ENDLESS = [*SOME[1:], ("hidden", True), ("think", False)]


@pytest.mark.parametrize(("way", "chat"), ENDLESS)
def test_thoughts_without_an_end_or_that_leave_no_room_are_no_text(thinker, way, chat):
    """Of the second text, the room for thoughts leaves 30 of 300 tokens."""
    fake = thinker(way, THOUGHTS * 250)
    error = ask_one(model(fake, chat=chat), Generate("red", LINE, 9))
    assert isinstance(error, ValueError) and "no whole text among them" in str(error)
    fake.thoughts = " ".join(["so"] * 4_270)
    fake.texts = {"red": [("It is Ann and " * 200, -0.5)]}
    error = ask_one(model(fake, chat=chat), Generate("red", LINE, 300))
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("refused", [False, True])
def test_a_chat_model_that_does_not_think_is_asked_once_for_each_text(
    fake, refused, capsys
):
    """Its first reply is cut off, and might be thoughts: more is asked for once."""
    fake.faults = {"red": [completion("It is red", finish_reason="length")] * 2}
    if refused:
        fake.faults["red"][1] = status(400, "max_tokens is too large: 4004")
    backend, words = model(fake, chat=True), ["red", "green", "blue"]
    replies = ask(backend, [Generate(word, ("Q:",), 4) for word in words])
    assert [*map(backend.decode, replies)] == ["It is red", "GREEN", "BLUE"]
    assert fake.asked == ["red", *words] and capsys.readouterr().err == ""
    assert [body["max_tokens"] for body in fake.bodies] == [4, 4004, 4, 4]
    stops = ["stop" in body for body in fake.bodies]
    assert stops == [False, False, True, True]


ANSWER, NOTHING = "It is Ann.", ""
SPLIT = {  # the text of what is written; None: all of it
    "The element <think> is no HTML.": None,
    "In the analysis channel he says so.": None,
    "analysis shows that it is Ann.": None,
    "<b>It</b> [THINK about] it.": None,
    "\nIt is Ann.": None,
    "It may be\n</think>\nIt is Ann.": ANSWER,
    "It may be\n[/THINK]It is Ann.": ANSWER,
    "<think>a <think>b</think> c</think>It is Ann.": ANSWER,
    "<think>I close it with `</think>` then.</think>It is Ann.": ANSWER,
    "<think>a</think>\n<think>b": NOTHING,
    "<seed:think>a</seed:think>It is Ann.": ANSWER,
    "<scratchpad>a</scratchpad>It is Ann.": ANSWER,
    "<analysis>a": NOTHING,
    "<|begin_of_thought|>a<|end_of_thought|>\n\nIt is Ann.": ANSWER,
    "◁think▷a◁/think▷It is Ann.": ANSWER,
    "<explanation>a</explanation>It is Ann.": None,
    "<Thought>a</Thought>\n\nIt is Ann.": ANSWER,
    "<reasoning>a</reasoning>It is Ann.": ANSWER,
    "<reasoning>a": NOTHING,
    f"{ANALYSIS}a{FINAL}It is Ann.": ANSWER,
    f"<|start|>assistant{ANALYSIS}a{FINAL}It is Ann.": ANSWER,
    "<|channel|>final<|message|>It is Ann.": ANSWER,
    f"{ANALYSIS}a": NOTHING,
    "<|channel|>ana": NOTHING,
    "analysisIt may be Ann.": NOTHING,
    f"{ANALYSIS}a{FINAL}It is Ann.<|return|>": ANSWER,
    '<details type="reasoning">a</details>It is Ann.': NOTHING,
    "**Thinking:** a\n**Answer:** It is Ann.": NOTHING,
    "**Thinking Machines** is a firm.": None,
    "<details>a</details>It is Ann.": None,
    "<s> It is Ann.</s>": ANSWER,
}


@pytest.mark.parametrize("written", SPLIT)
def test_thoughts_are_separated_from_the_text_by_their_marks(written):
    text = SPLIT[written]
    assert split_thoughts(written)[1] == (written if text is None else text or None)


def test_a_model_on_this_machine_that_thinks_is_refused(folders, monkeypatch):
    local = LocalModel(folders["gpt2"])
    written = local.tokens.encode("<think>Ben. No")
    decoded = iter([(0, written)])
    monkeypatch.setattr("ircotlib.models.decode.decode", lambda *_: decoded)
    error = ask_one(local, Generate("Q", SENTENCE, 9))
    assert isinstance(error, ValueError)
    assert "wrote thoughts, '<think>Ben.'" in str(error)
