"""Where the workbench asks the laboratory: for data, where a profile has none of its own, and for
the facts that judge a chain. Nothing else in it knows that there is a laboratory.
"""

from pathlib import Path

from ircotlib.datasets.facts import Facts
from ircotlib.files.paths import DATA
from ircotlib.parameters import Parameters


def data_folder(data_dir: str, data: Path = DATA) -> Path | str:
    """The folder of the official files: `data_dir` or, if that is "", the laboratory, which is made
    in `data` if it is not there.
    """
    if data_dir:
        return data_dir
    from ircot_laboratory.make import make_laboratory

    return make_laboratory(data / "laboratory")


def find_facts(p: Parameters, dataset: str) -> Facts | None:
    """The facts of a data set; None if they are not known, that is, if the data are not the
    laboratory's.
    """
    if p.data_dir:
        return None
    from ircot_laboratory.judge.facts import LaboratoryFacts

    return LaboratoryFacts(dataset)
