"""The losses that teach a miniature model to read: what to write, where to look, what belongs to
whom, and how values compare.

All but the first are for training only; the heads that some need are thrown away, so that the
trained model is a plain T5.
"""

import torch
from torch import nn

from ircotlib.laboratory.relations import RELATION_NAMES
from training.examples import PROMPT, TARGET, YEARS_AFTER, Example

IGNORED = -100  # label without a loss
# the layer of the encoder whose heads 0 and 1 look from a value to the two words of its subject
BELONGING = 2
# the layer, of encoder and of decoder, and the head in it that look from one compared value to the
# other
COMPARING = 1
OUTCOMES = YEARS_AFTER + 100


class Teacher(nn.Module):
    """The heads used in training only, one for the encoder (0) and one for the decoder (1).

    From a state they read the first and last word of the subject that a value belongs to, its
    relation, and how it compares.
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
        """Mean loss of telling outcomes [n] from states [n, width]."""
        return nn.functional.cross_entropy(self.outcome[side](states).float(), outcomes)


def naming_loss(
    words: nn.Linear, relation: nn.Linear, states, subjects, relations, embedding
) -> torch.Tensor:
    """Mean loss of naming subjects [n, 2] and relations [n] from states [n, width] with two heads."""
    named = words(states).view(len(states), 2, -1) @ embedding.T
    loss = nn.functional.cross_entropy(named.flatten(0, 1).float(), subjects.flatten())
    return loss + 0.3 * nn.functional.cross_entropy(relation(states).float(), relations)


def encode(examples: list[Example], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into tensors.

    `input_ids`, `attention_mask` [rows, prompt length]. `labels`, `sources`, `asked` [rows, target
    length]: what to write, the prompt position it is copied from, and that of the word of the
    question that asks for it, else -1. `stated` [n, 6], `decided` [n, 5]: row, position, (`stated`
    only:) position of the subject's first word, first and last word of the subject, relation.
    `compared` [n, 6]: row, side and position of the value and of the other one, outcome. `about`
    [n, 4]: row, position, side and position of the subject's first word.
    """
    prompts = tokenizer([e.prompt for e in examples], return_offsets_mapping=True)
    targets = tokenizer([e.target for e in examples], return_offsets_mapping=True)
    batch = _empty_batch(prompts["input_ids"], targets["input_ids"])
    rows = {"stated": [], "decided": [], "compared": [], "about": []}
    for row, example in enumerate(examples):
        starts, out_starts = (_starts(side["offset_mapping"][row]) for side in (prompts, targets))
        _fill_row(
            batch,
            row,
            example,
            prompts["input_ids"][row],
            targets["input_ids"][row],
            starts,
            out_starts,
        )
        rows["stated"] += [
            (row, starts[at], starts[named], *_subject(tokenizer, title), RELATION_NAMES.index(r))
            for at, named, title, r in example.stated
        ]
        rows["decided"] += [
            (row, out_starts[at], *_subject(tokenizer, title), RELATION_NAMES.index(r))
            for at, title, r in example.decided
        ]
        # decoder inputs are one later
        inputs = {PROMPT: starts, TARGET: {at: position + 1 for at, position in out_starts.items()}}
        rows["about"] += [
            (row, out_starts[at], side, inputs[side][place]) for at, side, place in example.about
        ]
        for one in example.compared:
            places = [(side, inputs[side][at]) for side, at in one.places]
            rows["compared"].append((row, *places[0], *places[1], one.outcome))
    widths = {"stated": 6, "decided": 5, "compared": 6, "about": 4}
    return batch | {
        name: torch.tensor(rows[name], dtype=torch.long).view(-1, width)
        for name, width in widths.items()
    }


def _empty_batch(prompts: list[list[int]], targets: list[list[int]]) -> dict[str, torch.Tensor]:
    """Padding only, in lengths that are multiples of 32 and 8: few different shapes are faster."""
    shape = len(prompts), -(-max(map(len, prompts)) // 32) * 32
    out_shape = len(targets), -(-max(map(len, targets)) // 8) * 8
    prompt = {
        "input_ids": torch.zeros(shape, dtype=torch.long),
        "attention_mask": torch.zeros(shape, dtype=torch.long),
    }
    target = {
        "labels": torch.full(out_shape, IGNORED),
        "decoder_input_ids": torch.zeros(out_shape, dtype=torch.long),
    }
    return {
        **prompt,
        **target,
        "sources": torch.full(out_shape, -1),
        "asked": torch.full(out_shape, -1),
    }


def _fill_row(
    batch: dict,
    row: int,
    example: Example,
    ids: list[int],
    target: list[int],
    starts: dict[int, int],
    out_starts: dict[int, int],
) -> None:
    batch["input_ids"][row, : len(ids)] = torch.tensor(ids)
    batch["attention_mask"][row, : len(ids)] = 1
    batch["decoder_input_ids"][row, 1 : len(target)] = torch.tensor(target[:-1])
    silent = sum(start < example.silent for start in out_starts)
    end = len(target) if example.complete else len(target) - 1  # a cut chain does not end there
    batch["labels"][row, silent:end] = torch.tensor(target[silent:end])
    for at, source, length in example.copies:
        for offset in range(length):
            if at + offset in out_starts and source + offset in starts:
                batch["sources"][row, out_starts[at + offset]] = starts[source + offset]
    for at, source, length in example.asked:
        places = [position for start, position in out_starts.items() if at <= start < at + length]
        batch["asked"][row, places] = starts[source]


def _starts(offsets: list[tuple[int, int]]) -> dict[int, int]:
    """Position of the token by the character it starts at, the end token left out."""
    return {start: position for position, (start, _) in enumerate(offsets[:-1])}


def _subject(tokenizer, title: str) -> list[int]:
    return tokenizer.convert_tokens_to_ids(title.split())


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
    """Where to look for what is written, for what is asked, and for the subject, of a value that is
    read and of one that is about to be written.
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
    """How little attention goes where it should: -log of the attention weights there, averaged."""
    return -sum((weight.float() + 1e-6).log().mean() for weight in weights) / len(weights)


def _carrying_loss(model, seen: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """What head 0 of the last two layers brings from the states seen [n, width] must be written as
    the words that stand there [n].
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
    """From where a value is about to be written: in the target the second layer looks at both words
    of its subject, in the prompt the first at the last one.
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
    """From a value, the other one must be looked at, and the outcome told; `attentions`: by the
    sides of the two.
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
