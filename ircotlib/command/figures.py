"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --profile sample --set data_dir=FOLDER --only 02_index
ircotlib figures --save          the mini profile; keeps the executed notebooks
"""

import argparse
import atexit
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING

import psutil
from tqdm import tqdm

from ircotlib.command.checks import check_places
from ircotlib.files.options import heed_interrupts, new_parser, parse_changes, read_count, say_error
from ircotlib.files.paths import DATA, FIGURES, NOTEBOOKS, ROOT, write_whole
from ircotlib.parameters import Parameters, read_parameters

OWN_DATA = ("05_laboratory", "10_your_own")  # which generate their own data
MEMORY = re.compile(
    r"Kernel died|MemoryError|out of memory|can't allocate memory|bad_alloc|Cannot allocate"
    "|map segment"
)
FULL = re.compile(r"No space left|disk is full|quota exceeded|File too large", re.IGNORECASE)
# the C library's allocator keeps freed memory: a model needs as much for its next batch
KEEP_MEMORY = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), "4000000000")
LONGEST = "04_ircot", "13_head_to_head", "14_searchain_tables"
OWN = local()  # the kernel of each thread
LITTLE_MEMORY = "; perhaps memory was too small: try fewer --jobs, a smaller model or corpus"


if TYPE_CHECKING:
    import nbformat


def all_notebooks() -> list[str]:
    """The notebooks by name, in the order in which they run."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def made_by(notebook: str, profile: str) -> list[Path]:
    """The figures and tables that a notebook makes, read from what follows "Makes" at its top."""
    makes = _top(notebook).split("**Makes**")[1].split("**needs**")[0]
    suffix = "" if profile == "mini" else f"_{profile}"
    names = []
    for stem, endings in re.findall(r"`figures/([\w<>-]+)\.([\w{},]+)`", makes):
        stem = stem.replace("<profile>", profile) if "<profile>" in stem else stem + suffix
        names += [f"{stem}.{ending}" for ending in endings.strip("{}").split(",")]
    return [FIGURES / name for name in names]


def reads_runs(notebook: str) -> bool:
    """Whether a notebook needs the runs of others, and must come after them."""
    return "the runs of `" in _top(notebook)


@cache
def _top(notebook: str) -> str:
    """The text at the top of a notebook, in one line; cached."""
    cells = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join("".join(cells[0]["source"]).split())


def needs_model(notebook: str) -> bool:
    """Whether a notebook needs a language model, read from what follows "needs" at its top."""
    needs = _top(notebook).split("**needs**")[1]
    return any(words in needs for words in (" a model", "models of several"))


