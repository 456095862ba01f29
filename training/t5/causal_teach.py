"""The losses that teach the causal model to read.

Where a T5's encoder sees the whole paragraph, this model sees only the words before.
"""

from typing import NamedTuple

import torch
from torch import nn

from ircot_laboratory.world.relations import RELATION_NAMES
from training.t5.causal import weights_at
from training.t5.causal_encode import DecidedAt
from training.t5.teach import OUTCOMES, looking_loss, naming_loss


class Depths(NamedTuple):
    """The number of layers after which a state must name the fact stated there (`stated`), the fact
    that the next words are about (`decided`), and how two values compare (`compared`). The layers,
    from 0, whose head 1 attends from one compared value back to the other (`comparing`), and from
    where the outcome decides what is written back to the later value (`concluding`).
    """

    stated: int = 4
    decided: int = 4
    compared: int = 4
    comparing: int = 2
    concluding: int = 3


class CausalTeacher(nn.Module):
    """The heads used in training only. From a state they predict the words of the subject and of
    the value, the relation, and how two values compare.
    """

    def __init__(self, width: int):
        super().__init__()
        self.words = nn.Linear(width, 2 * width)
        self.value = nn.Linear(width, width)
        self.relation = nn.Linear(width, len(RELATION_NAMES))
        self.outcome = nn.Linear(width, OUTCOMES)


def causal_loss(
    model,
    teacher: CausalTeacher,
    batch: dict[str, torch.Tensor],
    depths: Depths = Depths(),
    knowing: float = 0.5,
) -> tuple[torch.Tensor, dict[str, float]]:
    """The loss of a batch, and its parts by name (as teach.total_loss). `knowing`: the weight of
    the losses at `depths`.

    A fact that leads to the decided one must be named one layer earlier, the fact before it two
    layers earlier, and so on: each layer then has to look up one fact.
    """
    out = model.base_model(batch["input_ids"], output_hidden_states=True, use_cache=False)
    attentions = [_attention(layer) for layer in model.base_model.layers]
    embedding, after = model.get_input_embeddings().weight, out.hidden_states
    row, at, token = batch["written"].T
    written = model.lm_head(out.last_hidden_state[row, at]).float()
    losses = {"writing": _writing_loss(written, token, batch.get("weights"))}
    if len(places := batch["sources"]):
        weights = [weights_at(attention, 0, *places.T) for attention in attentions[-2:]]
        losses["looking"] = looking_loss(weights)
    for name, layers in (("stated", depths.stated), ("decided", depths.decided)):
        if len(places := batch[name]):
            losses[name] = knowing * _knowing_loss(teacher, after[layers], places, embedding)
    if len(places := batch.get("inferred", ())):
        losses["inferred"] = knowing * _inferring_loss(
            teacher, after, depths.decided, places, embedding
        )
    if len(places := batch["compared"]):
        comparing, states = attentions[depths.comparing], after[depths.compared]
        losses["comparing"] = knowing * _comparing_loss(teacher, comparing, states, places)
    if len(places := batch.get("concluded", ())):
        looks = weights_at(attentions[depths.concluding], 1, *places.T)
        losses["concluding"] = knowing * looking_loss([looks])
    return sum(losses.values()), {name: loss.item() for name, loss in losses.items()}


def _attention(layer: nn.Module) -> nn.Module:
    """The attention of a layer of a GPT-NeoX or a Llama."""
    return layer.attention if hasattr(layer, "attention") else layer.self_attn


def _writing_loss(
    written: torch.Tensor, token: torch.Tensor, weights: torch.Tensor | None
) -> torch.Tensor:
    """Mean loss of writing tokens [n] from logits [n, vocabulary], weighted by `weights` [n]."""
    if weights is None:
        return nn.functional.cross_entropy(written, token)
    losses = nn.functional.cross_entropy(written, token, reduction="none")
    return (losses * weights).sum() / weights.sum()


def _knowing_loss(
    teacher: CausalTeacher, states: torch.Tensor, places: torch.Tensor, embedding: torch.Tensor
) -> torch.Tensor:
    """The loss of predicting subject and relation from the states at `places`, and also the value
    if the table has it (StatedAt).
    """
    here, heads = states[places[:, 0], places[:, 1]], (teacher.words, teacher.relation)
    loss = naming_loss(*heads, here, places[:, 2:4], places[:, 4], embedding)
    if places.shape[1] == len(DecidedAt._fields):
        return loss
    value = teacher.value(here) @ embedding.T
    return loss + nn.functional.cross_entropy(value.float(), places[:, 5])


def _inferring_loss(
    teacher: CausalTeacher,
    after: tuple[torch.Tensor, ...],
    decided: int,
    places: torch.Tensor,
    embedding: torch.Tensor,
) -> torch.Tensor:
    """The loss of naming the facts (InferredAt) that lead to what is decided after that many
    layers. `after`: the states after each layer, beginning with the embeddings.
    """
    layers = (decided - places[:, 5]).clamp(min=1).tolist()
    here = torch.stack(
        [
            after[layer][row, at]
            for layer, (row, at) in zip(layers, places[:, :2].tolist(), strict=True)
        ]
    )
    heads = teacher.words, teacher.relation
    return naming_loss(*heads, here, places[:, 2:4], places[:, 4], embedding)


def _comparing_loss(
    teacher: CausalTeacher, attention: nn.Module, states: torch.Tensor, compared: torch.Tensor
) -> torch.Tensor:
    """The losses of attending from a value to the one before it, and of predicting the outcome."""
    row, at, other, outcome = compared.T
    looking = looking_loss([weights_at(attention, 1, row, at, other)])
    told = teacher.outcome(states[row, at]).float()
    return looking + nn.functional.cross_entropy(told, outcome)
