"""T-REx, slot filling (Elsahar et al. 2018), in KILT's format."""

from functools import partial

from ircotlib.datasets import Dataset
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE, SOURCE, read_beside, read_kilt
from ircotlib.datasets.wording import ask_relation
from ircotlib.metrics import cover_em, exact_match

DATASET = Dataset(
    name="trex",
    title="T-REx",
    files=("trex-dev-kilt.jsonl",),
    source=SOURCE,
    read=partial(read_kilt, dataset="trex", ask=ask_relation),
    scores={"cover_em": cover_em, "em": exact_match},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
    example_family="slotfilling",
    order=7,
)
