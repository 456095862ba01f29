"""Merges call caches, recovers damaged ones, and exports replies to publish with a paper.

ircotlib calls merge data/calls.sqlite OTHER.sqlite      adds the replies of other caches or files
ircotlib calls export data/runs/mini paper.calls.xz      the replies that these runs need
ircotlib calls recover data/calls.sqlite                 what can be read of a damaged cache

ircotlib figures --export paper.calls.xz                 those that every figure needs
ircotlib figures --calls paper.calls.xz                  every figure, without asking a model
ircotlib figures --calls paper.calls.xz --recompute 100  asks for a random hundred again
"""

import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory

from ircotlib.errors import DataError, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.options import new_parser
from ircotlib.files.paths import DATA, check_target
from ircotlib.parameters import Parameters
from ircotlib.playing import exported
from ircotlib.playing.cache import Calls, is_cache
from ircotlib.playing.exported import Replaying, check_export, read_exported, write_exported
from ircotlib.playing.recover import recover
from ircotlib.running.backends import open_model
from ircotlib.running.bench import runs_folder
from ircotlib.running.run import (
    RERUN,
    VERSIONS,
    find_folders,
    installed,
    name_model,
    parameters_of,
    read_about,
)
from ircotlib.text import plain

XZ = b"\xfd7zXZ"  # begins every file that is compressed by xz
LITTLE = 1e-4  # difference of log-probabilities that rounding makes


def merge(into: Path, sources: Sequence[Path]) -> int:
    """Add all replies of call caches or exported files to a call cache; return how many are new.
    Raises DataError, and adds none, if two of them reply differently to one request.
    """
    check_target(into, "a call cache", ".sqlite", is_cache)
    with ExitStack() as at_the_end:
        others = []
        for path in sources:
            if not path.is_file():
                raise UserError(f"{path}: found no such file, expected a call cache")
            with path.open("rb") as file:
                packed = file.read(len(XZ)) == XZ
            others.append(read_exported(path)[1] if packed else Calls(path))
            at_the_end.enter_context(others[-1])
        return at_the_end.enter_context(Calls(into)).merge(others)


def export(runs: Sequence[Path], file: Path) -> int:
    """Replay runs from the call cache and write the replies that they need; return their number.
    `runs`: folders of runs, or folders that hold some; stderr names those with a system or a
    parameter that is not known here, which are left out, and what else notebooks read. Raises
    UserError if there is none, DataError if the replies do not give what a run predicted.
    """
    from ircotlib.running.experiment import replay  # imports pandas
    from ircotlib.running.predictions import read_lines, row_of
    from ircotlib.systems import all_systems

    check_export(file)
    folders = sorted({folder for run in runs for folder in find_folders(run)})
    if not folders:
        raise UserError(f"{' '.join(map(str, runs))}: found no run.json, expected finished runs")
    systems = all_systems()
    abouts = []
    with Calls() as used, Calls(DATA / "calls.sqlite") as own:
        calls = Replaying(own, used=used, remedy=RERUN)
        for folder in folders:
            about = read_about(folder)
            try:
                if about["system"] not in systems:
                    raise UserError(f"no system {about['system']!r} is installed")
                parameters_of(about)
            except UserError as error:
                left_out = f"{folder}: left out, as {one_line(error)}"
                print(f"{left_out}; figures --export has its replies", file=sys.stderr, flush=True)
                continue
            abouts.append(about)
            outcomes = replay(folder, calls=calls)
            rows = {id: row_of(id, outcome) for id, outcome in outcomes.items()}
            if json.loads(json.dumps(rows)) != read_lines(folder, about):
                differs = "found other predictions than the cached replies give"
                raise DataError(f"{folder}: {differs}, expected the same; {RERUN}")
        if not abouts:
            raise UserError(f"found {len(folders)} runs, all left out, expected one that is not")
        write_exported(file, used, describe(abouts))
        named = {folder.resolve().parents[2] for folder in folders}
        for other in sorted(_other_readers(abouts) - named):
            more = "not exported, but the same notebook reads it: name it, or use figures --export"
            print(f"{other}: {more}", file=sys.stderr, flush=True)
        return len(used)


def _other_readers(abouts: Sequence[Mapping]) -> set[Path]:
    """The folders of the runs with the other reader, where there are some (04_ircot)."""
    folders = set()
    for about in abouts:
        named = (about[name] for name in ("experiment", "shown", "grid_of"))
        folders.add(runs_folder(parameters_of(about).other_reader(), *named).resolve())
    return {folder for folder in folders if folder.is_dir()}


def describe(abouts: Iterable[Mapping], *others: Parameters) -> dict:
    """What made replies: profiles, seeds, models with their fingerprints, and versions. `abouts`:
    the run.json of runs; `others`: parameters that were also used, with what is installed here.
    """
    abouts = list(abouts)
    for p in others:
        made_by = {"parameters": p.model_dump(), "model_fingerprint": open_model(p).fingerprint}
        abouts.append(made_by | installed())
    models = {(name_model(a["parameters"]), a.get("model_fingerprint")) for a in abouts}
    values = {name: {a["parameters"][name] for a in abouts} for name in ("profile", "seed")}
    values |= {"model": {pair for pair in models if pair[1]}}
    here = [name for name in ("python", *VERSIONS) if all(name in about for about in abouts)]
    values |= {name: {about[name] for about in abouts} for name in here}
    return {name: sorted(each) for name, each in values.items()}


