"""The miniature causal language model, which stands for GPT-3: a plain GPT-NeoX, its batches, and
the losses that teach it to read.

A prompt and its target are one sequence. What a T5's encoder learns of a whole paragraph must be
known here from the words before.
"""

from collections.abc import Iterator

import torch
from torch import nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ircotlib.laboratory.relations import RELATION_NAMES
from training.examples import PROMPT, Example
from training.model import HEAD_WIDTH
from training.teach import IGNORED, OUTCOMES, encode, looking_loss, naming_loss

WIDTH, HEADS, LAYERS, FEED_FORWARD = 128, 4, 6, 256
ROTARY, BASE = 8, 1000  # dimensions of a head that know positions, and the base of their angles
POSITIONS = 8192
# nats by which a head that begins as "previous word" prefers that word to its neighbours
PEAK = 4.0
NEAR = 3  # layers, the first, whose heads begin like that
MIDDLE = 4  # layers after which a state must name what it is about
COMPARING = 2  # the layer whose head 1 looks from one compared value back to the other
# of what a batch says about its sequences
COLUMNS = {"written": 3, "sources": 3, "stated": 6, "decided": 5, "compared": 4}


def make_causal_model(vocabulary: int, seed: int) -> GPTNeoXForCausalLM:
    """Make an untrained causal model, initialised to attend to what resembles the query, in the
    first layers to the words just before it.
    """
    torch.manual_seed(seed)
    rotary = {
        "rope_type": "default",
        "rope_theta": float(BASE),
        "partial_rotary_factor": ROTARY / HEAD_WIDTH,
    }
    config = GPTNeoXConfig(
        vocab_size=vocabulary, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FEED_FORWARD,
        hidden_act="relu", max_position_embeddings=POSITIONS, rope_parameters=rotary, use_parallel_residual=False, tie_word_embeddings=True,
        pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    model.set_attn_implementation("remembering")
    _initialise(model)
    return model


@torch.no_grad()
def _initialise(model: GPTNeoXForCausalLM) -> None:
    """Embeddings and feed-forward layers as in T5, whose output is scaled by the width: here the
    last layer norm does it.
    """
    model.gpt_neox.embed_in.weight.normal_()
    model.gpt_neox.final_layer_norm.weight.fill_(WIDTH**-0.5)
    for number, layer in enumerate(model.gpt_neox.layers):
        layer.mlp.dense_h_to_4h.weight.normal_(std=WIDTH**-0.5)
        layer.mlp.dense_4h_to_h.weight.normal_(std=FEED_FORWARD**-0.5)
        _initialise_attention(layer.attention, near=number < NEAR)


def _initialise_attention(attention: nn.Module, near: bool) -> None:
    """Mimetic initialisation (Trockman and Kolter 2023) on the dimensions without positions;
    `near`: head h looks h + 1 words back.
    """
    query, key, value = attention.query_key_value.weight.view(HEADS, 3, HEAD_WIDTH, WIDTH).unbind(1)
    for part in (query, key, value):
        part.normal_(std=WIDTH**-0.5)
    key[:, ROTARY:] *= (HEAD_WIDTH / (HEAD_WIDTH - ROTARY)) ** 0.5
    query[:, ROTARY:] = key[:, ROTARY:]
    query[:, :ROTARY] *= 0.2
    key[:, :ROTARY] *= 0.2
    attention.dense.weight.copy_(0.7 * value.reshape(WIDTH, WIDTH).T)
    if near:
        angles = BASE ** (-torch.arange(0, ROTARY, 2) / ROTARY)
        size = (PEAK * HEAD_WIDTH**0.5 / (1 - angles.cos()).sum()) ** 0.5
        query, key, _ = attention.query_key_value.bias.view(HEADS, 3, HEAD_WIDTH).unbind(1)
        back = (torch.arange(HEADS)[:, None] + 1) * angles
        query[:, :ROTARY] = size * torch.cat([back.cos(), -back.sin()], 1)
        key[:, : ROTARY // 2] = size


def remembering_attention(
    module, query, key, value, mask, *, scaling, **options
) -> tuple[torch.Tensor, None]:
    """The usual attention, in single precision (on a CPU its gradients are the faster ones); the
    losses look at `module.looks`.
    """
    module.looks = query * scaling, key
    with torch.autocast(query.device.type, enabled=False):
        return sdpa_attention_forward(
            module, query, key, value.to(query.dtype), mask, scaling=scaling, **options
        )


def weights_at(
    attention: nn.Module, head: int, row: torch.Tensor, at: torch.Tensor, source: torch.Tensor
) -> torch.Tensor:
    """How much a head of a layer attends from positions `at` to positions `source`, all [n]."""
    query, key = (part[:, head] for part in attention.looks)
    scores = (query[row, at][:, None] * key[row]).sum(-1)
    later = torch.arange(key.shape[1], device=row.device) > at[:, None]
    return scores.masked_fill(later, -torch.inf).softmax(-1).gather(1, source[:, None])[:, 0]


AttentionInterface.register("remembering", remembering_attention)
AttentionMaskInterface.register("remembering", sdpa_mask)


class CausalTeacher(nn.Module):
    """The heads used in training only: from a state they read the words of the subject and the
    value, the relation, and how values compare.
    """

    def __init__(self, width: int):
        super().__init__()
        self.words = nn.Linear(width, 2 * width)
        self.value = nn.Linear(width, width)
        self.relation = nn.Linear(width, len(RELATION_NAMES))
        self.outcome = nn.Linear(width, OUTCOMES)


def encode_causal(examples: list[Example], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into sequences: `input_ids` [rows, length], a prompt and its target without the
    end; padding on the right.

    All else are places in them, [n, columns], the first two columns row and position; the others
    are: `written`: the token to write next; `sources`: the position where that token is to be seen;
    `stated`: first and last word of the subject, relation, first word of the value; `decided`:
    first and last word of the subject, relation (of values only: a name that concludes is known too
    late); `compared`: the position of the other value, outcome. `tokenizer`: one that puts </s>
    after a text.
    """
    return join(encode(examples, tokenizer), *tokenizer.convert_tokens_to_ids([".", "Q"]))


def join(batch: dict[str, torch.Tensor], stop: int, asked: int) -> dict[str, torch.Tensor]:
    """The sequences of a batch of prompts and targets (teach.encode); `stop`, `asked`: the tokens
    that end a sentence and begin a question.
    """
    lengths = (batch["attention_mask"].sum(1) - 1).tolist()  # a prompt that goes on does not end
    targets = [[token for token in ids[1:] if token] for ids in batch["decoder_input_ids"].tolist()]
    rows = [
        ids[:length] + target
        for ids, length, target in zip(batch["input_ids"].tolist(), lengths, targets, strict=True)
    ]
    input_ids = torch.zeros(len(rows), -(-max(map(len, rows)) // 32) * 32, dtype=torch.long)
    for row, ids in enumerate(rows):
        input_ids[row, : len(ids)] = torch.tensor(ids)
    stated, decided, labels = batch["stated"].tolist(), batch["decided"].tolist(), batch["labels"]
    known = {(row, at): _known_at(rows[row], at, lengths[row], stop) for row, at, *_ in stated}
    read = {(row, at) for row, at, *_ in decided}
    sources = [
        _sources(row, ids, length, batch["sources"][row].tolist(), known, read, asked)
        for row, (ids, length) in enumerate(zip(rows, lengths, strict=True))
    ]
    places = {
        "written": [
            (row, lengths[row] + at - 1, labels[row, at].item())
            for row, at in (labels != IGNORED).nonzero().tolist()
        ],
        "sources": [place for of_row in sources for place in of_row],
        "stated": [(row, known[row, at], *named, rows[row][at]) for row, at, _, *named in stated],
        "decided": [
            (row, lengths[row] + at - 1, *named)
            for row, at, *named in decided
            if labels[row, at] != named[0]
        ],
        "compared": list(_compared(batch["compared"].tolist(), lengths)),
    }
    return {"input_ids": input_ids} | {
        name: torch.tensor(rows, dtype=torch.long).view(-1, COLUMNS[name])
        for name, rows in places.items()
    }


def _known_at(ids: list[int], at: int, end: int, stop: int) -> int:
    """Where a fact is known whose value begins at `at`: there, or at the end of the sentence when
    more than a name is left of it.

    "Its author was X." is known at X, "X wrote it." only after it.
    """
    last = ids.index(stop, at) if stop in ids[at:end] else at
    return last if last - at > 2 else at


def _sources(
    row: int, ids: list[int], length: int, sources: list[int], known: dict, read: set, asked: int
) -> Iterator[tuple[int, int, int]]:
    """Where each copied token is to be seen: a value that is read where its fact is known, any
    other name where it was last mentioned.
    """
    question, last = length - ids[length - 1 :: -1].index(asked), None
    for at, source in enumerate(sources):
        if source < 0:
            last = None
            continue
        if (row, at) in read and (row, source) in known:
            seen, last = known[row, source], source
        elif (
            last is not None and sources[at - 1] == source - 1 and ids[last + 1] == ids[length + at]
        ):
            seen = last = last + 1
        else:
            seen = last = _last_mention(ids, length + at, question, source)
        yield row, length + at - 1, seen


def _last_mention(ids: list[int], at: int, first: int, source: int) -> int:
    """The last place from `first` on where the two words at `at` stand already, else the source
    given.
    """
    return next(
        (
            place
            for place in range(at - 2, first - 1, -1)
            if ids[place : place + 2] == ids[at : at + 2]
        ),
        source,
    )


def _compared(places: list[list[int]], lengths: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """The comparisons in which the other value comes before; a value of the target is at its input
    there (teach.encode).
    """
    for row, side, at, other_side, other, outcome in places:
        here, there = (
            place if of == PROMPT else lengths[row] + place - 1
            for of, place in ((side, at), (other_side, other))
        )
        if there < here:
            yield row, here, there, outcome


def causal_loss(
    model, teacher: CausalTeacher, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict[str, float]]:
    """The loss of a batch, and its parts by name (teach.total_loss)."""
    out = model.gpt_neox(batch["input_ids"], output_hidden_states=True, use_cache=False)
    attentions = [layer.attention for layer in model.gpt_neox.layers]
    embedding, states = model.get_input_embeddings().weight, out.hidden_states[MIDDLE]
    row, at, token = batch["written"].T
    losses = {
        "writing": nn.functional.cross_entropy(
            model.lm_head(out.last_hidden_state[row, at]).float(), token
        )
    }
    if len(places := batch["sources"]):
        losses["looking"] = looking_loss(
            [weights_at(attention, 0, *places.T) for attention in attentions[-2:]]
        )
    if len(places := batch["stated"]):
        here = states[places[:, 0], places[:, 1]]
        named = naming_loss(
            teacher.words, teacher.relation, here, places[:, 2:4], places[:, 4], embedding
        )
        value = teacher.value(here) @ embedding.T
        losses["stated"] = 0.5 * (named + nn.functional.cross_entropy(value.float(), places[:, 5]))
    if len(places := batch["decided"]):
        here = states[places[:, 0], places[:, 1]]
        losses["decided"] = 0.5 * naming_loss(
            teacher.words, teacher.relation, here, places[:, 2:4], places[:, 4], embedding
        )
    if len(places := batch["compared"]):
        row, at, other, outcome = places.T
        told = nn.functional.cross_entropy(teacher.outcome(states[row, at]).float(), outcome)
        losses["comparing"] = 0.5 * (
            looking_loss([weights_at(attentions[COMPARING], 1, row, at, other)]) + told
        )
    return sum(losses.values()), {name: loss.item() for name, loss in losses.items()}
