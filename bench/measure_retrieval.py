"""One measurement of the retrieval benchmark, in a process of its own.

python -m bench.measure_retrieval STEP BACKEND CORPUS INDEX

STEP: build, build-alone (in one process) or search. INDEX: a folder, or the address of a server.
Prints one line of JSON. CPU seconds are the user and system time of this process and of those that
it started (getrusage); for Elasticsearch, those of the server are added, from its process
statistics. Peak memory is the highest resident set (VmHWM), including mapped files; if several
processes make documents, each counts as much as the largest. For Elasticsearch, it is that of the
server alone.
"""

import json
import math
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.pseudo_text import write_queries
from ircotlib.files.options import new_parser
from ircotlib.program import Retrieve
from ircotlib.retrieval import analyzer, bm25, documents
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, build_index
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.documents import count_processes

K, QUERIES, BATCH, SHOWN = 15, 640, 64, 50
WARM_UP = 30.0  # at most, in seconds
K1, B = 1.2, 0.75
NAME = "ircot-bench"
Hits = list[tuple[int, float]]  # positions in the corpus with scores, best first


@contextmanager
def measure(server=None) -> Iterator[dict[str, float]]:
    """Yield a dictionary that is filled when the block ends: "wall" and "CPU" seconds, and
    "server", the part of the CPU seconds that the server used.
    """
    far = read_server_cpu(server) if server else 0.0
    taken, own, wall = {}, read_own_cpu(), time.perf_counter()
    yield taken
    taken |= {
        "wall": time.perf_counter() - wall,
        "CPU": read_own_cpu() - own,
        "server": read_server_cpu(server) - far if server else 0.0,
    }
    taken["CPU"] += taken["server"]


def read_own_cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def read_server_cpu(server) -> float:
    """CPU seconds of the server's process. Waits, since the server updates them once a second."""
    time.sleep(1.1)
    (node,) = server.nodes.stats(metric="process")["nodes"].values()
    return node["process"]["cpu"]["total_in_millis"] / 1000


def read_peak(process: int | str = "self") -> float:
    """The highest resident memory of a process so far, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def size_of(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def build_embedded(corpus: Corpus, folder: Path) -> dict[str, float]:
    with measure() as taken:
        build_index(corpus, folder)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return taken | {
        "peak": read_peak() + count_processes(corpus) * largest,
        "size": size_of(folder),
    }


def build_alone(corpus: Corpus, folder: Path) -> dict[str, float]:
    """Build in a single process; "analysis" is the part of the CPU seconds that analysis takes."""
    analysis = 0.0

    def join_terms(text: str) -> str:
        nonlocal analysis
        start = time.thread_time()
        terms = analyzer.join_terms(text)
        analysis += time.thread_time() - start
        return terms

    bm25.count_processes, documents.join_terms = lambda corpus: 0, join_terms
    with measure() as taken:
        build_index(corpus, folder)
    return taken | {"peak": read_peak(), "analysis": analysis}


def build_bm25s(corpus: Corpus, folder: Path) -> dict[str, float]:
    """Build one index for each field, from the same terms as the embedded index."""
    import bm25s

    with measure() as taken:
        for field in ("title", "text"):
            vocabulary: dict[str, int] = {}
            ids = [
                [
                    vocabulary.setdefault(term, len(vocabulary))
                    for term in analyze(getattr(paragraph, field))
                ]
                for paragraph in corpus
            ]
            index = bm25s.BM25(k1=K1, b=B, method="lucene")
            index.index((ids, vocabulary), show_progress=False)
            index.save(folder / field)
    return taken | {"peak": read_peak(), "size": size_of(folder)}


def build_elasticsearch(corpus: Corpus, url: str) -> dict[str, float]:
    from ircotlib.retrieval.elastic_load import connect, open_elasticsearch

    server = connect(url).client
    drop_indices(server)
    with measure(server) as taken:
        open_elasticsearch(corpus, url, NAME)
    size = (
        server.indices.stats(index=NAME, metric="store")["_all"]["total"]["store"]["size_in_bytes"]
        / 1e6
    )
    return taken | {"peak": read_peak_of_server(server), "size": size}


def drop_indices(server) -> None:
    """Delete the indices that an earlier measurement left."""
    if names := list(server.indices.get(index=f"{NAME}-*")):
        server.indices.delete(index=names)


def read_peak_of_server(server) -> float | None:
    """The server's peak memory in MB; None if it runs on another machine."""
    (node,) = server.nodes.info(metric="process")["nodes"].values()
    command = Path(f"/proc/{node['process']['id']}/cmdline")
    return (
        read_peak(node["process"]["id"])
        if command.is_file() and "EsServer" in command.read_text()
        else None
    )


