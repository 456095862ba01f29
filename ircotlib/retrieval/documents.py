"""Makes the documents of the embedded index from paragraphs; for a large corpus in several
processes, so that all cores are used.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path

from ircotlib.files.old import open_pool
from ircotlib.files.processes import count_cores
from ircotlib.retrieval.analyzer import join_terms
from ircotlib.retrieval.corpus import Corpus

LARGE = 50_000  # paragraphs: with fewer, extra processes would cost more than they save
MOST = 4  # processes: more would only wait for the reading process, and each holds 100 MB
TURN = 256  # documents made in one turn
AHEAD = 4  # turns that each process may be ahead


def count_processes(corpus: Corpus) -> int:
    """How many extra processes make the documents; none on 2 cores: the index writer uses one."""
    cores = count_cores()
    return min(cores - 1, MOST) if cores > 2 and len(corpus) >= LARGE else 0


def make_documents(corpus: Corpus, processes: int = 0) -> Iterator[dict]:
    """The documents of a corpus by field, in order. ChildProcessError if a process is killed."""
    if not processes:
        yield from _make(corpus, 0, len(corpus))
        return
    turns = deque()
    with open_pool(processes) as pool:
        try:
            for start in range(0, len(corpus), TURN):
                stop = min(start + TURN, len(corpus))
                turns.append(pool.submit(_make_turn, corpus.folder, start, stop))
                if len(turns) > AHEAD * processes:
                    yield from turns.popleft().result()
            while turns:
                yield from turns.popleft().result()
        except BrokenProcessPool as error:
            killed = f"{corpus.folder}: a process that analyses its texts was killed"
            raise ChildProcessError(f"{killed}; free some memory, then build again") from error


def _make(corpus: Corpus, start: int, stop: int) -> Iterator[dict]:
    for position, paragraph in enumerate(corpus.between(start, stop), start=start):
        title = paragraph.title
        fields = {"title": join_terms(title), "text": join_terms(paragraph.text)}
        yield fields | {"whole_title": title, "lower_title": title.lower(), "position": position}


def _make_turn(folder: Path, start: int, stop: int) -> list[dict]:
    return list(_make(_open_corpus(folder), start, stop))


_open_corpus = cache(Corpus)