@contextmanager
def exchanging(
    p: Parameters, file: Path | None, recompute: int = 0, to: Path | None = None
) -> Iterator[None]:
    """While notebooks run: play them with the replies of an exported file, ask for some of these
    again and print how many are equal, or export the replies that were used.

    `file`: the exported file; `recompute`: how many replies, drawn by the seed; `to`: where to
    export. Raises UserError if the file has replies of another model of the same name.
    """
    if recompute and (to or not file):
        raise UserError("found --recompute, expected --calls with it, and no --export")
    if to:
        check_export(to)
        if file and to.exists() and to.samefile(file):
            raise UserError(f"{to}: found it behind --calls and --export, expected another file")
    started = time.time()
    with _noting_used() if recompute or to else ExitStack() as used:
        if file:
            about, published = read_exported(file)
            _check_models(file, p, about)
            print(f"{file}: {plain(_say(about))}", flush=True)
            os.environ[exported.EXPORTED] = str(file.absolute())
        if recompute:
            keys = [key for page in published.pages() for key in page]
            drawn = random.Random(p.seed).sample(keys, min(recompute, len(keys)))
            path = Path(os.environ[exported.USED]).with_name("again")
            path.write_text("\n".join(drawn))
            os.environ[exported.ASK_AGAIN] = str(path)
        try:
            yield
        finally:
            for name in (exported.EXPORTED, exported.ASK_AGAIN):
                os.environ.pop(name, None)
        if recompute:
            _compare(published.get_many(drawn), used.get_many(drawn))
        if to:
            runs = find_folders(DATA / "runs" / p.profile)
            made = [run for run in runs if (run / "run.json").stat().st_mtime >= started - 1]
            write_exported(to, used, describe(map(read_about, made), p, p.for_agent()))
            print(f"{to}: {len(used):,} replies, {to.stat().st_size:,} bytes")


@contextmanager
def _noting_used() -> Iterator[Calls]:
    """A call cache into which this process and its kernels put the replies that they use."""
    DATA.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="used-", dir=DATA) as folder:
        path = Path(folder).absolute() / "used.sqlite"
        os.environ[exported.USED] = str(path)
        try:
            with Calls(path) as used:
                yield used
        finally:
            os.environ.pop(exported.USED, None)


def _check_models(file: Path, p: Parameters, about: Mapping) -> None:
    for each in (p, p.for_agent()):
        prints = [made for name, made in about["model"] if name == name_model(each)]
        if prints and (own := open_model(each).fingerprint) not in prints:
            found = f"found replies of {name_model(each)} with fingerprint {', '.join(prints)}"
            remedy = "get the files of the model that made them"
            raise UserError(f"{file}: {found}, expected {own}, that of the one here; {remedy}")


def _say(about: Mapping) -> str:
    models = ", ".join(f"{Path(name).name} ({made[:8]})" for name, made in about["model"])
    named = [name for name in ("profile", "seed", *VERSIONS) if name in about]
    made = [f"{name} {'/'.join(map(str, about[name]))}" for name in named]
    return f"{about['replies']:,} replies of {models or 'no model'}; {', '.join(made)}"


def _compare(published: Mapping[str, str], computed: Mapping[str, str]) -> None:
    """Print how many replies are equal, and those that are not. In log-probabilities, a difference
    of less than LITTLE is none: their last decimals depend on the batch.
    """
    differing = [key for key in computed if not _is_equal(computed[key], published[key])]
    asked = f"asked for {len(computed)} of {len(published)} replies again"
    print(f"{asked}: {len(computed) - len(differing)} are equal, {len(differing)} are not")
    for key in differing:
        print(f"{key}\n  published: {plain(published[key])}\n  here:      {plain(computed[key])}")


def _is_equal(reply: str, other: str) -> bool:
    numbers = [], []
    first, second = (
        json.loads(text, parse_float=lambda number, into=into: into.append(float(number)))
        for text, into in zip((reply, other), numbers, strict=True)
    )
    return first == second and all(map(partial(isclose, abs_tol=LITTLE), *numbers))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib calls")
    commands = parser.add_subparsers(dest="command", required=True, metavar="merge|export|recover")
    merging = commands.add_parser("merge", help="add the replies of other caches to one")
    merging.add_argument("into", type=Path, help="the call cache to which they are added")
    merging.add_argument("sources", type=Path, nargs="+", help="call caches or exported files")
    exporting = commands.add_parser("export", help="write the replies that runs need into a file")
    exporting.add_argument("runs", type=Path, nargs="+", help="folders of runs, or that hold some")
    exporting.add_argument("file", type=Path, help="the file to write, such as paper.calls.xz")
    recovering = commands.add_parser("recover", help="save what can be read of a damaged cache")
    recovering.add_argument("file", type=Path, help="the call cache, which nothing else uses now")
    options = parser.parse_args(arguments)
    if options.command == "recover":
        count, damaged = recover(options.file)
        print(f"{options.file}: kept {count:,} replies; the damaged file is {damaged}")
    elif options.command == "merge":
        count = merge(options.into, options.sources)
        print(f"{options.into}: added {count:,} replies")
    else:
        count = export(options.runs, options.file)
        print(f"{options.file}: {count:,} replies, {options.file.stat().st_size:,} bytes")