def run_notebook(notebook: str, p: Parameters, changes: dict, out: Path) -> float:
    """Execute one notebook into `out`; return the seconds it took. Raises RuntimeError, in one
    line, if a cell fails; the traceback is in `out`.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    started = time.monotonic()
    out.parent.mkdir(parents=True, exist_ok=True)
    how = {"kernel_name": "python3", "progress_bar": False, "cwd": str(NOTEBOOKS)}
    how |= {"stderr_file": sys.stderr} if p.server else {}  # shows what runs may and do cost
    parameters = {"profile": p.profile, "changes": changes}
    try:
        how |= {"km": _kernel()}
        papermill.execute_notebook(NOTEBOOKS / f"{notebook}.ipynb", out, parameters, **how)
    except PapermillExecutionError as error:
        place = f"notebook {notebook}, code cell {error.exec_count}"
        reason = " ".join(f"{error.ename}: {error.evalue}".split())
        raise RuntimeError(f"{place}: {reason}{_advice(reason)}; traceback in {out}") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: its process was killed
        found = f"notebook {notebook}: could not be run or kept: {error}"
        raise RuntimeError(f"{found}{_advice(str(error))}") from error
    return time.monotonic() - started


def _kernel():
    """The manager of this thread's kernel, which runs one notebook after another: what the first
    has imported and opened, the others need not. Names that the last one defined are removed. If
    the kernel was killed, another takes its place.
    """
    from jupyter_client import AsyncKernelManager
    from jupyter_core.utils import run_sync

    if not (hasattr(OWN, "kernel") and run_sync(OWN.kernel.is_alive)()):
        # encrypts messages to the kernel; without it ipykernel warns
        OWN.kernel = AsyncKernelManager(transport_encryption="required")
        atexit.register(run_sync(OWN.kernel.shutdown_kernel), now=True)
    else:
        client = OWN.kernel.blocking_client()
        client.start_channels()
        client.execute("get_ipython().reset()", silent=True, reply=True, timeout=60)
        client.stop_channels()
    return OWN.kernel


def _advice(reason: str) -> str:
    """What to do about an error of the machine."""
    if MEMORY.search(reason):
        return LITTLE_MEMORY
    again = f"; free some space below {DATA}, then run the same again: it goes on"
    return again if FULL.search(reason) else ""


def run_notebooks(
    notebooks: list[str], run: Callable[[str], float], jobs: int
) -> Iterator[tuple[str, float]]:
    """Run notebooks, `jobs` at a time, and yield each with its seconds, in the given order.

    If several run at a time, the longest start first. Notebooks that read the runs of others start
    when these have ended. After one fails, no further notebook starts.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        for last in (False, True):
            turn = [notebook for notebook in notebooks if reads_runs(notebook) == last]
            begun = sorted(turn, key=lambda name: jobs > 1 and name not in LONGEST)
            running = {notebook: pool.submit(run, notebook) for notebook in begun}
            yield from ((notebook, running[notebook].result()) for notebook in turn)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def regenerate(
    p: Parameters, notebooks: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks, `jobs` at a time, and print the seconds each took; executed copies go to
    data/executed/PROFILE. `p`: the profile's parameters with the changes applied.
    """
    check_places(p, **_looked_for(notebooks))
    os.environ |= {"IRCOT_BATCH": "1"} | KEEP_MEMORY
    logging.getLogger("papermill").setLevel(logging.ERROR)
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # its errors are raised too
    executed = {name: DATA / "executed" / p.profile / f"{name}.ipynb" for name in notebooks}
    done = run_notebooks(
        notebooks, lambda name: run_notebook(name, p, changes, executed[name]), jobs
    )
    bar = tqdm(done, total=len(notebooks), unit="notebook", disable=not sys.stderr.isatty())
    for notebook, seconds in bar:
        bar.set_description(notebook)
        tqdm.write(f"{notebook:<14} {seconds:6.1f} s   {executed[notebook]}")
        for path in made_by(notebook, p.profile):
            tqdm.write(f"{'':<14} wrote      {path}")
        if save:
            save_executed(notebook, executed[notebook])


def strip(notebook: "nbformat.NotebookNode") -> "nbformat.NotebookNode":
    """Remove what changes from run to run: papermill's traces, times, widget state, progress
    output, and machine-bound warnings.
    """
    kept = ("kernelspec", "language_info")
    notebook.metadata = {n: notebook.metadata[n] for n in kept if n in notebook.metadata}
    notebook.metadata.get("language_info", {}).pop("version", None)
    cells = notebook.cells
    notebook.cells = [c for c in cells if "injected-parameters" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata.tags} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_volatile(output)]
    return notebook


def _is_volatile(output: "nbformat.NotebookNode") -> bool:
    widget = "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    return widget or (output.output_type == "stream" and output.name == "stderr")


def save_executed(notebook: str, executed: Path) -> None:
    """Strip an executed notebook and put it in place of its source."""
    import nbformat  # takes two seconds to import

    stripped = strip(nbformat.read(executed, as_version=4))
    write_whole(NOTEBOOKS / f"{notebook}.ipynb", nbformat.writes(stripped) + "\n")


def _looked_for(notebooks: Sequence[str]) -> dict[str, bool]:
    """The arguments of `check_places` for these notebooks."""
    data = any(notebook not in OWN_DATA for notebook in notebooks)
    model = any(map(needs_model, notebooks))
    return {"data": data, "model": model, "models": "06_scale" in notebooks}


def choose_notebooks(only: list[str], makes: dict[str, list[Path]]) -> list[str]:
    """The notebooks of these names, or that make the figures of these names; all for none."""
    for name in only:
        if not any(_is_named(name, notebook, files) for notebook, files in makes.items()):
            figures = sorted({path.stem for files in makes.values() for path in files})
            known = f"{', '.join(makes)}, or a figure: {', '.join(figures)}"
            raise ValueError(f"found --only {name}, expected one of {known}")
    return [
        n for n, files in makes.items() if not only or any(_is_named(o, n, files) for o in only)
    ]


def _is_named(name: str, notebook: str, files: list[Path]) -> bool:
    return name == notebook or any(path.stem == name for path in files)


def stop_at_once() -> None:
    """End this process and the kernels that it started, without waiting for their notebooks."""
    for kernel in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            kernel.kill()
    sys.stderr.flush()
    os._exit(130)


def answer_question(p: Parameters) -> None:
    """Print what the systems do with the question that the parameters ask, step by step."""
    from ircotlib.explore.ask import ask, own_question

    own_question(p.question, p.datasets[0])  # refused before any work
    check_places(p, models=False)
    for asked in ask(p, p.question):
        print(f"{asked}\n", flush=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--profile", default="mini", help="mini, sample, paper or released (profiles/)")
    add("--only", action="append", default=[], metavar="NAME", help="this notebook, or the one that"
        " makes this figure; may be repeated")  # fmt: skip
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter"
        " (docs/parameters.md); may be repeated")  # fmt: skip
    add("--save", action="store_true", help="keep the executed notebooks, stripped, in notebooks/")
    add("--jobs", type=read_count, default=1, help="notebooks at a time, each on a core or the GPU")
    return parser.parse_args(arguments)


def _play(options: argparse.Namespace) -> None:
    changes = parse_changes(options.set)
    if options.save and (options.profile != "mini" or changes):
        raise ValueError("found --save with another profile or --set, expected mini alone")
    p = read_parameters(options.profile, changes)
    makes = {name: made_by(name, p.profile) for name in all_notebooks()}
    notebooks = choose_notebooks(options.only, makes)
    if "question" in changes and not options.only:
        return answer_question(p)
    regenerate(p, notebooks, changes, options.save, options.jobs)
    print(
        f"figures are in {FIGURES.relative_to(ROOT) if FIGURES.is_relative_to(ROOT) else FIGURES}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    heed_interrupts()
    try:
        _play(options)
    except ValueError as error:
        return say_error(error, 2)
    except (RuntimeError, OSError) as error:
        return say_error(error, 1)
    except KeyboardInterrupt:
        print(
            "\ninterrupted: all replies so far are kept; the same command goes on", file=sys.stderr
        )
        stop_at_once()
    return 0
