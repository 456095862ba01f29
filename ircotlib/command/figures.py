"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --profile sample --set data_dir=FOLDER --only 04_ircot

It can be interrupted and run again: all replies are kept in the call cache.
"""

import json
import os
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from types import SimpleNamespace

from ircotlib.errors import UserError
from ircotlib.files import DATA, NOTEBOOKS, environment, figure_path, need, writing
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.parameters import Parameters, read_parameters

# variables of kernels
IN_BATCH = {
    "IRCOT_BATCH": "1",  # no widgets, no progress bars
    # no kernel reads or writes the user's own settings and history
    "IPYTHONDIR": str(DATA / "executed" / "ipython"),
    # of a process that removes what the workers of a kernel leave
    "PYTHONWARNINGS": "ignore:resource_tracker",
    # the C library keeps freed memory: a model needs as much for its next batch
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
}
VIEW = "application/vnd.jupyter.widget-view+json"


def all_notebooks() -> list[str]:
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def about_notebook(notebook: str) -> SimpleNamespace:
    """What it `makes`, the notebooks whose `runs` it reads, its `kept` profile."""
    content = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    about = {"makes": [], "runs": [], "kept": "mini"}
    return SimpleNamespace(**about | content["metadata"].get("ircotlib", {}))


def made_by(notebook: str, profile: str, trial: str = "") -> list[Path]:
    """The figures and tables that a notebook makes with a profile, or in its trial."""
    makes = about_notebook(notebook).makes
    return [figure_path(name, profile, trial) for name in makes]


def run_notebook(
    notebook: str, p: Parameters, changes: dict, executed: Path, kernels: list
) -> None:
    """Execute a notebook into `executed`, by a kernel that `kernels` gets. Cells tagged
    `mini`, on results of that profile, are left out elsewhere.
    """
    import nbformat
    import papermill
    from jupyter_client import KernelManager
    from jupyter_client.kernelspec import KernelSpecManager

    content = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4)
    if p.profile != "mini" or p.trial:
        content.cells = [each for each in content.cells if "mini" not in tags(each)]
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, executed)
    kernel = KernelManager(
        # no folder of kernelspecs is looked at: the one there may be of another Python
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        client_class="jupyter_client.asynchronous.AsyncKernelClient",
        transport_encryption="required",
    )
    kernel.start_kernel(cwd=NOTEBOOKS)
    kernels.append(kernel)
    parameters = {"profile": p.profile, "changes": changes}
    options = {"kernel_name": "python3", "progress_bar": False, "km": kernel}
    try:
        papermill.execute_notebook(executed, executed, parameters, **options)
    except papermill.PapermillExecutionError as error:
        words = f"{error.ename}: {error.evalue}; traceback in {executed}"
        raise RuntimeError(f"notebook {notebook}: {words}") from error
    except RuntimeError as error:  # such as a kernel that was killed for its memory
        words = f"{error}; the cells until then are in {executed}"
        raise RuntimeError(f"notebook {notebook}: {words}") from error
    finally:
        kernel.shutdown_kernel()  # not at once: its workers clean up


def regenerate(
    p: Parameters, names: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks, `jobs` at a time, first those that read no runs of others."""
    os.environ |= environment() | IN_BATCH
    folder = DATA / "executed" / p.profile / p.trial
    kernels: list = []

    def run(notebook: str) -> None:
        executed = folder / f"{notebook}.ipynb"
        run_notebook(notebook, p, changes, executed, kernels)
        made = made_by(notebook, p.profile, p.trial)
        for path in (executed, *filter(Path.exists, made)):
            print(f"{notebook:<20} wrote {path}", flush=True)
        if save:
            save_executed(notebook, executed)

    reads = [name for name in names if about_notebook(name).runs]
    pool = ThreadPoolExecutor(jobs)
    try:
        for group in ([name for name in names if name not in reads], reads):
            for future in as_completed([pool.submit(run, name) for name in group]):
                future.result()
    except KeyboardInterrupt:
        for kernel in kernels:
            if kernel.has_kernel:
                kernel.signal_kernel(signal.SIGKILL)  # with its workers, and at once
        raise
    finally:  # an interrupt waits for no notebook
        pool.shutdown(wait=False, cancel_futures=True)


def save_executed(name: str, executed: Path) -> None:
    """Put an executed notebook in place of its source, without what always changes."""
    import nbformat

    notebook = nbformat.read(executed, as_version=4)
    source = NOTEBOOKS / f"{name}.ipynb"
    notebook.metadata = nbformat.read(source, as_version=4).metadata
    notebook.cells = [c for c in notebook.cells if "injected-parameters" not in tags(c)]
    for cell in notebook.cells:
        cell.metadata = {"tags": tags(cell)} if tags(cell) else {}
        if cell.cell_type == "code":
            plain = [out for out in cell.outputs if VIEW not in out.get("data", {})]
            cell.outputs = [out for out in plain if out.get("name") != "stderr"]
    with writing(source) as new:
        new.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib figures")
    add_profile(parser)
    add = parser.add_argument
    add("--only", action="append", choices=all_notebooks(), metavar="NOTEBOOK")
    add("--save", action="store_true", help="save executed notebooks in notebooks/")
    add("--jobs", type=int, default=1, help="notebooks at a time")
    options = parser.parse_args(arguments)
    need("papermill", "lab")
    changes = parse_changes(options.set)
    p = read_parameters(options.profile, changes)
    names = all_notebooks()
    if options.only:
        names = [name for name in names if name in options.only]
    if options.save:
        names = [name for name in names if about_notebook(name).kept == p.profile]
        if changes or not names:
            kept = "notebooks are kept of mini (12 and 14 of sample), without --set"
            raise UserError(f"--save: {kept}")
    regenerate(p, names, changes, options.save, options.jobs)