def search_bm25s(corpus: Corpus, folder: Path) -> Callable[[list[str]], list[Hits]]:
    import bm25s

    indexes = [bm25s.BM25.load(folder / field) for field in ("title", "text")]

    def search(query: str) -> Hits:
        terms = analyze(query)
        scores = (K1 + 1) * sum(index.get_scores(terms) for index in indexes)
        best, positions = bm25s.selection_np.topk(scores, K, backend="numpy")
        return sorted(
            zip(positions.tolist(), np.round(best, 3).tolist()), key=lambda hit: (-hit[1], hit[0])
        )

    return lambda queries: [search(query) for query in queries]


def search_with(backend) -> Callable[[list[str]], list[Hits]]:
    """A function that searches with a backend of the workbench."""

    def search(queries: list[str]) -> list[Hits]:
        replies = dict(backend.answer([Retrieve(query, K) for query in queries]))
        return [json.loads(replies[place]) for place in range(len(queries))]

    return search


def search_all(corpus: Corpus, search: Callable[[list[str]], list[Hits]], server=None) -> dict:
    """Queries per second of wall and CPU time, in batches and one at a time, and some hits to
    compare.

    Each is preceded by a warm-up with other queries. It is longer for a server, because Java
    compiles what it runs often.
    """
    rates: dict = {}
    queries = write_queries(corpus, QUERIES, seed=1)
    others = (
        16 * write_queries(corpus, QUERIES, seed=2)
        if server
        else write_queries(corpus, BATCH, seed=2)
    )
    for name, size in ((f"batches of {BATCH}", BATCH), ("one at a time", 1)):
        ask_all(search, others, size, WARM_UP)
        with measure(server) as taken:
            hits = ask_all(search, queries, size)
        rates |= {
            name: {kind: QUERIES / taken[kind] for kind in ("wall", "CPU", "server") if taken[kind]}
        }
    return {"rates": rates, "hits": hits[:SHOWN]}


def ask_all(
    search: Callable[[list[str]], list[Hits]],
    queries: list[str],
    size: int,
    seconds: float = math.inf,
) -> list[Hits]:
    """The hits of queries, `size` at a time; no more batches are started after `seconds`."""
    end, found = time.monotonic() + seconds, []
    for start in range(0, len(queries), size):
        if time.monotonic() < end:
            found += search(queries[start : start + size])
    return found


def main(step: str, backend: str, folder: str, index: str) -> dict:
    corpus = Corpus(folder)
    match step, backend:
        case "build-alone", "embedded":
            return build_alone(corpus, Path(index))
        case "build", "embedded":
            return build_embedded(corpus, Path(index))
        case "build", "bm25s":
            return build_bm25s(corpus, Path(index))
        case "build", "Elasticsearch":
            return build_elasticsearch(corpus, index)
        case "search", "embedded":
            return search_all(corpus, search_with(BM25(corpus, index))) | {"peak": read_peak()}
        case "search", "bm25s":
            return search_all(corpus, search_bm25s(corpus, Path(index))) | {"peak": read_peak()}
    from ircotlib.retrieval.elastic import Elasticsearch, connect

    server = connect(index).client
    found = search_all(corpus, search_with(Elasticsearch(corpus, index, NAME)), server) | {
        "peak": read_peak_of_server(server)
    }
    drop_indices(server)
    return found


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("step", choices=("build", "build-alone", "search"))
    parser.add_argument("backend", choices=("embedded", "bm25s", "Elasticsearch"))
    parser.add_argument("folder", type=Path, help="of a corpus")
    parser.add_argument("index", help="a folder, or the address of a server")
    print(json.dumps(main(**vars(parser.parse_args()))))
