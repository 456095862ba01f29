"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --profile sample --set data_dir=FOLDER --only ircot_fig04_f1

It can be interrupted and run again: all replies are kept in the call cache.
"""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from types import SimpleNamespace

from tqdm import tqdm

from ircotlib.errors import UserError
from ircotlib.files import DATA, NOTEBOOKS, figure_path, need, writing
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.parameters import Parameters, read_parameters

IN_BATCH = {"IRCOT_BATCH": "1"}  # no widgets, no progress bars
# the C library's allocator keeps freed memory: a model needs as much for its next batch
IN_BATCH |= dict.fromkeys(
    ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), "4000000000"
)


def all_notebooks() -> list[str]:
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def about_notebook(notebook: str) -> SimpleNamespace:
    """The files that it `makes` (`figure_path`), and the notebooks whose `runs` it
    reads.
    """
    content = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    return SimpleNamespace(
        **{"makes": [], "runs": []} | content["metadata"].get("ircotlib", {})
    )


def made_by(notebook: str, profile: str, trial: str = "") -> list[Path]:
    """The figures and tables that a notebook makes with a profile, or in a trial of it."""
    return [
        figure_path(name, profile, trial) for name in about_notebook(notebook).makes
    ]


def choose_notebooks(only: Sequence[str], p: Parameters) -> list[str]:
    """The notebooks of these names, or that make the figures of these names; all for
    none.
    """
    makes = {name: {path.stem for path in made_by(name, p.profile, p.trial)} | {name}
             for name in all_notebooks()}  # fmt: skip
    known = sorted(set().union(*makes.values()))
    if unknown := [name for name in only if name not in known]:
        raise UserError(
            f"found --only {unknown[0]}, expected one of {', '.join(known)}"
        )
    return [notebook for notebook in makes if not only or makes[notebook] & {*only}]


def run_notebook(notebook: str, p: Parameters, changes: dict, executed: Path) -> float:
    """Execute a notebook into `executed`; return the seconds. Cells with the tag
    `mini`, which describe results of that profile, are left out for other profiles and
    in trials.
    """
    import nbformat
    import papermill
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager
    from papermill.exceptions import PapermillExecutionError

    started = time.monotonic()
    content = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4)
    if p.profile != "mini" or p.trial:
        content.cells = [
            c for c in content.cells if "mini" not in c.metadata.get("tags", [])
        ]
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, executed)
    # no folder of kernelspecs is looked at: the one there may be another interpreter's
    specs = KernelSpecManager(kernel_dirs=[])
    kernel = AsyncKernelManager(
        kernel_spec_manager=specs, transport_encryption="required"
    )
    options = {
        "kernel_name": "python3",
        "progress_bar": False,
        "cwd": NOTEBOOKS,
        "km": kernel,
    }
    parameters = {"profile": p.profile, "changes": changes}
    try:
        papermill.execute_notebook(executed, executed, parameters, **options)
    except PapermillExecutionError as error:
        cell = f"notebook {notebook}, code cell {error.exec_count}"
        failure = f"{cell}: {error.ename}: {error.evalue}; traceback in {executed}"
        raise RuntimeError(failure) from error
    finally:
        asyncio.run(kernel.shutdown_kernel(now=True))
    return time.monotonic() - started


def regenerate(
    p: Parameters,
    notebooks: Sequence[str],
    changes: dict,
    save: bool = False,
    jobs: int = 1,
) -> None:
    """Run notebooks, `jobs` at a time; one that reads runs waits for those that make
    them.
    """
    folder, started = DATA / "executed" / p.profile / p.trial, time.time_ns()
    # no kernel reads or writes the user's own settings and history
    os.environ |= {"IPYTHONDIR": str(DATA / "executed/ipython")} | IN_BATCH
    running: dict[str, Future] = {}

    def run(notebook: str) -> tuple[str, float]:
        for earlier in about_notebook(notebook).runs:
            if earlier in running:
                running[earlier].result()
        return notebook, run_notebook(
            notebook, p, changes, folder / f"{notebook}.ipynb"
        )

    pool = ThreadPoolExecutor(jobs)
    for notebook in notebooks:
        running[notebook] = pool.submit(run, notebook)
    try:
        for future in tqdm(
            as_completed(running.values()), total=len(running), disable=None
        ):
            notebook, seconds = future.result()
            tqdm.write(f"{notebook:<20} {seconds:6.1f} s   {folder / notebook}.ipynb")
            for path in made_by(notebook, p.profile, p.trial):
                wrote = path.exists() and path.stat().st_mtime_ns >= started
                tqdm.write(f"{'':<20} {'wrote' if wrote else 'not made':<11}{path}")
            if save:
                save_executed(notebook, folder / f"{notebook}.ipynb")
    finally:  # an interrupt waits for no notebook
        pool.shutdown(wait=False, cancel_futures=True)


def save_executed(name: str, executed: Path) -> None:
    """Put an executed notebook in place of its source, without what changes from run to
    run.
    """
    import nbformat

    notebook = nbformat.read(executed, as_version=4)
    names = {"ircotlib", "kernelspec", "language_info"} & notebook.metadata.keys()
    notebook.metadata = {name: notebook.metadata[name] for name in sorted(names)}
    notebook.metadata.get("language_info", {}).pop("version", None)
    tagged = [(cell, cell.metadata.get("tags", [])) for cell in notebook.cells]
    notebook.cells = [
        cell for cell, tags in tagged if "injected-parameters" not in tags
    ]
    for cell, tags in tagged:
        cell.metadata = {"tags": tags} if tags else {}
        if cell.cell_type == "code":
            widget = "application/vnd.jupyter.widget-view+json"
            plain = [out for out in cell.outputs if widget not in out.get("data", {})]
            cell.outputs = [out for out in plain if out.get("name") != "stderr"]
    with writing(NOTEBOOKS / f"{name}.ipynb") as new:
        new.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib figures")
    add = parser.add_argument
    add_profile(parser)
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a notebook or a figure",
    )
    add(
        "--save",
        action="store_true",
        help="keep the executed notebooks, stripped, in notebooks/",
    )
    add("--jobs", type=int, default=1, help="notebooks at a time")
    options = parser.parse_args(arguments)
    need("papermill", "lab")
    changes = parse_changes(options.set)
    if options.save and (options.profile != "mini" or changes):
        raise UserError("--save: only for the profile mini, without --set")
    p = read_parameters(options.profile, changes)
    regenerate(
        p, choose_notebooks(options.only, p), changes, options.save, options.jobs
    )
