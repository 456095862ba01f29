"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

python -m ircotlib.regenerate                                   the mini profile python -m
ircotlib.regenerate --profile sample --set data_dir=../shared/data --only 02_index python -m
ircotlib.regenerate --save                            the mini profile, into notebooks/ as they
are committed
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import papermill
import yaml
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm
from traitlets.config import Config

from ircotlib.paths import DATA, FIGURES, NOTEBOOKS, PROFILES, ROOT


def _pictures(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.{ending}" for name in names for ending in ("png", "csv"))


# notebook -> the files it leaves in figures/; {profile}, and {suffix} which is "_" and the profile,
# or nothing for mini
MAKES = {
    "00_tour": (),
    "01_corpora": (),
    "02_index": ("{profile}_oner_recall.csv",),
    "03_prompts": (),
    "04_ircot": (),
    "05_laboratory": (),
    "06_scale": _pictures("ircot_fig08_scale_recall{suffix}", "ircot_fig09_scale_f1{suffix}"),
    "07_ood": _pictures("ircot_fig05_ood_recall{suffix}", "ircot_fig06_ood_f1{suffix}"),
    "10_figures": _pictures(
        "ircot_fig03_recall{suffix}", "ircot_fig04_f1{suffix}", "mini_training"
    ),
}
DRAWS = "10_figures"  # from the runs of the others, when they have ended


def made_by(notebook: str, profile: str) -> list[Path]:
    """The figures and tables a notebook leaves."""
    suffix = "" if profile == "mini" else f"_{profile}"
    return [FIGURES / name.format(profile=profile, suffix=suffix) for name in MAKES[notebook]]


def read_profile(profile: str) -> dict:
    """The notebook parameters of a profile, profiles/NAME.yaml."""
    path = PROFILES / f"{profile}.yaml"
    if not path.is_file():
        raise ValueError(
            f"found profile {profile!r}, expected one of {', '.join(sorted(p.stem for p in PROFILES.glob('*.yaml')))}"
        )
    return {"profile": profile, **yaml.safe_load(path.read_text())}


def accepted_parameters(notebook: str) -> set[str]:
    """The names in a notebook's parameters cell."""
    return set(papermill.inspect_notebook(str(NOTEBOOKS / f"{notebook}.ipynb")))


def choose_parameters(notebooks: list[str], profile: str, changes: dict) -> dict[str, dict]:
    """The parameters of each notebook: the profile's, then `changes`. A name that no notebook takes
    is a ValueError.
    """
    wanted = read_profile(profile) | changes
    if "@" in str(wanted.get("retriever")):
        raise ValueError(
            "found a user or a password in the retriever's address, expected none, for notebooks keep their parameters: see README.md"
        )
    accepted = {notebook: accepted_parameters(notebook) for notebook in MAKES}
    known = set().union(*accepted.values())
    if unknown := sorted(set(wanted) - known):
        raise ValueError(
            f"found parameter {', '.join(unknown)}, expected some of {', '.join(sorted(known))}"
        )
    return {
        notebook: {name: value for name, value in wanted.items() if name in accepted[notebook]}
        for notebook in notebooks
    }


def parse_change(text: str) -> tuple[str, object]:
    """One --set: name=value, the value as YAML; a relative path that exists is made absolute, for
    notebooks run elsewhere.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"found --set {text!r}, expected name=value, for example --set seed=1")
    exists = value and not value.lstrip("-").isdigit() and Path(value).exists()
    return name, str(Path(value).resolve()) if exists else yaml.safe_load(value)


def run_notebook(notebook: str, parameters: dict, out: Path) -> float:
    """Execute one notebook with parameters into `out`; return its seconds. A failing cell raises
    PapermillExecutionError.
    """
    started = time.time()
    out.parent.mkdir(parents=True, exist_ok=True)
    source = NOTEBOOKS / f"{notebook}.ipynb"
    # between us and the kernel; without it ipykernel warns
    encrypted = Config({"KernelManager": {"transport_encryption": "required"}})
    papermill.execute_notebook(
        source,
        out,
        parameters,
        kernel_name="python3",
        progress_bar=False,
        cwd=str(NOTEBOOKS),
        config=encrypted,
    )
    return time.time() - started


def strip(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Remove what changes from run to run: papermill's traces, times, widget state, progress
    output, and machine-bound warnings.
    """
    notebook.metadata = {
        name: notebook.metadata[name]
        for name in ("kernelspec", "language_info")
        if name in notebook.metadata
    }
    notebook.metadata.get("language_info", {}).pop("version", None)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "injected-parameters" not in cell.metadata.get("tags", [])
    ]
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
    profile: str, notebooks: list[str], changes: dict, save: bool, jobs: int = 1
) -> None:
    """Run the notebooks, `jobs` at a time, and say what each took; executed copies go to
    data/executed/PROFILE.
    """
    parameters = choose_parameters(notebooks, profile, changes)
    os.environ["IRCOT_BATCH"] = "1"
    executed = {
        notebook: DATA / "executed" / profile / f"{notebook}.ipynb" for notebook in notebooks
    }
    bar = tqdm(
        run_notebooks(parameters, executed, jobs),
        total=len(notebooks),
        unit="notebook",
        disable=not sys.stderr.isatty(),
    )
    for notebook, seconds in bar:
        bar.set_description(notebook)
        tqdm.write(f"{notebook:<12} {seconds:6.1f} s   {executed[notebook]}")
        for path in made_by(notebook, profile):
            tqdm.write(f"{'':<12} wrote      {path}")
        if save:
            save_executed(notebook, executed[notebook])


def run_notebooks(
    parameters: dict[str, dict], executed: dict[str, Path], jobs: int
) -> Iterator[tuple[str, float]]:
    """Each notebook and its seconds, in their order; after one that fails (RuntimeError) none is
    begun.
    """

    def run(notebook: str) -> float:
        try:
            return run_notebook(notebook, parameters[notebook], executed[notebook])
        except PapermillExecutionError as error:
            raise RuntimeError(
                f"notebook {notebook} failed in its code cell {error.exec_count}; see {executed[notebook]}\n{error}"
            ) from error

    pool = ThreadPoolExecutor(jobs)
    try:
        running = {
            notebook: pool.submit(run, notebook) for notebook in parameters if notebook != DRAWS
        }
        yield from ((notebook, seconds.result()) for notebook, seconds in running.items())
        if DRAWS in parameters:
            yield DRAWS, run(DRAWS)
    finally:
        pool.shutdown(cancel_futures=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", default="mini", help="mini, sample or paper (profiles/)")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NOTEBOOK",
        help="run this notebook only; may be repeated",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a parameter; may be repeated",
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="also put the executed notebooks, stripped, into notebooks/ (mini profile only)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="notebooks at a time: each reads its models and uses a core, or the GPU",
    )
    options = parser.parse_args()
    try:
        if unknown := [name for name in options.only or [] if name not in MAKES]:
            raise ValueError(
                f"found --only {', '.join(unknown)}, expected some of {', '.join(MAKES)}"
            )
        if options.save and options.profile != "mini":
            raise ValueError(
                f"found --save with the profile {options.profile!r}, expected mini: only its notebooks are kept"
            )
        notebooks = [name for name in MAKES if not options.only or name in options.only]
        regenerate(
            options.profile,
            notebooks,
            dict(map(parse_change, options.set)),
            options.save,
            options.jobs,
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"figures are in {FIGURES.relative_to(ROOT) if FIGURES.is_relative_to(ROOT) else FIGURES}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
