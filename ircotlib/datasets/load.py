"""Questions and corpus of a data set, from the official files in a user's folder."""

from collections import Counter
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.hotpotqa import read_hotpotqa
from ircotlib.datasets.mini import make_mini
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.paths import ROOT

READERS = {"hotpotqa": read_hotpotqa, "2wikimultihopqa": read_2wikimultihopqa, "musique": read_musique}
FILES = {  # the official name first, then that of a sample of it
    "hotpotqa": ("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
    "2wikimultihopqa": ("dev.json", "dev_657.json"),
    "musique": ("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
}
HOMES = {
    "hotpotqa": "https://hotpotqa.github.io",
    "2wikimultihopqa": "https://github.com/Alab-NII/2wikimultihop",
    "musique": "https://github.com/StonyBrookNLP/musique",
}


def load(dataset: str, data_dir: str | Path | None) -> tuple[list[Question], list[Paragraph]]:
    """The development questions of a data set, and the corpus pooled from their contexts (IRCoT §4, App. A); "mini" is generated.

    `data_dir`: absolute, or relative to the repository.

    Raises ValueError for an unknown data set, a damaged file or an id that occurs twice, FileNotFoundError for a file that is not there.
    Differs from the paper: its corpora are of all splits, and HotpotQA's is the whole of Wikipedia's abstracts.
    """
    if dataset == "mini":
        return make_mini()
    path = find_file(ROOT / data_dir, dataset)
    records = READERS[dataset](path)
    questions = [question for question, _ in records]
    for id, count in Counter(question.id for question in questions).items():
        if count > 1:
            raise ValueError(f"{path}: expected every question once, found {count} questions with the id {id!r}")
    return questions, pool(context for _, context in records)


def find_file(data_dir: Path, dataset: str) -> Path:
    """The file of a data set's development questions: in `data_dir`/<dataset> or in `data_dir`, under its official name or a sample's."""
    if dataset not in FILES:
        raise ValueError(f"unknown data set {dataset!r}; expected one of mini, {', '.join(FILES)}")
    folders = (Path(data_dir) / dataset, Path(data_dir))
    for path in (folder / name for folder in folders for name in FILES[dataset]):
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"no questions of {dataset}: looked for {' and '.join(FILES[dataset])} in {' and '.join(map(str, folders))};"
        f" get {FILES[dataset][0]} from {HOMES[dataset]} and put it there"
    )
