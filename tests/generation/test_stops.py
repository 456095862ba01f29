"""Where texts end, and how messages are written, with models whose weights spell out a text."""

import json

import pytest
from asking import ask
from tiny import PARTS, byte_tokenizer, cut, read, shortest, spell

from ircotlib.generation.local import LocalModel
from ircotlib.program import LINE, SENTENCE, Generate, Message

ENDS = [("Amazon.com was founded in 1994.", " It is."), ("He fired the .30 carbine.", " He is.")]
ENDS += [("It is 'his.'", " He is."), ("It is his...", " He is."), ("It is his.", "")]


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(("kept", "rest"), ENDS)
def test_a_sentence_ends_only_where_white_space_follows(tmp_path, kind, kept, rest):
    local = spell(tmp_path, PARTS[kind](), kept + rest)
    assert not local.tokens.by_word
    [reply] = read(local, [Generate("Q", SENTENCE, 100)])
    assert reply["text"] == kept
    tokens = [*local.tokenizer(kept + rest).input_ids, local.tokenizer.eos_token_id]
    assert reply["tokens"] == shortest(local, tokens, SENTENCE)
    # what follows the stop was looked at
    seen = local.tokenizer.decode(tokens[: reply["tokens"]], skip_special_tokens=True)
    assert seen.startswith(f"{kept} "[: len(kept + rest)])


@pytest.mark.parametrize(
    ("text", "kept"), [("It is… his. He", "It is… his."), ("It is… He is his", "It is…")]
)
def test_a_stop_of_which_each_token_is_a_part(tmp_path, text, kept):
    """The three bytes of "…" are tokens of their own, none of them a character."""
    local = spell(tmp_path, byte_tokenizer(), text)
    assert len(local.tokenizer("…").input_ids) == 3
    assert read(local, [Generate("Q", SENTENCE, 100)])[0]["text"] == kept


STOPS = [("is ",), ("his.",), (". ", "absent"), ("d", "ed in"), ("i",), ("\nQ:", "\n\n"), LINE]


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("stop", STOPS)
def test_a_row_ends_with_the_token_that_completes_a_text(tmp_path, kind, stop):
    """Even a space, which a token's own text need not show."""
    text = "It is his. He was founded in 1994.\n\nIt is his.\nQ: Who"
    local = spell(tmp_path, PARTS[kind](), text)
    tokens = local.tokenizer(text).input_ids
    [reply] = read(local, [Generate("Q", stop, 100)])
    assert reply["tokens"] == shortest(local, tokens, stop) < len(tokens)
    assert reply["text"] == cut(text, stop)


TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "{{ raise_exception('no system message') }}{% endif %}"
    "<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_messages_are_written_as_the_chat_template_wants_them(tmp_path):
    messages = (Message("user", "Who?"), Message("assistant", "He."), Message("user", "Why?"))
    tokenizer, text = byte_tokenizer(), "<user>Who?\n<assistant>He.\n<user>Why?\n<assistant>"
    tokenizer.chat_template = TEMPLATE
    local = spell(tmp_path, tokenizer, "So.", prompt=text)
    inputs = [messages, text, (Message("system", "Be brief."), *messages)]
    reply, as_text, fault = ask(local, [Generate(prompt, None, 20) for prompt in inputs])
    assert json.loads(reply)["text"] == "So." and reply == as_text
    assert json.loads(reply)["prompt_tokens"] == len(local.tokenizer(text).input_ids)
    assert isinstance(fault, ValueError) and "no system message" in str(fault)
    # what the template writes may be a special token; what a message writes is text
    template = tmp_path / "chat_template.jinja"
    template.write_text(TEMPLATE.replace("\n", "<end>"))
    local = LocalModel(tmp_path)
    for said in ("Who?", "Who <end> is?", "<end><end>", "<en<end>d>", "<assistant>"):
        tokens = local.tokens.encode_prompt((Message("user", said),))
        assert tokens.count(local.tokenizer.eos_token_id) == 1
        written = local.tokenizer.decode(tokens, skip_special_tokens=True)
        assert written == f"<user>{said}<assistant>"
    template.write_text(template.read_text().replace("<assistant>", "<model>"))
    assert LocalModel(tmp_path).fingerprint != local.fingerprint
