"""Makes the documents of the embedded index from paragraphs; for a large corpus in several
processes, so that all cores are used.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from ircotlib.retrieval.analyzer import join_terms
from ircotlib.retrieval.corpus import Corpus

LARGE = 50_000  # paragraphs: with fewer, extra processes would cost more than they save
MOST = 4  # processes: more would only wait for the reading process, and each holds 100 MB
# documents that a process makes in one turn: few enough for a pipe to hold
TURN = 64
ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def count_processes(corpus: Corpus) -> int:
    """How many extra processes make the documents of a corpus; 0: this process makes them itself,
    as on 2 cores, where the index writer uses the other one.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores - 1, MOST) if cores > 2 and len(corpus) >= LARGE else 0


def make_documents(corpus: Corpus, processes: int = 0) -> Iterator[str]:
    """The documents of a corpus as JSON, in the order of the corpus. Each process runs ahead by at
    most what a pipe holds.
    """
    return _receive(corpus, processes) if processes else _make(corpus, 0, len(corpus))


def _make(corpus: Corpus, start: int, stop: int) -> Iterator[str]:
    for position, paragraph in enumerate(corpus.between(start, stop), start=start):
        yield ENCODE({
            "title": join_terms(paragraph.title),
            "text": join_terms(paragraph.text),
            "whole_title": paragraph.title,
            "lower_title": paragraph.title.lower(),
            "position": position,
        })  # fmt: skip


def _receive(corpus: Corpus, processes: int) -> Iterator[str]:
    """Documents from processes that take turns. Raises ChildProcessError if one stops early."""
    command = [sys.executable, "-m", "ircotlib.retrieval.documents", str(corpus.folder)]
    how = {
        "stdout": subprocess.PIPE,
        "encoding": "utf-8",
        "env": os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    }
    with ExitStack() as stack:
        makers = [
            stack.enter_context(subprocess.Popen([*command, str(turn), str(processes)], **how))
            for turn in range(processes)
        ]
        for position in range(len(corpus)):
            maker = makers[position // TURN % processes]
            document = maker.stdout.readline()
            if not document.endswith("\n"):
                status = f"with status {maker.wait()}, expected {len(corpus)} paragraphs"
                raise ChildProcessError(
                    f"the analysis of {corpus.folder} stopped at paragraph {position} {status}; "
                    "see the error above, make sure there is enough memory, then build again"
                )
            yield document


def _send(folder: str, turn: str, processes: str) -> None:
    """Write this process's share of the documents, one per line; exit silently once nobody reads
    them.
    """
    for name in ("SIGINT", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    corpus = Corpus(folder)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for start in range(int(turn) * TURN, len(corpus), int(processes) * TURN):
        sys.stdout.writelines(
            document + "\n" for document in _make(corpus, start, min(start + TURN, len(corpus)))
        )


if __name__ == "__main__":
    _send(*sys.argv[1:])
