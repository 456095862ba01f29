"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --only 04_ircot --set "ircot_k=[4]"
ircotlib figures --profile sample --set data_dir=FOLDER --only ircot_fig04_f1
ircotlib figures --save                            the mini profile; keeps the executed notebooks
ircotlib figures --calls FILE                      without a model (ircotlib calls --help)
"""

import atexit
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex
from threading import local
from typing import NamedTuple

from tqdm import tqdm

from ircotlib.command.checks import check_places
from ircotlib.errors import UserError
from ircotlib.files.options import add_profile, new_parser, parse_changes, read_count, read_number
from ircotlib.files.paths import DATA, FIGURES, NOTEBOOKS, write_whole
from ircotlib.parameters import Parameters, read_parameters

MEMORY = re.compile("Kernel died|MemoryError|out of memory|allocate memory|bad_alloc|map segment")
FULL = re.compile(r"No space left|disk is full|quota exceeded|File too large", re.IGNORECASE)
LITTLE_MEMORY = "; perhaps memory was too small: try fewer --jobs, a smaller model or corpus"
LITTLE_SPACE = f"; free some space below {DATA}, then run the same again: it resumes"
# the C library's allocator keeps freed memory: a model needs as much for its next batch
KEEP_MEMORY = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), "4000000000")
THREAD = local()  # .kernel: the kernel of each thread
PATIENCE = 600  # seconds for a kernel to answer: on a busy machine it takes more than a minute


class About(NamedTuple):
    """What a notebook's metadata say about it, under "ircotlib".

    `makes`: its figures and tables; those of other profiles than mini bear the profile's name, in
    place of <profile> or at the end. `needs`: some of "data" (the official files, if any), "model",
    "models", "agent" (or, if there is none, the model), "second_model" and "own data". `runs`: the
    notebooks whose runs it reads. `minutes`: how long it takes with the mini profile at first.
    """

    makes: list[str]
    needs: list[str]
    runs: list[str]
    minutes: float


def all_notebooks() -> list[str]:
    """The notebooks by name, in the order in which they run."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def about_notebook(notebook: str) -> About:
    """What a notebook makes and needs."""
    content = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    return About(**content["metadata"]["ircotlib"])


def made_by(notebook: str, profile: str) -> list[Path]:
    """The figures and tables that a notebook makes with a profile."""
    names = about_notebook(notebook).makes
    if profile != "mini":
        names = [n if "<" in n else n.replace(".", f"_{profile}.") for n in names]
    return [FIGURES / name.replace("<profile>", profile) for name in names]


def choose_notebooks(only: list[str], makes: dict[str, list[Path]]) -> list[str]:
    """The notebooks of these names, or that make the figures of these names; all for none."""
    names = {notebook: {notebook, *(path.stem for path in makes[notebook])} for notebook in makes}
    known = dict.fromkeys([*makes, *sorted(set().union(*names.values()))])
    if unknown := [name for name in only if name not in known]:
        expected = f"expected a notebook or a figure: {', '.join(known)}"
        raise UserError(f"found --only {unknown[0]}, {expected}")
    return [notebook for notebook in makes if not only or names[notebook] & {*only}]


