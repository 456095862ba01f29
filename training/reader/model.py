"""The extractive reader: a small DPR reader, its tokenizer, tensors and losses."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from transformers import DPRConfig, DPRReader, DPRReaderTokenizerFast

from ircot_laboratory.world.relations import RELATION_NAMES
from training.reader.draw_examples import ReaderExample
from training.words import list_words

WIDTH, LAYERS, HEADS = 64, 3, 4
WAVES = (1.5, 1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)  # of positions, in radians per word
POSITIONS = 2 * len(WAVES)  # dimensions that hold positions; as many as a head has
POSITION = WIDTH - POSITIONS  # the first of them
SHARPNESS = 3.0  # of the initial attention to words at an offset
# layer -> head -> the offset, in words, that the head attends to initially
BESIDE = {0: {0: -1, 1: -2, 2: 2, 3: 3}, 1: {2: -3, 3: 1}}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROWS = 64  # examples read at a time
NOWHERE = -100  # start and end if there is no answer; cross_entropy ignores it
PLACES = ("start", "end", "asked", "stated", "looks")  # tensors of encoded examples
INPUTS = ("input_ids", "attention_mask")  # those that the model reads


def make_reader_tokenizer() -> DPRReaderTokenizerFast:
    """One token for each word of the encyclopedia, in lower case; two for a year."""
    words = dict.fromkeys(word.lower() for word in list_words())
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    return DPRReaderTokenizerFast(
        vocab=vocabulary, do_lower_case=True, model_max_length=512
    )


def make_reader(vocabulary: int, seed: int) -> DPRReader:
    """Make an untrained reader whose heads attend to equal words, or to near ones."""
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
    config._attn_implementation = "eager"  # training reads the attention weights
    model = DPRReader(config)
    _initialise(model.span_predictor.encoder.bert_model)
    return model


@torch.no_grad()
def _initialise(bert: nn.Module) -> None:
    """Initialise the embeddings, with words in the first dimensions and positions as
    waves in the last ones. Heads attend to equal words (mimetic initialisation,
    Trockman and Kolter 2023); those of BESIDE attend to the words at an offset.
    """
    words = bert.embeddings.word_embeddings.weight
    positions = bert.embeddings.position_embeddings.weight
    words[:, :POSITION].normal_()
    words[:, POSITION:].zero_()
    angles = torch.arange(len(positions))[:, None] * torch.tensor(WAVES)
    positions.zero_()
    positions[:, POSITION:] = torch.cat([angles.sin(), angles.cos()], 1)
    for number, layer in enumerate(bert.encoder.layer):
        attention = layer.attention.self
        attention.key.weight.normal_(std=WIDTH**-0.5)
        attention.query.weight.copy_(attention.key.weight)
        layer.attention.output.dense.weight.copy_(0.7 * attention.value.weight.T)
        for head, offset in BESIDE.get(number, {}).items():
            rows = slice(head * POSITIONS, (head + 1) * POSITIONS)
            _look_beside(attention, rows, offset)


def _look_beside(attention: nn.Module, rows: slice, offset: int) -> None:
    """Make a head attend `offset` words ahead: the query is the position, rotated."""
    angles = torch.tensor(WAVES) * offset
    sin, cos = angles.sin().diag(), angles.cos().diag()
    turn = torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])
    for layer, matrix in (
        (attention.query, turn),
        (attention.key, torch.eye(POSITIONS)),
    ):
        layer.weight[rows] = 0
        layer.weight[rows, POSITION:] = SHARPNESS * matrix


class ReaderTeacher(nn.Module):
    """The heads used in training only. They predict which relation each value belongs
    to; which relation the query asks for, at [CLS] and at each value; and whether the
    page is that of the query's subject.
    """

    def __init__(self):
        super().__init__()
        self.stated = nn.Linear(WIDTH, len(RELATION_NAMES))
        self.asked = nn.Linear(WIDTH, len(RELATION_NAMES))
        self.about = nn.Linear(WIDTH, 1)


def encode_reader_examples(
    examples: Sequence[ReaderExample], tokenizer: DPRReaderTokenizerFast
) -> dict[str, torch.Tensor]:
    """Turn examples into tensors: `input_ids`, `attention_mask` [rows, length];
    `start`, `end` [rows], the first and last token of the answer, or NOWHERE; `asked`,
    `about` [rows]; `stated` [values, 3]: row, position and relation of each value;
    `looks` [looks, 5]: layer, row, head, and the positions from which and to which the
    head should attend.
    """
    titles = [example.passage.title for example in examples]
    heads = tokenizer([example.query for example in examples], titles)["input_ids"]
    texts = [example.passage.text for example in examples]
    bodies = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)
    ids = [head + body for head, body in zip(heads, bodies["input_ids"], strict=True)]
    batch = dict(tokenizer.pad({"input_ids": ids}, return_tensors="pt"))
    places: dict[str, list] = {name: [] for name in PLACES}
    for row, example in enumerate(examples):
        first, offsets = len(heads[row]), bodies["offset_mapping"][row]
        opening = {begin: first + n for n, (begin, _) in enumerate(offsets)}
        closing = {end: first + n for n, (_, end) in enumerate(offsets)}
        span = example.span
        places["start"].append(opening[span.start] if span else NOWHERE)
        places["end"].append(closing[span.end] if span else NOWHERE)
        places["asked"].append(RELATION_NAMES.index(example.asked))
        for fact in example.passage.spans:
            relation = RELATION_NAMES.index(fact.relation)
            places["stated"].append((row, opening[fact.start], relation))
        for layer, *look in _find_looks(example, tokenizer, heads[row], opening):
            places["looks"].append((layer, row, *look))
    batch |= {name: torch.tensor(values) for name, values in places.items()}
    batch["about"] = torch.tensor([float(example.about) for example in examples])
    return batch


def _find_looks(
    example: ReaderExample,
    tokenizer: DPRReaderTokenizerFast,
    head: list[int],
    opening: dict[int, int],
) -> Iterator[tuple[int, int, int, int]]:
    """Where heads should attend, as layer, head, from, to. In the second last layer:
    from a word of the title to the same word of the query, and from [CLS] and values to
    the word that asks. In the last layer: from [CLS] to both ends of the title, and to
    the value asked for. If there is no such word or value, the head should attend to
    the first [SEP].
    """
    end = head.index(tokenizer.sep_token_id)
    for at in range(end + 1, len(head) - 1):
        same = [earlier for earlier in range(1, end) if head[earlier] == head[at]]
        yield LAYERS - 2, 0, at, same[-1] if same else end
    if example.telling:
        telling = len(tokenizer(example.query[: example.telling])["input_ids"]) - 2
        for at in (0, *(opening[span.start] for span in example.passage.spans)):
            yield LAYERS - 2, 1, at, telling
    yield LAYERS - 1, 0, 0, end + 1
    yield LAYERS - 1, 2, 0, len(head) - 2
    values = [span for span in example.passage.spans if span.relation == example.asked]
    yield LAYERS - 1, 1, 0, opening[values[0].start] if values else end


def reader_losses(
    model: DPRReader, teacher: ReaderTeacher, batch: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The losses of a batch by name: start and end of the answer; whether the paragraph
    has the answer; attention; and the teacher's predictions. Unlike DPR's training,
    which ranks several paragraphs, this judges each pair of query and paragraph alone.
    """
    inputs = {name: batch[name] for name in INPUTS}
    out = model(
        **inputs, output_hidden_states=True, output_attentions=True, return_dict=True
    )
    *_, before, last = out.hidden_states
    padding = (batch["attention_mask"] == 0) * -1e4
    row, at, relation = batch["stated"].T
    asked = batch["asked"]
    entropy = nn.functional.cross_entropy
    binary = nn.functional.binary_cross_entropy_with_logits
    gold = (batch["start"] != NOWHERE).float()
    start = entropy(out.start_logits + padding, batch["start"])
    end = entropy(out.end_logits + padding, batch["end"])
    asked_at_cls = entropy(teacher.asked(before[:, 0]), asked)
    asked_at_values = entropy(teacher.asked(before[row, at]), asked[row])
    weights = torch.stack(out.attentions)[tuple(batch["looks"].T)]
    return {
        "span": start + end,
        "relevance": 2 * binary(out.relevance_logits, gold),
        "stated": 0.5 * entropy(teacher.stated(before[row, at]), relation),
        "asked": 0.5 * asked_at_cls + 0.5 * asked_at_values,
        "looking": -weights.clamp_min(1e-6).log().mean(),
        "about": 0.5 * binary(teacher.about(last[:, 0])[:, 0], batch["about"]),
    }


@torch.no_grad()
def read_reader_examples(
    model: DPRReader, examples: Sequence[ReaderExample]
) -> tuple[np.ndarray, np.ndarray]:
    """The reader's confidence in each example [n], and whether its most likely start
    and end are those of the answer [n]; False where the paragraph has no answer.
    """
    tokenizer = make_reader_tokenizer()
    confidence, right = [], []
    for first in range(0, len(examples), ROWS):
        batch = encode_reader_examples(examples[first : first + ROWS], tokenizer)
        out = model.float()(**{name: batch[name] for name in INPUTS}, return_dict=True)
        padding = (batch["attention_mask"] == 0) * -1e4
        start = (out.start_logits + padding).argmax(1)
        end = (out.end_logits + padding).argmax(1)
        hit = (start == batch["start"]) & (end == batch["end"])
        right.append((hit & (batch["start"] != NOWHERE)).numpy())
        confidence.append(out.relevance_logits.numpy())
    return np.concatenate(confidence), np.concatenate(right)
