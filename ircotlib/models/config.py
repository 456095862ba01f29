"""What config.json and the headers of the weight files say about a model, without torch."""

import re
from math import prod
from pathlib import Path

from ircotlib.models.folders import CONFIG, T5, find_kind, list_files, read_json, read_shapes

# parameters; in smaller models, a second core makes a batch a fifth faster on an idle machine, and
# halves its speed on a busy one
SMALL = 10_000_000
BUFFERS = re.compile(r"\.(attn|attention)\.(masked_)?bias$|inv_freq$")  # not parameters


def is_encoder_decoder(folder: Path) -> bool:
    """Whether a model reads its prompt with an encoder, as T5 does."""
    return read_json(folder, CONFIG).get("is_encoder_decoder", find_kind(folder) == T5)


def count_parameters(folder: Path) -> int:
    """The number of parameters, from the headers of the weight files; tied ones count once."""
    shapes = {}
    for path in list_files(folder, "*.safetensors"):
        shapes |= read_shapes(path)
    tied = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    tied = tied if "shared.weight" in shapes else set()
    if read_json(folder, CONFIG).get("tie_word_embeddings"):
        tied |= {"lm_head.weight", "embed_out.weight"}
    counted = [name for name in shapes if name not in tied and not BUFFERS.search(name)]
    return sum(prod(shapes[name]) for name in counted)
