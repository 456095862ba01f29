"""zsRE, slot filling (Levy et al. 2017), in KILT's format."""

from dataclasses import replace
from functools import partial

from ircotlib.datasets import trex
from ircotlib.datasets.kilt import read_kilt
from ircotlib.datasets.wording import ask_relation

DATASET = replace(
    trex.DATASET,
    name="zsre",
    title="zsRE",
    files=("structured_zeroshot-dev-kilt.jsonl",),
    read=partial(read_kilt, dataset="zsre", ask=ask_relation),
    order=6,
)
