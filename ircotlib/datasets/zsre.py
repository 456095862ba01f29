"""zsRE, slot filling (Levy et al. 2017), in KILT's format."""

from functools import partial

from ircotlib.datasets import Dataset
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE, SOURCE, read_beside, read_kilt
from ircotlib.datasets.wording import ask_relation
from ircotlib.metrics import cover_em, exact_match

DATASET = Dataset(
    name="zsre",
    title="zsRE",
    files=("structured_zeroshot-dev-kilt.jsonl",),
    source=SOURCE,
    read=partial(read_kilt, dataset="zsre", ask=ask_relation),
    scores={"cover_em": cover_em, "em": exact_match},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    example_family="slotfilling",
    order=6,
)
