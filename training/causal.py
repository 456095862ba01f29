"""What teaches the causal models, mini-causal and the agent, to read: attention that
can be supervised, and the losses.

Where a T5's encoder sees the whole paragraph, these models see only the words before.
"""

from functools import partial

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ircot_laboratory.world.relations import RELATION_NAMES
from training.positions import OUTCOMES

# the layers, from 0, whose head 1 attends from one compared value back to the other,
# and from where a comparison decides what is written back to the value that is looked
# at
COMPARING, CONCLUDING = 2, 4


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
    row: torch.Tensor,
    at: torch.Tensor,
    source: torch.Tensor,
) -> torch.Tensor:
    """The attention weights [n] of a head from positions `at` to positions `source`;
    `row`, `at` and `source` have shape [n].
    """
    query, key = (part[:, head] for part in attention.looks)
    scores = (query[row, at][:, None] * key[row]).sum(-1)
    later = torch.arange(key.shape[1], device=row.device) > at[:, None]
    return (
        scores.masked_fill(later, -torch.inf)
        .softmax(-1)
        .gather(1, source[:, None])[:, 0]
    )


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
    out = model.base_model(
        batch["input_ids"], output_hidden_states=True, use_cache=False
    )
    layers = model.base_model.layers  # of a GPT-NeoX or a Llama
    attentions = [
        getattr(layer, "attention", None) or layer.self_attn for layer in layers
    ]
    embedding, after = (
        model.get_input_embeddings().weight,
        torch.stack(out.hidden_states),
    )
    row, at, token = batch["written"].T
    written = model.lm_head(out.last_hidden_state[row, at]).float()
    losses = {"writing": writing_loss(written, token, batch.get("weights"))}
    naming = partial(naming_loss, teacher.words, teacher.relation, embedding=embedding)
    if len(table := batch["sources"]):
        weights = [weights_at(attention, 0, *table.T) for attention in attentions[-2:]]
        losses["looking"] = looking_loss(weights)
    if len(table := batch["stated"]):
        here = after[stated, table[:, 0], table[:, 1]]
        named = naming(here, table[:, 2:5])
        value = (teacher.value(here) @ embedding.T).float()
        losses["stated"] = knowing * (
            named + nn.functional.cross_entropy(value, table[:, 5])
        )
    if len(table := batch["decided"]):
        here = after[decided, table[:, 0], table[:, 1]]
        losses["decided"] = knowing * naming(here, table[:, 2:5])
    if len(table := batch.get("inferred", ())):
        # A fact that leads to the decided one must be named one layer earlier, the fact
        # before it two layers earlier, and so on: each layer then has to look up one
        # fact.
        here = after[(decided - table[:, 5]).clamp(min=1), table[:, 0], table[:, 1]]
        losses["inferred"] = knowing * naming(here, table[:, 2:5])
    if len(table := batch["compared"]):
        where = attentions[COMPARING], after[stated]
        losses["comparing"] = knowing * _comparing_loss(teacher, *where, table)
    if len(table := batch.get("concluded", ())):
        looks = weights_at(attentions[CONCLUDING], 1, *table.T)
        # with less weight it is not learned
        losses["concluding"] = looking_loss([looks])
    if len(table := batch.get("recalled", ())):
        # The layer after that which names a fact looks up its value, which is then
        # named.
        here, names = (
            after[decided - table[:, 5] + 1, table[:, 0], table[:, 1]],
            table[:, 2:4],
        )
        losses["recalling"] = knowing * words_loss(
            teacher.recalled, here, names, embedding
        )
        on_page = table[table[:, 4] < table[:, 1]]
        depths = [
            (n, on_page[decided - on_page[:, 5] == n]) for n in range(len(attentions))
        ]
        looks = [
            weights_at(attentions[n], 0, *of[:, [0, 1, 4]].T)
            for n, of in depths
            if len(of)
        ]
        if looks:
            losses["recalling"] = losses["recalling"] + looking_loss([torch.cat(looks)])
    if len(table := batch.get("weighed", ())):
        where = attentions[decided + 1], after[decided + 2]
        losses["weighing"] = _comparing_loss(teacher, *where, table)
    return losses


def looking_loss(weights: list[torch.Tensor]) -> torch.Tensor:
    """Supervised attention: the mean of -log of the attention weights at the right
    positions.
    """
    return -sum((weight.float() + 1e-6).log().mean() for weight in weights) / len(
        weights
    )


def naming_loss(
    words: nn.Linear, relation: nn.Linear, states, named, embedding
) -> torch.Tensor:
    """Mean loss of naming subjects and relations, `named` [n, 3], from states [n,
    width]; `words` and `relation`: the teacher's heads.
    """
    loss = words_loss(words, states, named[:, :2], embedding)
    return loss + 0.3 * nn.functional.cross_entropy(
        relation(states).float(), named[:, 2]
    )


def words_loss(words: nn.Linear, states, names, embedding) -> torch.Tensor:
    """Mean loss of predicting the first and last token of names [n, 2] from states [n,
    width].
    """
    named = words(states).view(len(states), 2, -1) @ embedding.T
    return nn.functional.cross_entropy(named.flatten(0, 1).float(), names.flatten())


def writing_loss(
    written: torch.Tensor, token: torch.Tensor, weights: torch.Tensor | None
) -> torch.Tensor:
    """Mean loss of writing tokens [n] from logits [n, vocabulary], weighted by
    `weights` [n].
    """
    if weights is None:
        return nn.functional.cross_entropy(written, token)
    losses = nn.functional.cross_entropy(written, token, reduction="none")
    return (losses * weights).sum() / weights.sum()


def _comparing_loss(
    teacher: CausalTeacher,
    attention: nn.Module,
    states: torch.Tensor,
    table: torch.Tensor,
) -> torch.Tensor:
    """The losses of attending from a value to the other one, and of predicting the
    outcome.
    """
    row, at, other, outcome = table.T
    looking = looking_loss([weights_at(attention, 1, row, at, other)])
    return looking + nn.functional.cross_entropy(
        teacher.outcome(states[row, at]).float(), outcome
    )
