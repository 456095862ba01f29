"""Questions and corpus of a data set, from the official files in a user's folder."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.full import find_gold_ids, make_full_corpus
from ircotlib.datasets.hotpotqa import read_hotpotqa
from ircotlib.datasets.iirc import read_iirc
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.laboratory.make import make_laboratory
from ircotlib.paths import DATA, ROOT

READERS = {
    "hotpotqa": read_hotpotqa,
    "2wikimultihopqa": read_2wikimultihopqa,
    "musique": read_musique,
}
FILES = {  # the official name first, then that of a sample of it
    "hotpotqa": ("hotpot_dev_distractor_v1.json", "dev_distractor_498.json"),
    "2wikimultihopqa": ("dev.json", "dev_657.json"),
    "musique": ("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
    "iirc": ("dev.json",),
}
HOMES = {
    "hotpotqa": "https://hotpotqa.github.io",
    "2wikimultihopqa": "https://github.com/Alab-NII/2wikimultihop",
    "musique": "https://github.com/StonyBrookNLP/musique",
    "iirc": "https://allenai.org/data/iirc",
}
ARTICLES = "context_articles.json"  # IIRC's pages, beside its questions


def load(
    dataset: str, data_dir: str | Path | None, corpus: str = "pooled"
) -> tuple[list[Question], Iterable[Paragraph]]:
    """The development questions of a data set, and its corpus: "pooled" from their contexts, or
    "full" as in the paper (IRCoT §4, App. A).

    `data_dir`: absolute, or relative to the repository; "" or None: the laboratory of the default
    seed, made where there is none (ircotlib.laboratory.make). IIRC's pooled corpus is all of its
    pages, and can be gone through once, as it is read. A full corpus is a Corpus, made in
    data/corpora where there is none (make_full_corpus).

    Raises ValueError for an unknown data set, a damaged file or an id that occurs twice,
    FileNotFoundError for a file that is not there. Differs from the paper, unless "full": its
    corpora are of all splits, and HotpotQA's is the whole of Wikipedia's abstracts.
    """
    if corpus not in ("pooled", "full"):
        raise ValueError(f"found corpus {corpus!r}, expected pooled or full")
    path = find_file(ROOT / data_dir if data_dir else make_laboratory(DATA / "laboratory"), dataset)
    full = (
        make_full_corpus(dataset, data_dir, DATA / "corpora" / f"{dataset}-full")
        if corpus == "full"
        else None
    )
    if dataset == "iirc":
        questions, paragraphs = read_iirc(path, _articles_beside(path))
    else:
        # whose texts need not be those of the contexts: gold by title
        of_abstracts = dataset == "hotpotqa" and full is not None
        records = (
            read_hotpotqa(path, find_gold_ids(path, full))
            if of_abstracts
            else READERS[dataset](path)
        )
        questions, paragraphs = (
            [question for question, _ in records],
            pool(context for _, context in records),
        )
    for id, count in Counter(question.id for question in questions).items():
        if count > 1:
            raise ValueError(
                f"{path}: expected every question once, found {count} questions with the id {id!r}"
            )
    return questions, paragraphs if full is None else full


def find_file(data_dir: Path, dataset: str) -> Path:
    """The file of a data set's development questions: in `data_dir`/<dataset> or in `data_dir`,
    under its official name or a sample's.
    """
    if dataset not in FILES:
        raise ValueError(f"unknown data set {dataset!r}; expected one of {', '.join(FILES)}")
    folders = (Path(data_dir) / dataset, Path(data_dir))
    for path in (folder / name for folder in folders for name in FILES[dataset]):
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"no questions of {dataset}: looked for {' and '.join(FILES[dataset])} in {' and '.join(map(str, folders))};"
        f" get {FILES[dataset][0]} from {HOMES[dataset]} and put it there"
    )


def _articles_beside(questions: Path) -> Path:
    path = questions.with_name(ARTICLES)
    if not path.is_file():
        raise FileNotFoundError(
            f"no pages of iirc: looked for {path}; get {ARTICLES} from {HOMES['iirc']} and put it there"
        )
    return path
