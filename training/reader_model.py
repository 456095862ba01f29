"""The shipped extractive reader: a small DPR reader, its word-level tokenizer, its examples as
tensors, and the losses that teach it.
"""

from collections.abc import Sequence

import torch
from torch import nn
from transformers import DPRConfig, DPRReader, DPRReaderTokenizerFast

from ircotlib.laboratory.relations import RELATION_NAMES
from training.model import list_words
from training.reader_draws import Example

WIDTH, LAYERS, HEADS = 96, 3, 3
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NOWHERE = -100  # of a span that is not there; cross_entropy leaves it out


def make_reader_tokenizer() -> DPRReaderTokenizerFast:
    """The tokenizer: one token a word of the encyclopedia in lower case, years as two tokens."""
    words = dict.fromkeys(word.lower() for word in list_words())
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    return DPRReaderTokenizerFast(vocab=vocabulary, do_lower_case=True, model_max_length=512)


def make_reader(vocabulary: int, seed: int) -> DPRReader:
    """An untrained reader whose heads look at equal words first, and at the words beside."""
    torch.manual_seed(seed)
    config = DPRConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = DPRReader(config)
    _initialise(model.span_predictor.encoder.bert_model)
    return model


@torch.no_grad()
def _initialise(bert: nn.Module) -> None:
    """Mimetic initialisation (Trockman and Kolter 2023), and positions as waves, so that those near
    each other look alike.
    """
    for layer in bert.encoder.layer:
        attention = layer.attention.self
        attention.key.weight.normal_(std=WIDTH**-0.5)
        attention.query.weight.copy_(attention.key.weight)
        layer.attention.output.dense.weight.copy_(0.7 * attention.value.weight.T)
    embeddings = bert.embeddings
    embeddings.word_embeddings.weight.normal_(std=0.5)
    at = torch.arange(embeddings.position_embeddings.num_embeddings)[:, None]
    angles = at / 300 ** (torch.arange(0, WIDTH, 2) / WIDTH)
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    embeddings.position_embeddings.weight.copy_(0.3 * waves)


class ReaderTeacher(nn.Module):
    """The heads used in training only: which relation each value states; which one the query asks
    for, known at [CLS] and at each value; whether the page is that of the query's subject.
    """

    def __init__(self):
        super().__init__()
        self.stated = nn.Linear(WIDTH, len(RELATION_NAMES))
        self.asked = nn.Linear(WIDTH, len(RELATION_NAMES))
        self.about = nn.Linear(WIDTH, 1)


def encode_examples(
    examples: Sequence[Example], tokenizer: DPRReaderTokenizerFast
) -> dict[str, torch.Tensor]:
    """Examples as tensors: input_ids and attention_mask [rows, length], start and end [rows] of the
    answers in tokens, `stated` [values, 3]: row, place and relation of each value.
    """
    heads = tokenizer([e.query for e in examples], [e.passage.title for e in examples])["input_ids"]
    texts = [e.passage.text for e in examples]
    bodies = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)
    ids = [head + body for head, body in zip(heads, bodies["input_ids"], strict=True)]
    batch = dict(tokenizer.pad({"input_ids": ids}, return_tensors="pt"))
    starts, ends, stated = [], [], []
    for row, example in enumerate(examples):
        first, places = len(heads[row]), bodies["offset_mapping"][row]
        opening = {begin: first + n for n, (begin, _) in enumerate(places)}
        closing = {end: first + n for n, (_, end) in enumerate(places)}
        span = example.span
        starts.append(opening[span.start] if span else NOWHERE)
        ends.append(closing[span.end] if span else NOWHERE)
        for one in example.passage.spans:
            stated.append((row, opening[one.start], RELATION_NAMES.index(one.relation)))
    asked = [RELATION_NAMES.index(example.asked) for example in examples]
    named = {"start": starts, "end": ends, "stated": stated, "asked": asked}
    batch |= {name: torch.tensor(values) for name, values in named.items()}
    batch["about"] = torch.tensor([float(example.about) for example in examples])
    return batch


def reading_loss(
    model: DPRReader, teacher: ReaderTeacher, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict[str, float]]:
    """The loss of a batch, and its parts by name: start and end of the answer in its paragraph,
    whether the paragraph answers (each pair by itself, not one among several as DPR trains), and
    the teacher's.
    """
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    out = model(**inputs, output_hidden_states=True, return_dict=True)
    near, far = out.hidden_states[2], out.hidden_states[-2]
    hidden = (batch["attention_mask"] == 0) * -1e4
    (row, place, relation), asked = batch["stated"].T, batch["asked"]
    entropy, binary = nn.functional.cross_entropy, nn.functional.binary_cross_entropy_with_logits
    gold = (batch["start"] != NOWHERE).float()
    losses = {
        "span": entropy(out.start_logits + hidden, batch["start"])
        + entropy(out.end_logits + hidden, batch["end"]),
        "relevance": 2 * binary(out.relevance_logits, gold),
        "stated": 0.5 * entropy(teacher.stated(near[row, place]), relation),
        "asked": 0.5 * entropy(teacher.asked(far[:, 0]), asked)
        + 0.5 * entropy(teacher.asked(far[row, place]), asked[row]),
        "about": 0.5 * binary(teacher.about(far[:, 0])[:, 0], batch["about"]),
    }
    return sum(losses.values()), {name: loss.item() for name, loss in losses.items()}
