"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

python -m ircotlib.regenerate                                   the mini profile
python -m ircotlib.regenerate --profile sample --set data_dir=FOLDER --only 02_index
python -m ircotlib.regenerate --save          the mini profile, into notebooks/ as they are kept
"""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
import psutil
import yaml
from tqdm import tqdm

from ircotlib.parameters import Parameters, read_parameters
from ircotlib.paths import DATA, FIGURES, NOTEBOOKS, ROOT, resolve

PATHS = ("data_dir", "demonstrations", "model", "agent")  # may be relative to the caller


def all_notebooks() -> list[str]:
    """The notebooks by name, in the order in which they run."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def made_by(notebook: str, profile: str) -> list[Path]:
    """The figures and tables a notebook leaves, as the words after "Makes" at its top say."""
    makes = _top(notebook).split("**Makes**")[1].split("**needs**")[0]
    suffix = "" if profile == "mini" else f"_{profile}"
    names = []
    for stem, endings in re.findall(r"`figures/([\w<>-]+)\.([\w{},]+)`", makes):
        stem = stem.replace("<profile>", profile) if "<profile>" in stem else stem + suffix
        names += [f"{stem}.{ending}" for ending in endings.strip("{}").split(",")]
    return [FIGURES / name for name in names]


def reads_runs(notebook: str) -> bool:
    """Whether a notebook needs the runs of others, and so comes after them."""
    return "the runs of `" in _top(notebook)


@cache
def _top(notebook: str) -> str:
    """The words at the top of a notebook, in one line, read once."""
    top = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells[0].source
    return " ".join(top.split())


def parse_change(text: str) -> tuple[str, object]:
    """One --set: name=value, the value as YAML; a path that is there as seen from the caller's
    folder is given as seen from the repository, or made absolute outside of it.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"found --set {text!r}, expected name=value, for example --set seed=1")
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"found --set {text!r}, expected a value in YAML ({reason})") from None
    if name in PATHS and value and Path(value).exists():
        place = Path(value).resolve()
        return name, str(place.relative_to(ROOT) if place.is_relative_to(ROOT) else place)
    return name, read


def check_places(p: Parameters) -> None:
    """Raise ValueError where a folder that the parameters name is not there."""
    for name in ("data_dir", "demonstrations"):
        folder = resolve(getattr(p, name))
        if folder and not Path(folder).is_dir():
            if name == "demonstrations" and not p.distractors:
                continue
            raise ValueError(f"{name}: found no folder {folder}, expected one: see docs/data.md")


def run_notebook(notebook: str, p: Parameters, changes: dict, out: Path) -> float:
    """Execute one notebook into `out`; return its seconds. Raises RuntimeError, in one line, for a
    cell that fails; the traceback is in `out`.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    started = time.monotonic()
    out.parent.mkdir(parents=True, exist_ok=True)
    # Between us and the kernel; without it ipykernel warns.
    encrypted = Config({"KernelManager": {"transport_encryption": "required"}})
    how = {"kernel_name": "python3", "progress_bar": False, "cwd": str(NOTEBOOKS)}
    how |= {"config": encrypted, "shutdown_kernel": "immediate"}
    how |= {"stderr_file": sys.stderr} if p.server else {}  # what it may cost, and what it costs
    parameters = {"profile": p.profile, "changes": changes}
    try:
        papermill.execute_notebook(NOTEBOOKS / f"{notebook}.ipynb", out, parameters, **how)
    except PapermillExecutionError as error:
        place = f"notebook {notebook}, code cell {error.exec_count}"
        reason = " ".join(str(error.evalue).split())
        raise RuntimeError(f"{place}: {error.ename}: {reason}; traceback in {out}") from error
    return time.monotonic() - started


def run_notebooks(
    notebooks: list[str], run: Callable[[str], float], jobs: int
) -> Iterator[tuple[str, float]]:
    """Each notebook and its seconds, in their order, `jobs` at a time; those that read the runs of
    others when these have ended. After one that fails none is begun.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        for last in (False, True):
            turn = [notebook for notebook in notebooks if reads_runs(notebook) == last]
            running = {notebook: pool.submit(run, notebook) for notebook in turn}
            yield from ((notebook, seconds.result()) for notebook, seconds in running.items())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def strip(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
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


def _is_volatile(output: nbformat.NotebookNode) -> bool:
    widget = "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    return widget or (output.output_type == "stream" and output.name == "stderr")


def save_executed(notebook: str, executed: Path) -> None:
    """Put an executed notebook, stripped, in the place of its source."""
    nbformat.write(strip(nbformat.read(executed, as_version=4)), NOTEBOOKS / f"{notebook}.ipynb")


def regenerate(
    p: Parameters, notebooks: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks, `jobs` at a time, and say what each took; executed copies go to
    data/executed/PROFILE. `p`: the profile's parameters with the changes.
    """
    check_places(p)
    os.environ["IRCOT_BATCH"] = "1"
    logging.getLogger("papermill").setLevel(logging.ERROR)
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


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--profile", default="mini", help="mini, sample, paper or released (profiles/)")
    add("--only", action="append", default=[], metavar="NAME", help="this notebook, or the one that"
        " makes this figure; may be repeated")  # fmt: skip
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter"
        " (docs/parameters.md); may be repeated")  # fmt: skip
    add("--save", action="store_true", help="keep the executed notebooks, stripped, in notebooks/")
    add("--jobs", type=int, default=1, help="notebooks at a time: each uses a core, or the GPU")
    options = parser.parse_args()
    try:
        changes = dict(map(parse_change, options.set))
        if options.save and (options.profile != "mini" or changes):
            raise ValueError("found --save with another profile or --set, expected mini alone")
        if options.jobs < 1:
            raise ValueError(f"found --jobs {options.jobs}, expected at least 1")
        p = read_parameters(options.profile, changes)
        makes = {name: made_by(name, p.profile) for name in all_notebooks()}
        notebooks = choose_notebooks(options.only, makes)
        regenerate(p, notebooks, changes, options.save, options.jobs)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\ninterrupted: all replies so far are kept; the same command goes on", file=sys.stderr
        )
        stop_at_once()
    print(
        f"figures are in {FIGURES.relative_to(ROOT) if FIGURES.is_relative_to(ROOT) else FIGURES}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
