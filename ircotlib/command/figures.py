"""Regenerates every figure and table: runs the notebooks with a profile's parameters.

ircotlib figures                                   the mini profile
ircotlib figures --only 04_ircot --set "ircot_k=[4]"
ircotlib figures --profile sample --set data_dir=FOLDER --only ircot_fig04_f1
ircotlib figures --save                            the mini profile; keeps the executed notebooks
"""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from ircotlib.command.kernels import KEEP_MEMORY, run_notebook, run_notebooks
from ircotlib.errors import UserError
from ircotlib.files.extras import need
from ircotlib.files.notebooks import about_notebook, all_notebooks, made_by
from ircotlib.files.options import add_profile, new_parser, parse_changes, read_workers
from ircotlib.files.paths import DATA, FIGURES, NOTEBOOKS, writing
from ircotlib.parameters import Parameters, read_parameters

# a fifth of what a kernel computes with all replies cached would be the garbage collector's looking
COLLECT_LESS = '__import__("gc").set_threshold(50_000, 20, 20)\n'
RUNS = re.compile(r"(\d\d_\w+), runs: ([\d,]+) of ([\d,]+)")  # what a notebook tells of its work


def add_notebooks(parser: argparse.ArgumentParser) -> None:
    """Add the options --profile and --set, and --only, which names notebooks."""
    add_profile(parser)
    only = "this notebook, or the one that makes this figure; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=only)


def choose_notebooks(only: list[str], p: Parameters) -> list[str]:
    """The notebooks of these names, or that make the figures of these names with these parameters;
    all for none.
    """
    makes = {notebook: made_by(notebook, p.profile, p.trial) for notebook in all_notebooks()}
    names = {notebook: {notebook, *(path.stem for path in makes[notebook])} for notebook in makes}
    known = dict.fromkeys([*makes, *sorted(set().union(*names.values()))])
    if unknown := [name for name in only if name not in known]:
        expected = f"expected a notebook or a figure: {', '.join(known)}"
        raise UserError(f"found --only {unknown[0]}, {expected}")
    return [notebook for notebook in makes if not only or names[notebook] & {*only}]


class Bar:
    """One bar for all notebooks: the share of their minutes that is done, what they are doing, and
    about how long the rest will take. Without a terminal it is a line every 30 seconds.

    `minutes`: how long each takes at first. `folder`: where their processes tell what they do.
    """

    def __init__(self, minutes: Mapping[str, float], folder: Path):
        self.minutes = minutes
        self.folder = folder
        self.ended = set()
        self.started = self.printed = time.monotonic()
        shape = "{percentage:3.0f}%|{bar:10}| {desc}"
        silent = not sys.stderr.isatty()
        self.bar = tqdm(total=sum(minutes.values()), bar_format=shape, disable=silent)

    def look(self, running: Sequence[str]) -> None:
        """Show how far the notebooks are; `running`: those that are worked on now."""
        told = [path.read_text(encoding="utf-8") for path in self.folder.iterdir()]
        told = [text for text in sorted(told) if RUNS.match(text)]
        shares = {}
        for name, done, total in RUNS.findall("\n".join(told)):
            shares[name] = int(done.replace(",", "")) / int(total.replace(",", ""))
        shares |= dict.fromkeys(self.ended, 1)
        done = sum(self.minutes[name] * share for name, share in shares.items())
        self.bar.n, now = max(self.bar.n, done), time.monotonic()
        left = (now - self.started) / 60 * (self.bar.total / self.bar.n - 1) if self.bar.n else 0
        told = [text for text in told if RUNS.match(text)[1] not in self.ended]
        told += [name for name in running if name not in shares]
        text = "; ".join([*told, f"about {left:.0f} min left"] if left >= 1 else told)
        self.bar.set_description_str(text)
        if self.bar.disable and text and now - self.printed > 30:
            self.printed = now
            print(text, file=sys.stderr, flush=True)


def regenerate(
    p: Parameters, notebooks: list[str], changes: dict, save: bool = False, jobs: int = 1
) -> None:
    """Run notebooks and print their seconds; executed copies go to data/executed/PROFILE, those of
    a trial to its folder there.
    """
    # no kernel reads or writes the user's own settings and history
    own = DATA / "executed/ipython"
    os.environ |= {"IRCOT_BATCH": "1", "IPYTHONDIR": str(own)} | KEEP_MEMORY
    with writing(own / "profile_default/startup/collect_less.py") as new:
        new.write_text(COLLECT_LESS)
    for library in ("papermill", "traitlets"):  # whose errors are raised too
        logging.getLogger(library).setLevel(logging.CRITICAL)
    folder = DATA / "executed" / p.profile / p.trial
    started = time.time_ns()

    def run(notebook: str) -> float:
        return run_notebook(notebook, p, changes, folder / f"{notebook}.ipynb")

    minutes = {notebook: about_notebook(notebook).minutes for notebook in notebooks}
    with TemporaryDirectory(prefix="ircot") as progress, ExitStack() as at_the_end:
        os.environ["IRCOT_PROGRESS"] = progress
        at_the_end.callback(os.environ.pop, "IRCOT_PROGRESS")
        bar = Bar(minutes, Path(progress))
        for notebook, seconds in run_notebooks(notebooks, run, jobs, bar.look):
            bar.ended.add(notebook)
            executed = folder / f"{notebook}.ipynb"
            tqdm.write(f"{notebook:<14} {seconds:6.1f} s   {executed}")
            for path in made_by(notebook, p.profile, p.trial):
                wrote = path.exists() and path.stat().st_mtime_ns >= started
                tqdm.write(f"{'':<14} {'wrote' if wrote else 'not made':<11}{path}")
            if save:
                save_executed(notebook, executed)
    if p.trial:
        kept = f"what {p.profile} makes as it is shipped stays as it was"
        print(f"a trial, in {FIGURES / p.trial} and {folder}: {kept}")


def save_executed(notebook: str, executed: Path) -> None:
    """Strip an executed notebook and put it in place of its source."""
    import nbformat  # takes two seconds to import

    strip(content := nbformat.read(executed, as_version=4))
    with writing(NOTEBOOKS / f"{notebook}.ipynb") as new:
        new.write_text(nbformat.writes(content) + "\n", encoding="utf-8")


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
    add_notebooks(parser)
    add("--save", action="store_true", help="keep the executed notebooks, stripped, in notebooks/")
    jobs = "notebooks at a time, each on a core or the GPU"
    add("--jobs", type=read_workers, help=jobs)
    options = parser.parse_args(arguments)
    need("papermill", "lab")
    changes = parse_changes(options.set)
    if options.save and (options.profile != "mini" or changes):
        raise UserError("found --save with another profile or --set, expected mini alone")
    p = read_parameters(options.profile, changes)
    notebooks = choose_notebooks(options.only, p)
    regenerate(p, notebooks, changes, options.save, options.jobs or 1)
