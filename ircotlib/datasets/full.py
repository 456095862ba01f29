"""The full corpora of IRCoT's experiments, made from the official downloads as a stream (IRCoT App.
A).
"""

import html
import shutil
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from filelock import FileLock

from ircotlib.data import Paragraph, read_jsonl, write_jsonl
from ircotlib.datasets.downloads import Progress, find_files, read_file
from ircotlib.datasets.fields import read_json_list
from ircotlib.paths import ROOT
from ircotlib.progress import show_progress
from ircotlib.retrieval.corpus import ABOUT, Corpus, write_corpus

# IRCoT App. A, footnote 18
COUNTS = {"hotpotqa": 5_233_329, "2wikimultihopqa": 430_225, "musique": 139_416, "iirc": 1_882_415}
TOLERANCE = 0.01  # of the count: beyond it a corpus is refused, within it there is a warning
# made of contexts, which share paragraphs; the others are taken as they come
POOLED = ("2wikimultihopqa", "musique")
MADE = "full.json"  # in the folder of a corpus: of which data set it is the full corpus


def read_full_corpus(dataset: str, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a data set's full corpus, one after another, the same in the same order on
    every machine (IRCoT App. A).

    "hotpotqa", "2wikimultihopqa", "musique" or "iirc". `data_dir`: absolute, or relative to the
    repository; find_files says what lies there. Ids, titles and texts are those of the questions'
    contexts. 2WikiMultihopQA, MuSiQue: each title and text once. HotpotQA: every abstract, IIRC:
    what read_articles gives; one that is there again has "-2", "-3", ... at the end of its id. 16
    bytes of each paragraph are held in memory. Raises what find_files raises, and ValueError naming
    file and line where a file is damaged. Differs from the released program: texts are stripped at
    both ends, sentences of abstracts are joined as they are (there: by a space), and files come in
    the order of their names.
    """
    seen = set()
    parts = find_files(dataset, ROOT / data_dir)
    return chain.from_iterable(_read_part(dataset, files, seen) for files in parts)


def make_full_corpus(
    dataset: str,
    data_dir: str | Path,
    folder: str | Path,
    expected: int | None = None,
    progress: Progress = show_progress,
) -> Corpus:
    """Write a data set's full corpus to a folder, whole or not at all, and open it; one that was
    made there before is opened as it is.

    What is read goes to `folder`.parts first, part by part: after a kill or an error the next call
    goes on after the last whole part (100 of HotpotQA's 15,517 shards; one file of the others).
    Files of other sizes are read again. While it is made, a corpus takes twice its space.
    `expected`: how many paragraphs there should be; None: the paper's count. A count off by more
    than 1 % is a ValueError and leaves the parts, so that a call with another `expected` need not
    read again; a smaller difference is a warning. `progress`: as show_progress. Raises also what
    read_full_corpus raises, and ValueError for a folder that holds another corpus.
    """
    folder, parts = Path(folder), Path(f"{folder}.parts")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not _is_made(dataset, folder):
            files = find_files(dataset, ROOT / data_dir, progress)
            count, paths = _write_parts(
                dataset, files, parts, expected or COUNTS[dataset], progress
            )
            _check_count(dataset, count, expected or COUNTS[dataset], parts)
            write_jsonl(folder / MADE, [{"dataset": dataset}])
            with progress(f"corpus of {dataset}", count) as show:
                write_corpus(
                    folder,
                    _count_up(
                        chain.from_iterable(read_jsonl(path, Paragraph) for path in paths),
                        show,
                        0,
                        count,
                    ),
                )
            shutil.rmtree(parts)
    return Corpus(folder)


def find_gold_ids(path: Path, corpus: Iterable[Paragraph]) -> dict[str, str]:
    """The ids in a corpus of abstracts of the paragraphs that support a file's questions, by title:
    `corpus_ids` of read_hotpotqa.
    """
    titles = []
    for record in read_json_list(path):
        match record:  # what is not in the official format is for read_hotpotqa to name
            case {"supporting_facts": [*facts]}:
                titles += [
                    fact[0]
                    for fact in facts
                    if isinstance(fact, list) and fact and isinstance(fact[0], str)
                ]
    return find_ids(corpus, titles)


def find_ids(corpus: Iterable[Paragraph], titles: Iterable[str]) -> dict[str, str]:
    """The ids of the paragraphs with these titles, by title, in one pass over the corpus (IRCoT §4:
    HotpotQA with the corpus that it has).

    Of several paragraphs with one title, the first. A title that the corpus has only in another
    spelling of the same characters ("&amp;" for "&", an accent as a letter of its own) is found by
    it; one that it has not is left out.
    """
    wanted = {}
    for title in dict.fromkeys(titles):
        wanted.setdefault(_plain(title), []).append(title)
    same, alike = {}, {}
    for paragraph in corpus:
        for title in wanted.get(_plain(paragraph.title), ()):
            (same if title == paragraph.title else alike).setdefault(title, paragraph.id)
    return alike | same


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def _read_part(dataset: str, files: list[Path], seen: set[bytes]) -> Iterator[Paragraph]:
    return _distinct(dataset, chain.from_iterable(read_file(dataset, path) for path in files), seen)


def _distinct(
    dataset: str, paragraphs: Iterable[Paragraph], seen: set[bytes]
) -> Iterator[Paragraph]:
    return (
        _drop_repeats(paragraphs, seen) if dataset in POOLED else _number_repeats(paragraphs, seen)
    )


def _drop_repeats(paragraphs: Iterable[Paragraph], seen: set[bytes]) -> Iterator[Paragraph]:
    """The paragraphs whose title and text were not there before; `seen` remembers 16 bytes of each."""
    for paragraph in paragraphs:
        key = _digest(f"{paragraph.title}\n{paragraph.text}")
        if key not in seen:
            seen.add(key)
            yield paragraph


def _number_repeats(paragraphs: Iterable[Paragraph], seen: set[bytes]) -> Iterator[Paragraph]:
    """All paragraphs, those whose id was there before with another one; `seen` remembers 16 bytes
    of each.
    """
    for paragraph in paragraphs:
        id, number = paragraph.id, 1
        while (key := _digest(id)) in seen:
            number += 1
            id = f"{paragraph.id}-{number}"
        seen.add(key)
        yield paragraph if number == 1 else Paragraph(id, paragraph.title, paragraph.text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _write_parts(
    dataset: str, parts: list[list[Path]], folder: Path, expected: int, progress: Progress
) -> tuple[int, list[Path]]:
    """Write the parts that are not there yet, each whole or not at all; return how many paragraphs
    there are, and the files.

    The name of a part's file changes with the names and sizes of all that was read until its end.
    """
    seen, count, written, sources = set(), 0, [], blake2b(digest_size=8)
    with progress(f"reading {dataset}", expected) as show:
        for number, files in enumerate(parts):
            sources.update(
                "".join(f"{path.name} {path.stat().st_size}\n" for path in files).encode()
            )
            path = folder / f"{number:03}-{sources.hexdigest()}.jsonl"
            if path.is_file():  # read again for `seen`
                count += sum(
                    1
                    for _ in _count_up(
                        _distinct(dataset, read_jsonl(path, Paragraph), seen), show, count, expected
                    )
                )
            else:
                count += write_jsonl(
                    path, _count_up(_read_part(dataset, files, seen), show, count, expected)
                )
            written.append(path)
    return count, written


def _count_up(
    paragraphs: Iterable[Paragraph], show: Callable[[int, int], None], done: int, total: int
) -> Iterator[Paragraph]:
    """Pass paragraphs on and show how many there are so far, from `done` on."""
    for paragraph in paragraphs:
        yield paragraph
        done += 1
        if done % 1000 == 0:
            show(done, total)
    show(done, total)


def _is_made(dataset: str, folder: Path) -> bool:
    """Whether the full corpus of this data set is in the folder; ValueError where it is another
    corpus.
    """
    if not (folder / ABOUT).is_file():
        return False
    found = next(read_jsonl(folder / MADE)) if (folder / MADE).is_file() else "no full corpus"
    if found != {"dataset": dataset}:
        raise ValueError(
            f"{folder}: expected the full corpus of {dataset} or no corpus, found {found}; choose another folder or delete this one"
        )
    return True


def _check_count(dataset: str, count: int, expected: int, parts: Path) -> None:
    if count == expected:
        return
    difference = (
        f"{dataset}: found {count:,} paragraphs, expected {expected:,} (IRCoT App. A, footnote 18)"
    )
    if abs(count - expected) > TOLERANCE * expected:
        raise ValueError(
            f"{difference}: is a file cut short, or of another version? To take them as they are, call make_full_corpus with"
            f" expected={count}; what was read is kept in {parts}"
        )
    warnings.warn(f"{difference}: the downloads differ a little from the paper's", stacklevel=3)
