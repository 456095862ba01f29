"""What teaches the causal models, mini-causal and the agent, to read: attention that
can be supervised, and the losses.

Where a T5's encoder sees the whole paragraph, these models see only the words before.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ircot_laboratory.world.relations import RELATION_NAMES
from training.positions import OUTCOMES

# the layers, from 0, whose head 1 attends from a compared value back to the other one,
COMPARING = 2
# and, from where a comparison decides what is written, back to the value looked at
CONCLUDING = 4


def remembering_attention(
    module, query, key, value, mask, *, scaling, **options
) -> tuple[torch.Tensor, None]:
    """The usual attention, in single precision, whose gradients are faster on a CPU. It
    keeps queries and keys in `module.looks` for supervised attention.
    """
    module.looks = query * scaling, key
    with torch.autocast(query.device.type, enabled=False):
        return sdpa_attention_forward(
            module, query, key, value.to(query.dtype), mask, scaling=scaling, **options
        )


def weights_at(
    attention: nn.Module,
    head: int,
    row: torch.Tensor,  # [n], as those below
    at: torch.Tensor,
    source: torch.Tensor,
) -> torch.Tensor:
    """The attention weights [n] of a head from positions `at` to positions `source`."""
    query, key = (part[:, head] for part in attention.looks)
    scores = (query[row, at][:, None] * key[row]).sum(-1)
    later = torch.arange(key.shape[1], device=row.device) > at[:, None]
    weights = scores.masked_fill(later, -torch.inf).softmax(-1)
    return weights.gather(1, source[:, None])[:, 0]


AttentionInterface.register("remembering", remembering_attention)
AttentionMaskInterface.register("remembering", sdpa_mask)


class CausalTeacher(nn.Module):
    """The heads used in training only. From a state they predict the words of the
    subject and of the value, the relation, how two values compare, and the words of a
    recalled value.
    """

    def __init__(self, width: int):
        super().__init__()
        self.words = nn.Linear(width, 2 * width)
        self.value = nn.Linear(width, width)
        self.relation = nn.Linear(width, len(RELATION_NAMES))
        self.outcome = nn.Linear(width, OUTCOMES)
        self.recalled = nn.Linear(width, 2 * width)


class ReadBatch(NamedTuple):
    """What supervision needs of a batch that a model has read."""

    attentions: list[nn.Module]  # of each layer
    after: torch.Tensor  # after[n]: the states after n layers, [rows, length, width]
    last: torch.Tensor  # the states from which tokens are written
    embedding: torch.Tensor


def _read(model: PreTrainedModel, ids: torch.Tensor) -> ReadBatch:
    out = model.base_model(ids, output_hidden_states=True, use_cache=False)
    layers = model.base_model.layers  # of a GPT-NeoX or a Llama
    return ReadBatch(
        [getattr(layer, "attention", None) or layer.self_attn for layer in layers],
        torch.stack(out.hidden_states),
        out.last_hidden_state,
        model.get_input_embeddings().weight,
    )


def causal_losses(
    model: PreTrainedModel,
    teacher: CausalTeacher,
    batch: dict[str, torch.Tensor],
    stated: int = 4,
    decided: int = 4,
    knowing: float = 0.5,
) -> dict[str, torch.Tensor]:
    """The losses of a batch by name. `batch`: `input_ids` [rows, length], some of the
    CAUSAL_TABLES (positions.py), and perhaps `weights` of the written tokens.

    The number of layers after which a state must name the fact stated there and how two
    values compare (`stated`), and the fact that the next words are about (`decided`);
    the layer after that looks up a value that is not written, and the next one compares
    it. `knowing`: the weight of these losses.
    """
    read = _read(model, batch["input_ids"])
    row, at, token = batch["written"].T
    written = model.lm_head(read.last[row, at]).float()
    losses = {"writing": writing_loss(written, token, batch.get("weights"))}
    if len(table := batch["sources"]):
        layers = read.attentions[-2:]
        weights = [weights_at(attention, 0, *table.T) for attention in layers]
        losses["looking"] = looking_loss(weights)
    for name, loss in _naming_losses(teacher, read, batch, stated, decided).items():
        losses[name] = knowing * loss
    if len(table := batch["compared"]):
        compared = _comparing_loss(teacher, read, COMPARING, stated, table)
        losses["comparing"] = knowing * compared
    if len(table := batch.get("concluded", ())):
        looks = weights_at(read.attentions[CONCLUDING], 1, *table.T)
        # with less weight it is not learned
        losses["concluding"] = looking_loss([looks])
    if len(table := batch.get("recalled", ())):
        losses["recalling"] = _recalling_loss(teacher, read, decided, knowing, table)
    if len(table := batch.get("weighed", ())):
        where = decided + 1, decided + 2
        losses["weighing"] = _comparing_loss(teacher, read, *where, table)
    return losses


def _naming_losses(
    teacher: CausalTeacher,
    read: ReadBatch,
    batch: dict[str, torch.Tensor],
    stated: int,
    decided: int,
) -> dict[str, torch.Tensor]:
    """The losses of naming facts: those stated, decided, and leading to the latter."""
    heads = teacher.words, teacher.relation
    naming = partial(naming_loss, *heads, embedding=read.embedding)
    losses = {}
    if len(table := batch["stated"]):
        here = read.after[stated, table[:, 0], table[:, 1]]
        named = naming(here, table[:, 2:5])
        value = (teacher.value(here) @ read.embedding.T).float()
        losses["stated"] = named + nn.functional.cross_entropy(value, table[:, 5])
    if len(table := batch["decided"]):
        here = read.after[decided, table[:, 0], table[:, 1]]
        losses["decided"] = naming(here, table[:, 2:5])
    if len(table := batch.get("inferred", ())):
        # A fact that leads to the decided one must be named one layer earlier, the one
        # before it two layers earlier, …: each layer then has to look up one fact.
        layer = (decided - table[:, 5]).clamp(min=1)
        here = read.after[layer, table[:, 0], table[:, 1]]
        losses["inferred"] = naming(here, table[:, 2:5])
    return losses


def _recalling_loss(
    teacher: CausalTeacher,
    read: ReadBatch,
    decided: int,
    knowing: float,
    table: torch.Tensor,
) -> torch.Tensor:
    """The loss of looking up values that are not written. The layer after that which
    names a fact looks up its value, and names it.
    """
    here = read.after[decided - table[:, 5] + 1, table[:, 0], table[:, 1]]
    named = words_loss(teacher.recalled, here, table[:, 2:4], read.embedding)
    on_page = table[table[:, 4] < table[:, 1]]
    weights = []
    for n, attention in enumerate(read.attentions):
        of_layer = on_page[decided - on_page[:, 5] == n]
        if len(of_layer):
            weights.append(weights_at(attention, 0, *of_layer[:, [0, 1, 4]].T))
    if not weights:
        return knowing * named
    return knowing * named + looking_loss([torch.cat(weights)])


def looking_loss(weights: list[torch.Tensor]) -> torch.Tensor:
    """Supervised attention: the mean of -log of the weights at the right positions."""
    logs = [(weight.float() + 1e-6).log().mean() for weight in weights]
    return -sum(logs) / len(weights)


def naming_loss(
    words: nn.Linear, relation: nn.Linear, states, named, embedding
) -> torch.Tensor:
    """Mean loss of naming subjects and relations, `named` [n, 3], from states [n,
    width]; `words` and `relation`: the teacher's heads.
    """
    loss = words_loss(words, states, named[:, :2], embedding)
    related = nn.functional.cross_entropy(relation(states).float(), named[:, 2])
    return loss + 0.3 * related


def words_loss(words: nn.Linear, states, names, embedding) -> torch.Tensor:
    """Mean loss of predicting first and last tokens [n, 2] from states [n, width]."""
    named = words(states).view(len(states), 2, -1) @ embedding.T
    return nn.functional.cross_entropy(named.flatten(0, 1).float(), names.flatten())


def writing_loss(
    written: torch.Tensor, token: torch.Tensor, weights: torch.Tensor | None
) -> torch.Tensor:
    """Mean loss, weighted by `weights` [n], of tokens [n] from logits [n, words]."""
    if weights is None:
        return nn.functional.cross_entropy(written, token)
    losses = nn.functional.cross_entropy(written, token, reduction="none")
    return (losses * weights).sum() / weights.sum()


def _comparing_loss(
    teacher: CausalTeacher, read: ReadBatch, layer: int, after: int, table: torch.Tensor
) -> torch.Tensor:
    """Attending to the other value in `layer`, and the outcome `after` so many."""
    row, at, other, outcome = table.T
    looking = looking_loss([weights_at(read.attentions[layer], 1, row, at, other)])
    predicted = teacher.outcome(read.after[after, row, at]).float()
    return looking + nn.functional.cross_entropy(predicted, outcome)
