"""Runs notebooks in kernels that are kept from one to the next, several at a time."""

import atexit
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from secrets import token_hex
from threading import local

from ircotlib.files.checksums import one_line
from ircotlib.files.notebooks import about_notebook
from ircotlib.files.paths import DATA, NOTEBOOKS
from ircotlib.parameters import Parameters

MEMORY = re.compile("Kernel died|MemoryError|out of memory|allocate memory|bad_alloc|map segment")
FULL = re.compile(r"No space left|disk is full|quota exceeded|File too large", re.IGNORECASE)
LITTLE_MEMORY = "; perhaps memory was too small: try fewer --jobs, a smaller model or corpus"
LITTLE_SPACE = f"; free some space below {DATA}, then run the same again: it resumes"
# the C library's allocator keeps freed memory: a model needs as much for its next batch
KEEP_MEMORY = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), "4000000000")
THREAD = local()  # .kernel: the kernel of each thread
PATIENCE = 600  # seconds for a kernel to answer: on a busy machine it takes more than a minute


def run_notebook(notebook: str, p: Parameters, changes: dict, out: Path) -> float:
    """Execute a notebook into `out`; return the seconds. Cells with the tag `mini`, which speak of
    what that profile gives, are left out with another one or a trial. RuntimeError if a cell fails.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError

    started = time.monotonic()
    content = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4)
    if p.profile != "mini" or p.trial:
        content.cells = [c for c in content.cells if "mini" not in c.metadata.get("tags", [])]
    parameters = {"profile": p.profile, "changes": changes}
    options = {"kernel_name": "python3", "progress_bar": False, "cwd": str(NOTEBOOKS)}
    options["start_timeout"] = PATIENCE
    # what runs may and do cost; what differs
    options["stderr_file"] = sys.stderr if p.server or os.environ.get("IRCOT_REPLAY") else None
    out.parent.mkdir(parents=True, exist_ok=True)
    copy = out.with_name(f"{out.stem}.{token_hex(4)}.ipynb")  # other processes may run it, too
    try:
        nbformat.write(content, copy)
        papermill.execute_notebook(copy, copy, parameters, km=_kernel(), **options)
    except PapermillExecutionError as error:
        cell = f"notebook {notebook}, code cell {error.exec_count}"
        reason = one_line(f"{error.ename}: {error.evalue}", None)
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
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_core.utils import run_sync

    if hasattr(THREAD, "kernel") and run_sync(THREAD.kernel.is_alive)():
        client = THREAD.kernel.blocking_client()
        client.start_channels()
        # processes that a notebook starts look for __spec__
        fresh = "get_ipython().reset(); __spec__ = None"
        client.execute(fresh, silent=True, reply=True, timeout=PATIENCE)
        client.stop_channels()
    else:
        # encrypts messages to the kernel; without it ipykernel warns. No folder of kernelspecs is
        # looked at, as the one there may be another interpreter's: the kernel is that of this one
        specs = KernelSpecManager(kernel_dirs=[])
        options = {"transport_encryption": "required", "kernel_spec_manager": specs}
        THREAD.kernel = AsyncKernelManager(**options)
        atexit.register(run_sync(THREAD.kernel.shutdown_kernel), now=True)
    return THREAD.kernel


def _advice(reason: str) -> str:
    if MEMORY.search(reason):
        return LITTLE_MEMORY
    return LITTLE_SPACE if FULL.search(reason) else ""


def run_notebooks(
    notebooks: list[str],
    run: Callable[[str], float],
    jobs: int,
    look: Callable[[list[str]], None] = lambda running: None,
) -> Iterator[tuple[str, float]]:
    """Run notebooks, `jobs` at a time, and yield each with its seconds when it ends; every second
    call `look` with the names of those that run.

    Those whose runs most others read start first, then the longest; those that read runs, when
    these are there. After one fails, no further notebook starts.
    """
    about = {notebook: about_notebook(notebook) for notebook in notebooks}
    reads = [earlier for notebook in notebooks for earlier in about[notebook].runs]
    waiting = sorted(notebooks, key=lambda n: (reads.count(n), about[n].minutes), reverse=True)
    running: dict[Future, str] = {}
    pool = ThreadPoolExecutor(jobs)
    try:
        while waiting or running:
            unfinished = {*waiting, *running.values()}
            for notebook in [n for n in waiting if not {*about[n].runs} & unfinished]:
                waiting.remove(notebook)
                running[pool.submit(run, notebook)] = notebook
            ended, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
            look([name for future, name in running.items() if future.running()])
            yield from [(running.pop(future), future.result()) for future in ended]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
