"""The losses that teach a T5 to read: what to write, where to attend, which value belongs to which
subject, and how values compare.

All but the first need the positions that only training examples have. The heads that some of them
need are discarded, so that the trained model is a plain T5.
"""

import torch
from torch import nn

from ircot_laboratory.world.relations import RELATION_NAMES
from training.t5.places import PROMPT, TARGET, YEARS_AFTER

# the encoder layer whose heads 0 and 1 attend from a value to the two words of its subject
BELONGING = 2
# the layer, of the encoder and of the decoder, and also the head in it, that attends from one
# compared value to the other
COMPARING = 1
OUTCOMES = YEARS_AFTER + 100


class Teacher(nn.Module):
    """The heads used in training only, one of each kind for the encoder (0) and the decoder (1).

    From the state at a value they predict the first and last word of its subject, its relation, and
    how it compares with another value.
    """

    def __init__(self, width: int):
        super().__init__()
        self.words = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(2))
        self.relation = nn.ModuleList(nn.Linear(width, len(RELATION_NAMES)) for _ in range(2))
        self.outcome = nn.ModuleList(nn.Linear(width, OUTCOMES) for _ in range(2))

    def naming_loss(
        self,
        side: int,
        states: torch.Tensor,
        subjects: torch.Tensor,
        relations: torch.Tensor,
        embedding: torch.Tensor,
    ) -> torch.Tensor:
        """Mean loss of naming subjects [n, 2] and relations [n] from states [n, width]."""
        return naming_loss(
            self.words[side], self.relation[side], states, subjects, relations, embedding
        )

    def comparing_loss(
        self, side: int, states: torch.Tensor, outcomes: torch.Tensor
    ) -> torch.Tensor:
        """Mean loss of predicting outcomes [n] from states [n, width]."""
        return nn.functional.cross_entropy(self.outcome[side](states).float(), outcomes)


def naming_loss(
    words: nn.Linear, relation: nn.Linear, states, subjects, relations, embedding
) -> torch.Tensor:
    """Mean loss of naming subjects [n, 2] and relations [n] from states [n, width]."""
    named = words(states).view(len(states), 2, -1) @ embedding.T
    loss = nn.functional.cross_entropy(named.flatten(0, 1).float(), subjects.flatten())
    return loss + 0.3 * nn.functional.cross_entropy(relation(states).float(), relations)


def total_loss(
    model, teacher: Teacher, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict[str, float]]:
    """The loss of a batch, and its parts by name."""
    inputs = {
        name: batch[name] for name in ("input_ids", "attention_mask", "decoder_input_ids", "labels")
    }
    out = model(**inputs, output_attentions=True, output_hidden_states=True)
    embedding = model.get_input_embeddings().weight
    states = out.encoder_last_hidden_state, out.decoder_hidden_states[-2]
    losses = {"writing": out.loss, **_looking_losses(model, out, batch)}
    for side, name in enumerate(("stated", "decided")):
        if len(at := batch[name]):
            losses[name] = 0.5 * teacher.naming_loss(
                side, states[side][at[:, 0], at[:, 1]], at[:, -3:-1], at[:, -1], embedding
            )
    if len(batch["compared"]):
        encoder = model.encoder.block[COMPARING].layer[0].SelfAttention.weights
        attentions = {
            (PROMPT, PROMPT): encoder,
            (TARGET, TARGET): out.decoder_attentions[COMPARING],
            (TARGET, PROMPT): out.cross_attentions[COMPARING],
        }
        losses["comparing"] = 0.5 * _comparing_loss(attentions, teacher, states, batch["compared"])
    return sum(losses.values()), {name: loss.item() for name, loss in losses.items()}


def _looking_losses(model, out, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The losses of supervised attention: to the source of what is written, to the word that asks
    for it, and to the subject of a value that is read or about to be written; also `carrying`.
    """
    losses = {}
    rows, columns = (batch["sources"] >= 0).nonzero(as_tuple=True)
    if len(rows):
        sources = batch["sources"][rows, columns]
        losses["looking"] = looking_loss(
            [layer[rows, 0, columns, sources] for layer in out.cross_attentions[-2:]]
        )
        losses["carrying"] = 0.5 * _carrying_loss(
            model, out.encoder_last_hidden_state[rows, sources], batch["input_ids"][rows, sources]
        )
    rows, columns = (batch["asked"] >= 0).nonzero(as_tuple=True)
    if len(rows):
        losses["asking"] = looking_loss(
            [out.cross_attentions[0][rows, 1, columns, batch["asked"][rows, columns]]]
        )
    if len(batch["stated"]):
        row, position, subject = batch["stated"].T[:3]
        weights = model.encoder.block[BELONGING].layer[0].SelfAttention.weights
        losses["belonging"] = 0.5 * looking_loss(
            [weights[row, head, position, subject + head] for head in (0, 1)]
        )
    if len(batch["about"]):
        losses["about"] = 0.5 * _about_loss(out, batch["about"])
    return losses


def looking_loss(weights: list[torch.Tensor]) -> torch.Tensor:
    """Supervised attention: the mean of -log of the attention weights at the right positions."""
    return -sum((weight.float() + 1e-6).log().mean() for weight in weights) / len(weights)


def _carrying_loss(model, seen: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """The loss of predicting words [n] from what head 0 of the last two layers takes from the
    states [n, width] of these words.
    """
    loss = torch.zeros((), device=seen.device)
    for block in model.decoder.block[-2:]:
        attention = block.layer[1].EncDecAttention
        width = attention.key_value_proj_dim
        brought = seen @ attention.v.weight[:width].T @ attention.o.weight[:, :width].T
        written = model.lm_head(model.decoder.final_layer_norm(brought) * model.model_dim**-0.5)
        loss = loss + 0.5 * nn.functional.cross_entropy(written.float(), words)
    return loss


def _about_loss(out, about: torch.Tensor) -> torch.Tensor:
    """The loss of attending from where a value is about to be written to its subject: in the
    target, the second layer to both of its words; in the prompt, the first layer to its last word.
    """
    row, at, _, place = about[about[:, 2] == TARGET].T
    weights = (
        [out.decoder_attentions[1][row, head, at, place + head] for head in (0, 1)]
        if len(row)
        else []
    )
    row, at, _, place = about[about[:, 2] == PROMPT].T
    weights += [out.cross_attentions[0][row, 0, at, place + 1]] if len(row) else []
    return looking_loss(weights)


def _comparing_loss(
    attentions: dict, teacher: Teacher, states: tuple, compared: torch.Tensor
) -> torch.Tensor:
    """The losses of attending from a value to the other one, and of predicting the outcome.
    `attentions`: the attention weights by the sides of the two values.
    """
    loss = torch.zeros((), device=compared.device)
    for (side, other_side), weights in attentions.items():
        row, _, start, _, other, outcome = compared[
            (compared[:, 1] == side) & (compared[:, 3] == other_side)
        ].T
        if len(row):
            loss = (
                loss
                + looking_loss([weights[row, COMPARING, start, other]])
                + teacher.comparing_loss(side, states[side][row, start], outcome)
            )
    return loss
