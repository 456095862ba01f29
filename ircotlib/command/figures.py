"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --profile sample --set data_dir=FOLDER --only ircot_fig04_f1

It can be interrupted and run again: all replies are kept in the call cache.
"""

import asyncio
import difflib
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from graphlib import TopologicalSorter
from pathlib import Path
from types import SimpleNamespace

from tqdm import tqdm

from ircotlib.errors import DataError, UserError
from ircotlib.files import DATA, NOTEBOOKS, environment, figure_path, need, writing
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.parameters import Parameters, read_parameters

# the C library's allocator keeps freed memory: a model needs as much for its next batch
KEEP = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
IN_BATCH = dict.fromkeys(KEEP, "4000000000")
IN_BATCH["IRCOT_BATCH"] = "1"  # no widgets, no progress bars
# of a process that removes what the workers of a kernel leave
IN_BATCH["PYTHONWARNINGS"] = "ignore:resource_tracker"
VIEW = "application/vnd.jupyter.widget-view+json"


def all_notebooks() -> list[str]:
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def about_notebook(notebook: str) -> SimpleNamespace:
    """What it `makes`, the notebooks whose `runs` it reads, its `kept` profile."""
    path = NOTEBOOKS / f"{notebook}.ipynb"
    about = {"makes": [], "runs": [], "kept": "mini"}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return SimpleNamespace(**about | content["metadata"].get("ircotlib", {}))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: found no notebook ({error!r}): restore it") from None


def made_by(notebook: str, profile: str, trial: str = "") -> list[Path]:
    """The figures and tables that a notebook makes with a profile, or in its trial."""
    makes = about_notebook(notebook).makes
    return [figure_path(name, profile, trial) for name in makes]


def choose_notebooks(only: Sequence[str], p: Parameters) -> list[str]:
    """The notebooks with these names, or that make figures with them; all for none."""
    names: dict[str, set[str]] = {}
    for notebook in all_notebooks():
        made = made_by(notebook, p.profile, p.trial)
        names[notebook] = {notebook, *(path.stem for path in made)}
    known = sorted(set().union(*names.values()))
    for name in only:
        if name not in known:
            near = ", ".join(difflib.get_close_matches(name, known) or names)
            raise UserError(f"found --only {name}, expected one of {near}")
    return [notebook for notebook in names if not only or names[notebook] & {*only}]


def run_notebook(
    notebook: str, p: Parameters, changes: dict, executed: Path, kernels: list
) -> float:
    """Execute a notebook into `executed`, by a kernel that `kernels` gets; return the
    seconds. Cells tagged `mini`, on results of that profile, are left out elsewhere.
    """
    import nbformat
    import papermill
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager

    started = time.monotonic()
    content = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4)
    if p.profile != "mini" or p.trial:
        content.cells = [each for each in content.cells if "mini" not in tags(each)]
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, executed)
    kernel = AsyncKernelManager(
        # no folder of kernelspecs is looked at: the one there may be of another Python
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        transport_encryption="required",
    )
    kernels.append(kernel)
    try:
        papermill.execute_notebook(
            executed,
            executed,
            {"profile": p.profile, "changes": changes},
            kernel_name="python3",
            progress_bar=False,
            cwd=NOTEBOOKS,
            km=kernel,
        )
    except papermill.exceptions.PapermillExecutionError as error:
        raise RuntimeError(
            f"notebook {notebook}, code cell {error.exec_count}: {error.ename}: "
            f"{error.evalue}; traceback in {executed}"
        ) from error
    except (RuntimeError, OSError) as error:  # its kernel was killed; the disk is full
        raise RuntimeError(
            f"notebook {notebook}: {error}; the cells until then are in {executed}: "
            "is there too little memory, or disk?"
        ) from error
    finally:
        # not at once: its workers clean up; a coroutine, declared as Awaitable
        ending = kernel.shutdown_kernel()
        asyncio.run(ending)  # type: ignore[arg-type]
    return time.monotonic() - started


def regenerate(
    p: Parameters, names: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks, `jobs` at a time; those that read runs wait for these."""
    started = time.time_ns()
    folder = DATA / "executed" / p.profile / p.trial
    # no kernel reads or writes the user's own settings and history
    own = {"IPYTHONDIR": str(DATA / "executed/ipython")}
    os.environ |= own | environment() | IN_BATCH
    running: dict[str, Future] = {}
    kernels: list = []

    def run(notebook: str) -> tuple[str, float]:
        for earlier in about_notebook(notebook).runs:
            if earlier in running:
                running[earlier].result()
        executed = folder / f"{notebook}.ipynb"
        return notebook, run_notebook(notebook, p, changes, executed, kernels)

    read = {name: about_notebook(name).runs for name in names}
    pool = ThreadPoolExecutor(jobs)
    for notebook in filter(names.count, TopologicalSorter(read).static_order()):
        running[notebook] = pool.submit(run, notebook)
    try:
        done = as_completed(running.values())
        for future in tqdm(done, total=len(running), disable=None):
            notebook, seconds = future.result()
            tqdm.write(f"{notebook:<20} {seconds:6.1f} s   {folder / notebook}.ipynb")
            for path in made_by(notebook, p.profile, p.trial):
                if path.exists() and path.stat().st_mtime_ns >= started:
                    tqdm.write(f"{'':<20} wrote {path}")
            if save:
                save_executed(notebook, folder / f"{notebook}.ipynb")
    except KeyboardInterrupt:
        for kernel in kernels:
            if kernel.provisioner:  # it has begun to start
                asyncio.run(kernel.provisioner.kill())  # with its workers, and at once
        raise
    finally:  # an interrupt waits for no notebook
        pool.shutdown(wait=False, cancel_futures=True)


def save_executed(name: str, executed: Path) -> None:
    """Put an executed notebook in place of its source, without what always changes."""
    import nbformat

    notebook = nbformat.read(executed, as_version=4)
    names = {"ircotlib", "kernelspec", "language_info", "title"}
    names &= notebook.metadata.keys()
    notebook.metadata = {name: notebook.metadata[name] for name in sorted(names)}
    notebook.metadata.get("language_info", {}).pop("version", None)
    notebook.cells = [c for c in notebook.cells if "injected-parameters" not in tags(c)]
    for cell in notebook.cells:
        cell.metadata = {"tags": tags(cell)} if tags(cell) else {}
        if cell.cell_type == "code":
            plain = [out for out in cell.outputs if VIEW not in out.get("data", {})]
            cell.outputs = [out for out in plain if out.get("name") != "stderr"]
    with writing(NOTEBOOKS / f"{name}.ipynb") as new:
        new.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib figures")
    add_profile(parser)
    add = parser.add_argument
    add("--only", action="append", default=[], help="notebook or figure")
    add("--save", action="store_true", help="save executed notebooks in notebooks/")
    add("--jobs", type=int, default=1, help="notebooks at a time")
    options = parser.parse_args(arguments)
    need("papermill", "lab")
    if options.jobs < 1:
        raise UserError(f"--jobs: found {options.jobs}, expected 1 or more")
    changes = parse_changes(options.set)
    p = read_parameters(options.profile, changes)
    names = choose_notebooks(options.only, p)
    if options.save:
        names = [n for n in names if about_notebook(n).kept == p.profile]
        if changes or not names:
            raise UserError(
                "--save: only without --set, and with the profile with which notebooks "
                "are kept (mini; 12 and 14: sample)"
            )
    regenerate(p, names, changes, options.save, options.jobs)
