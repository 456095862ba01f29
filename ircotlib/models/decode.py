"""Batched decoding: a prompt is read once for all its texts, and a row leaves the batch
after its last token, which transformers' `generate` does not do. The other prompts in a
batch change a text only where rounding decides between two tokens: rarely in float32,
more often in bfloat16.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from ircotlib.models.causal import Continued, Decoder, Prompts, causal, pad_rows
from ircotlib.models.prefixes import Prefixes
from ircotlib.models.weights import is_small, one_thread
from ircotlib.program import Sample, key


def close_up(goes_on: Sequence[bool]) -> list[int]:
    """The rows that go on; the last of them take the places of those that have ended.

    >>> close_up([True, False, True, True])
    [0, 3, 2]
    """
    kept = sum(goes_on)
    last = [row for row in range(kept, len(goes_on)) if goes_on[row]]
    return [row if goes_on[row] else last.pop() for row in range(kept)]


def most_probable(rows: Sequence[int], logits: Tensor) -> list[int]:
    """The most probable token of each row (greedy decoding)."""
    return logits.argmax(-1).tolist()


class Draws:
    """Samples from softmax(logits / temperature), for `decode`, in n rows of each
    request. Each row has its own random numbers, from its request and its number, so
    that a draw does not depend on the other rows: each token's logit gets one (the
    Gumbel-max trick), and the largest sum wins. `log_probabilities`: for each row, the
    sum over the tokens so far, at temperature 1.
    """

    def __init__(self, requests: Sequence[Sample]):
        self.temperatures: list[float] = []
        self._random: list[torch.Generator] = []
        for request in requests:
            self.temperatures += [request.temperature] * request.n
            for number in range(request.n):
                name = f"{key(request, '')} {number}".encode()
                seed = hashlib.blake2b(name, digest_size=4).digest()
                row = torch.Generator().manual_seed(int.from_bytes(seed, "little"))
                self._random.append(row)
        self.log_probabilities = [0.0] * len(self._random)

    def __call__(self, rows: Sequence[int], logits: Tensor) -> list[int]:
        """The next token of each row; logits: (rows, vocabulary)."""
        logs = logits.cpu().double().log_softmax(-1)
        draw = partial(torch.rand, logs.shape[1], dtype=logs.dtype)
        uniform = torch.stack([draw(generator=self._random[row]) for row in rows])
        gumbel = -(-uniform.log()).log()
        temperatures = logs.new_tensor([self.temperatures[row] for row in rows])
        # less the largest, so that the sum stays finite at any low temperature
        raised = (logs - logs.amax(-1, keepdim=True)) / temperatures[:, None] + gumbel
        tokens = raised.argmax(-1, keepdim=True)
        for row, log in zip(rows, logs.gather(-1, tokens)[:, 0].tolist(), strict=True):
            self.log_probabilities[row] += log
        return tokens[:, 0].tolist()


@torch.inference_mode()
def decode(
    model,
    prompts: Prompts,
    ends: Callable[[int, list[int]], bool],
    choose: Callable[[list[int], Tensor], list[int]] = most_probable,
    sources: Sequence[int] | None = None,
    prefixes: Prefixes | None = None,
) -> Iterator[tuple[int, list[int] | None]]:
    """Continue prompts token by token; when `ends(row, tokens so far)` is true, yield
    the row and its tokens; None once its logits are not finite (float16 overflows).

    `sources`: the prompt of each row; None: one row per prompt. `choose(rows, logits)`:
    the next token of each row; logits: (rows, vocabulary).
    """
    prefixes = Prefixes(0) if prefixes is None else prefixes
    seq2seq = model.config.is_encoder_decoder
    decoder = _seq2seq(model, prompts) if seq2seq else causal(model, prompts, prefixes)
    small = is_small(model)
    # of each row that goes on, the row of the logits: at first, that of its prompt
    indices = list(range(len(prompts)) if sources is None else sources)
    live = list(range(len(indices)))
    written: list[list[int]] = [[] for _ in live]
    sent: Continued | None = None
    while live:
        with one_thread(small):
            logits = next(decoder) if sent is None else decoder.send(sent)
            logits = logits[indices]
            tokens = choose(live, logits)
            finite = logits.amax(-1).isfinite().tolist()  # not if one of them is NaN
        for row, token in zip(live, tokens, strict=True):
            written[row].append(token)
        sound = {row for row, is_sound in zip(live, finite, strict=True) if is_sound}
        ended = {row for row in live if row not in sound or ends(row, written[row])}
        for row in sorted(ended):
            yield row, written[row] if row in sound else None
        # rows that ended leave: without it, all takes 1.07 times as long
        going = close_up([row not in ended for row in live])
        live = [live[index] for index in going]
        sent = [indices[index] for index in going], [written[row][-1] for row in live]
        indices = list(range(len(live)))  # from now on, the logits have a row for each


def _seq2seq(model, prompts: Prompts) -> Decoder:
    """As causal.causal, for models with an encoder, which reads the prompts."""
    ids, mask, _ = pad_rows(model, prompts, "right")  # B, T
    encoded = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    start = model.generation_config.decoder_start_token_id
    start = model.config.decoder_start_token_id if start is None else start
    ids = torch.full_like(ids[:, :1], start)  # B, 1: what the decoder reads first
    decoder = model.config.get_text_config(decoder=True)
    cache = EncoderDecoderCache(*(DynamicCache(config=decoder) for _ in range(2)))
    while True:
        read = {"encoder_outputs": BaseModelOutput(encoded), "attention_mask": mask}
        state = {"past_key_values": cache, "use_cache": True}
        output = model(**read, **state, decoder_input_ids=ids)
        kept, tokens = yield output.logits[:, -1]  # B, V
        if kept != list(range(len(ids))):
            # what the encoder wrote is in the cache: only its number of rows matters
            encoded = encoded[:1].expand(len(kept), -1, -1)
            mask = mask[kept]
            cache.batch_select_indices(torch.tensor(kept, device=ids.device))
        ids = torch.tensor(tokens, device=ids.device)[:, None]
