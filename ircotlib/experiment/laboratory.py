"""The only module that uses the laboratory: its data, and facts that judge chains."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ircot_laboratory.questions.questions import ALL_DATASETS
from ircotlib.errors import UserError
from ircotlib.files import resolve
from ircotlib.parameters import Parameters

if TYPE_CHECKING:
    from ircot_laboratory.judge.laboratory_facts import LaboratoryFacts


def data_folder(data_dir: str, data: Path) -> Path | str:
    """The folder of the official files, or of the laboratory, made if it is missing."""
    from ircot_laboratory.make import make_laboratory

    return resolve(data_dir) if data_dir else make_laboratory(data / "laboratory")


def find_facts(p: Parameters, dataset: str) -> "LaboratoryFacts | None":
    """The facts of a laboratory's data set; None for other data, whose are not known.
    They `judge` a sentence: "true", "false" or "unsure" (IRCoT §5, Figure 7).
    UserError for a laboratory of another version.
    """
    from ircot_laboratory.make import ABOUT, QUESTIONS, SEED, SIZE, hash_generator

    about = Path(resolve(p.data_dir)) / ABOUT
    if dataset not in ALL_DATASETS or (p.data_dir and not about.is_file()):
        return None
    if not p.data_dir:
        return _facts(dataset, SEED, SIZE, QUESTIONS)
    made = json.loads(about.read_bytes())
    if made["generator"] != hash_generator():
        raise UserError(
            f"{about}: the facts of other versions are unknown; make it again"
        )
    return _facts(dataset, made["seed"], made["size"], made["questions"])


@cache
def _facts(*world) -> "LaboratoryFacts":
    from ircot_laboratory.judge.laboratory_facts import LaboratoryFacts
    from ircot_laboratory.make import make_dataset

    return LaboratoryFacts(make_dataset(*world).world)