def run_notebook(notebook: str, p: Parameters, changes: dict, out: Path) -> float:
    """Execute a notebook into `out`; return the seconds. RuntimeError if a cell fails."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    started = time.monotonic()
    source, parameters = NOTEBOOKS / f"{notebook}.ipynb", {"profile": p.profile, "changes": changes}
    options = {"kernel_name": "python3", "progress_bar": False, "cwd": str(NOTEBOOKS)}
    options["start_timeout"] = PATIENCE
    options["stderr_file"] = sys.stderr if p.server else None  # what runs may and do cost
    out.parent.mkdir(parents=True, exist_ok=True)
    copy = out.with_name(f"{out.stem}.{token_hex(4)}.ipynb")  # other processes may run it, too
    try:
        papermill.execute_notebook(source, copy, parameters, km=_kernel(), **options)
    except PapermillExecutionError as error:
        cell = f"notebook {notebook}, code cell {error.exec_count}"
        reason = " ".join(f"{error.ename}: {error.evalue}".split())
        raise RuntimeError(f"{cell}: {reason}{_advice(reason)}; traceback in {out}") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: its process was killed
        failure = f"notebook {notebook}: could not be run or kept: {error}"
        raise RuntimeError(f"{failure}{_advice(str(error))}") from error
    finally:
        if copy.exists():
            copy.replace(out)
    return time.monotonic() - started


def _kernel():
    """The manager of this thread's kernel, which is kept for speed, without the names of the last
    notebook. A kernel that died is replaced.
    """
    from jupyter_client import AsyncKernelManager
    from jupyter_core.utils import run_sync

    if hasattr(THREAD, "kernel") and run_sync(THREAD.kernel.is_alive)():
        client = THREAD.kernel.blocking_client()
        client.start_channels()
        # processes that a notebook starts look for __spec__
        fresh = "get_ipython().reset(); __spec__ = None"
        client.execute(fresh, silent=True, reply=True, timeout=PATIENCE)
        client.stop_channels()
    else:
        # encrypts messages to the kernel; without it ipykernel warns
        THREAD.kernel = AsyncKernelManager(transport_encryption="required")
        atexit.register(run_sync(THREAD.kernel.shutdown_kernel), now=True)
    return THREAD.kernel


def _advice(reason: str) -> str:
    if MEMORY.search(reason):
        return LITTLE_MEMORY
    return LITTLE_SPACE if FULL.search(reason) else ""


def run_notebooks(
    notebooks: list[str], run: Callable[[str], float], jobs: int
) -> Iterator[tuple[str, float]]:
    """Run notebooks, `jobs` at a time, and yield each with its seconds, in the given order.

    The longest of several start first, those that read the runs of others when these have ended.
    After one fails, no further notebook starts.
    """
    about = {notebook: about_notebook(notebook) for notebook in notebooks}
    pool = ThreadPoolExecutor(jobs)
    try:
        for reads_runs in (False, True):
            turn = [notebook for notebook in notebooks if bool(about[notebook].runs) == reads_runs]
            order = sorted(turn, key=lambda n: -about[n].minutes) if jobs > 1 else turn
            running = {notebook: pool.submit(run, notebook) for notebook in order}
            yield from ((notebook, running[notebook].result()) for notebook in turn)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def regenerate(
    p: Parameters, notebooks: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks and print their seconds; executed copies go to data/executed/PROFILE."""
    from ircotlib.command.plans import check_plans, why_left_out  # imports pandas

    reasons = {name: why_left_out(name, about_notebook(name).needs, p) for name in notebooks}
    notebooks = [name for name in notebooks if not reasons[name]]
    needs = {need for notebook in notebooks for need in about_notebook(notebook).needs}
    needs |= {"model"} if "agent" in needs and not p.agent else set()
    check_places(p, needs)
    check_plans(p, notebooks)
    for name in filter(reasons.get, reasons):
        print(f"{name} is left out: {reasons[name]}", file=sys.stderr, flush=True)
    # no kernel reads or writes the user's own settings and history
    os.environ |= {"IRCOT_BATCH": "1", "IPYTHONDIR": str(DATA / "executed/ipython")} | KEEP_MEMORY
    for library in ("papermill", "traitlets"):  # whose errors are raised too
        logging.getLogger(library).setLevel(logging.CRITICAL)
    folder, started = DATA / "executed" / p.profile, time.time_ns()

    def run(notebook: str) -> float:
        return run_notebook(notebook, p, changes, folder / f"{notebook}.ipynb")

    done, silent = run_notebooks(notebooks, run, jobs), not sys.stderr.isatty()
    bar = tqdm(done, total=len(notebooks), unit="notebook", disable=silent)
    for notebook, seconds in bar:
        executed = folder / f"{notebook}.ipynb"
        bar.set_description(notebook)
        tqdm.write(f"{notebook:<14} {seconds:6.1f} s   {executed}")
        for path in made_by(notebook, p.profile):
            if path.exists() and path.stat().st_mtime_ns >= started:
                tqdm.write(f"{'':<14} wrote      {path}")
        if save:
            save_executed(notebook, executed)


def save_executed(notebook: str, executed: Path) -> None:
    """Strip an executed notebook and put it in place of its source."""
    import nbformat  # takes two seconds to import

    strip(content := nbformat.read(executed, as_version=4))
    write_whole(NOTEBOOKS / f"{notebook}.ipynb", nbformat.writes(content) + "\n")


def strip(notebook) -> None:
    """Remove what changes from run to run: papermill's traces, times, widgets and warnings."""
    names = {"ircotlib", "kernelspec", "language_info"} & notebook.metadata.keys()
    notebook.metadata = {name: notebook.metadata[name] for name in sorted(names)}
    notebook.metadata.get("language_info", {}).pop("version", None)
    tagged = [(cell, cell.metadata.get("tags", [])) for cell in notebook.cells]
    notebook.cells = [cell for cell, tags in tagged if "injected-parameters" not in tags]
    for cell, tags in tagged:
        cell.metadata = {"tags": tags} if tags else {}
        if cell.cell_type == "code":
            widget = "application/vnd.jupyter.widget-view+json"
            plain = [out for out in cell.outputs if widget not in out.get("data", {})]
            cell.outputs = [out for out in plain if out.get("name") != "stderr"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib figures")
    add = parser.add_argument
    add_profile(parser)
    only = "this notebook, or the one that makes this figure; may be repeated"
    add("--only", action="append", default=[], metavar="NAME", help=only)
    add("--save", action="store_true", help="keep the executed notebooks, stripped, in notebooks/")
    add("--jobs", type=read_count, default=1, help="notebooks at a time, each on a core or the GPU")
    add("--calls", type=Path, metavar="FILE", help="ask no model: use the replies of this export")
    recompute = "ask for so many replies of --calls again, and compare"
    add("--recompute", type=read_number, default=0, metavar="N", help=recompute)
    add("--export", type=Path, metavar="FILE", help="write all replies that are used into a file")
    options = parser.parse_args(arguments)
    changes = parse_changes(options.set)
    if options.save and (options.profile != "mini" or changes):
        raise UserError("found --save with another profile or --set, expected mini alone")
    p = read_parameters(options.profile, changes)
    makes = {name: made_by(name, p.profile) for name in all_notebooks()}
    notebooks = choose_notebooks(options.only, makes)
    from ircotlib.command.calls import exchanging  # imports pandas

    with exchanging(p, options.calls, options.recompute, options.export):
        regenerate(p, notebooks, changes, options.save, options.jobs)
