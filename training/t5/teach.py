"""The losses that teach a T5 to read: what to write, where to attend, which value
belongs to which subject, and how values compare.

All but the first need the positions that only training examples have. The heads that
some of them need are discarded, so that the trained model is a plain T5.
"""

import torch
from torch import nn

from ircot_laboratory.world.relations import RELATION_NAMES
from training.causal import looking_loss, naming_loss
from training.positions import OUTCOMES, PROMPT, TARGET

# the encoder layer whose heads 0 and 1 attend from a value to its subject's two words
BELONGING = 2
# the layer, of encoder and decoder, and the head of it that attend from one compared
# value to the other
COMPARING = 1


class T5Teacher(nn.Module):
    """The heads used in training only, one of each kind for the encoder (0) and the
    decoder (1).

    From the state at a value they predict the first and last word of its subject, its
    relation, and how it compares with another value.
    """

    def __init__(self, width: int):
        super().__init__()

        def pair(columns: int) -> nn.ModuleList:
            return nn.ModuleList(nn.Linear(width, columns) for _ in range(2))

        self.words = pair(2 * width)
        self.relation = pair(len(RELATION_NAMES))
        self.outcome = pair(OUTCOMES)


def t5_losses(
    model, teacher: T5Teacher, batch: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The losses of a batch (encode.encode) by name."""
    inputs = ("input_ids", "attention_mask", "decoder_input_ids", "labels")
    out = model(
        **{name: batch[name] for name in inputs},
        output_attentions=True,
        output_hidden_states=True,
    )
    embedding = model.get_input_embeddings().weight
    states = out.encoder_last_hidden_state, out.decoder_hidden_states[-2]
    losses = {"writing": out.loss, **_looking_losses(model, out, batch)}
    for side, name in enumerate(("stated", "decided")):
        if len(table := batch[name]):
            heads = teacher.words[side], teacher.relation[side]
            here = states[side][table[:, 0], table[:, 1]]
            losses[name] = 0.5 * naming_loss(*heads, here, table[:, -3:], embedding)
    if len(table := batch["compared"]):
        losses["comparing"] = 0.5 * _comparing_loss(teacher, out, states, table)
    return losses


def _looking_losses(
    model, out, batch: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Supervised attention: to a source, to what asks for it, to a subject."""
    losses = {}
    rows, columns = (batch["sources"] >= 0).nonzero(as_tuple=True)
    if len(rows):
        sources = batch["sources"][rows, columns]
        layers = out.cross_attentions[-2:]
        weights = [weights[rows, 0, columns, sources] for weights in layers]
        losses["looking"] = looking_loss(weights)
        seen = out.encoder_last_hidden_state[rows, sources]
        words = batch["input_ids"][rows, sources]
        losses["carrying"] = 0.5 * _carrying_loss(model, seen, words)
    rows, columns = (batch["asked"] >= 0).nonzero(as_tuple=True)
    if len(rows):
        asked = batch["asked"][rows, columns]
        weights = [out.cross_attentions[0][rows, 1, columns, asked]]
        losses["asking"] = looking_loss(weights)
    if len(batch["stated"]):
        row, at, named = batch["stated"].T[:3]
        encoder = out.encoder_attentions[BELONGING]
        weights = [encoder[row, head, at, named + head] for head in (0, 1)]
        losses["belonging"] = 0.5 * looking_loss(weights)
    if len(about := batch["about"]):
        # In the target, the second layer looks at both words of the subject; in the
        # prompt, the first layer looks at its last word.
        weights = []
        side = about[:, 2]
        if len(in_target := about[side == TARGET]):
            row, at, _, subject = in_target.T
            layer = out.decoder_attentions[1]
            weights += [layer[row, n, at, subject + n] for n in (0, 1)]
        if len(in_prompt := about[side == PROMPT]):
            row, at, _, subject = in_prompt.T
            weights.append(out.cross_attentions[0][row, 0, at, subject + 1])
        losses["about"] = 0.5 * looking_loss(weights)
    return losses


def _carrying_loss(model, seen: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """The loss of predicting words [n] from what head 0 of the last layers brings."""
    loss = torch.zeros((), device=seen.device)
    for block in model.decoder.block[-2:]:
        attention = block.layer[1].EncDecAttention
        width = attention.key_value_proj_dim
        brought = seen @ attention.v.weight[:width].T @ attention.o.weight[:, :width].T
        scaled = model.decoder.final_layer_norm(brought) * model.model_dim**-0.5
        written = model.lm_head(scaled).float()
        loss = loss + 0.5 * nn.functional.cross_entropy(written, words)
    return loss


def _comparing_loss(
    teacher: T5Teacher, out, states: tuple, compared: torch.Tensor
) -> torch.Tensor:
    """The losses of attending to the other value, and of predicting the outcome."""
    attentions = {  # by the sides of the two values
        (PROMPT, PROMPT): out.encoder_attentions[COMPARING],
        (TARGET, TARGET): out.decoder_attentions[COMPARING],
        (TARGET, PROMPT): out.cross_attentions[COMPARING],
    }
    loss = torch.zeros((), device=compared.device)
    for (side, other_side), weights in attentions.items():
        table = compared[(compared[:, 1] == side) & (compared[:, 3] == other_side)]
        row, _, at, _, other, outcome = table.T
        if len(row):
            looking = looking_loss([weights[row, COMPARING, at, other]])
            predicted = teacher.outcome[side](states[side][row, at]).float()
            loss = loss + looking + nn.functional.cross_entropy(predicted, outcome)
    return loss
