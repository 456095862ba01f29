"""The losses that teach the causal model to read.

Where a T5's encoder sees the whole paragraph, this model sees only the words before.
"""

import torch
from torch import nn

from ircotlib.laboratory.relations import RELATION_NAMES
from training.causal import weights_at
from training.causal_encode import DecidedAt
from training.teach import OUTCOMES, looking_loss, naming_loss

MIDDLE = 4  # the number of layers after which a state must name what it is about
COMPARING = 2  # the layer whose head 1 attends from one compared value back to the other


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
    middle: int = MIDDLE,
    knowing: float = 0.5,
) -> tuple[torch.Tensor, dict[str, float]]:
    """The loss of a batch, and its parts by name (as teach.total_loss). `middle`: the number of
    layers after which a state must name what it is about; `knowing`: the weight of these losses.
    """
    out = model.base_model(batch["input_ids"], output_hidden_states=True, use_cache=False)
    attentions = [_attention(layer) for layer in model.base_model.layers]
    embedding, states = model.get_input_embeddings().weight, out.hidden_states[middle]
    row, at, token = batch["written"].T
    written = model.lm_head(out.last_hidden_state[row, at]).float()
    losses = {"writing": _writing_loss(written, token, batch.get("weights"))}
    if len(places := batch["sources"]):
        weights = [weights_at(attention, 0, *places.T) for attention in attentions[-2:]]
        losses["looking"] = looking_loss(weights)
    for name in ("stated", "decided"):
        if len(places := batch[name]):
            losses[name] = knowing * _knowing_loss(teacher, states, places, embedding)
    if len(places := batch["compared"]):
        losses["comparing"] = knowing * _comparing_loss(teacher, attentions, states, places)
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


def _comparing_loss(
    teacher: CausalTeacher, attentions: list, states: torch.Tensor, compared: torch.Tensor
) -> torch.Tensor:
    """The losses of attending from a value to the one before it, and of predicting the outcome."""
    row, at, other, outcome = compared.T
    looking = looking_loss([weights_at(attentions[COMPARING], 1, row, at, other)])
    told = teacher.outcome(states[row, at]).float()
    return looking + nn.functional.cross_entropy(told, outcome)
