"""Plays with several processes at once that are killed, interrupted, without room on the disk or
the right to write, whose clock jumps, or whose model is behind servers that fail and are killed,
and compares what is kept with an undisturbed play.

    python -m bench.soak --minutes 30 --seed 1

All processes make the same runs, each in an order of its own, in the same folder. When one has made
all, everything is compared, and they begin anew (docs/faults.md).
"""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from bench.faulty_server import LONG, Server
from ircot_laboratory.make import make_laboratory
from ircotlib.comparing.comparison import compare_systems
from ircotlib.errors import UserError
from ircotlib.files import paths
from ircotlib.files.options import new_parser, read_count
from ircotlib.parameters import SIMULATED, read_parameters
from ircotlib.results import markdown
from ircotlib.results.runs import read_runs
from ircotlib.running import bench as setup
from ircotlib.systems import choose_systems

WORLD = {"seed": 5, "size": 100, "questions": 10}
DATASETS = ["hotpotqa", "fever"]
SYSTEMS = ["NoR QA", "OneR QA", "IRCoT QA", "Self-Ask"]
LOCAL = "data/models/mini-base"
CHANGES = {"model": LOCAL, "extractor": "", "duplicates": "", "distractors": [1]}
CHANGES |= {"dev": 2, "test": 3, "max_steps": 3, "ircot_k": [2, 4], "oner_k": [3]}
RATE = 0.15  # which part of the requests meets a fault of the servers
FAULTS = ["kill"] * 8 + ["interrupt", "interrupt", "clock", "file limit", "read-only", "none"]
DISK, NOBODY = 64, 65534  # MB of the disk that is filled; a user who may not write
OWN = ("seconds", "counts", "checksum")  # of run.json: differ between whole runs
CONTEXT = get_context("forkserver")  # imports once, for all processes
CONTEXT.set_forkserver_preload(["ircotlib.generation.weights", "__main__"])
SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}
ENDS = {0: "made all", 1: "one line", 2: "FAILED"}  # by exit status; of others "ended"


def play(folder: Path, seed: int, fault: str, model: str) -> None:
    """Make all runs and a table of each data set, in a random order, with a fault. `model`: LOCAL,
    SIMULATED, or the addresses of LOCAL.
    """
    chance = random.Random(seed)
    setup.DATA, paths.FIGURES = folder, folder / "figures"
    served, orders = model.startswith("http"), list(product(DATASETS, SYSTEMS))
    chance.shuffle(orders)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        laboratory = make_laboratory(folder / "laboratory", **WORLD)
        suffer(fault, chance)
        for dataset, system in orders:
            changes = CHANGES | {"data_dir": str(laboratory), "datasets": [dataset]}
            patience = 60.0 if fault == "none" else LONG / 2
            served_by = {"server": model, "timeout": patience, "context_tokens": 700}
            changes |= served_by if served else {"model": model}
            p = read_parameters("mini", changes)
            bench = setup.open_bench(p, dataset, "soak")
            compare_systems([bench], choose_systems([system]), 1)
            table = read_runs(p, "soak")[["dataset", "system", "id", "metric", "recall"]]
            markdown.save_table(table, f"soak_{dataset}", "All runs so far.")
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    except Exception as error:
        lacks = isinstance(error, OSError | UserError) or isinstance(error.__cause__, OSError)
        lacks = lacks and fault in ("file limit", "read-only", "full disk")
        lacks |= served and isinstance(error, RuntimeError) and "127.0.0.1" in str(error)
        if not lacks:
            traceback.print_exc()
        os._exit(1 if lacks else 2)
    os._exit(0)


def suffer(fault: str, chance: random.Random) -> None:
    """Bring a fault on this process that lasts; others are brought from outside."""
    if fault == "clock":
        now = time.time
        time.time = lambda: now() + chance.uniform(-1e6, 1e6)
    elif fault == "file limit":
        most = chance.randrange(10_000, 300_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    elif fault == "read-only" and os.getuid() == 0:
        os.setuid(NOBODY)  # who must be able to read this Python


def disturb(
    folder: Path, chance: random.Random, longest: float, model: str, servers: list[Server]
) -> Counter:
    """Play with 2 to 5 processes at once, bring faults on them, and count how they end. `servers`:
    if there are any, each process asks some in place of `model`, and they are killed, too.
    """
    fills = os.path.ismount(folder) and chance.random() < 0.2
    offered = ["full disk"] if fills else FAULTS
    faults = [chance.choice(offered) for _ in range(chance.randint(2, 5))]
    processes = []
    for server in servers:
        server.start(chance.randrange(10**9))
    for fault in faults:
        asked = chance.sample(servers, chance.randint(1, len(servers))) if servers else []
        source = ",".join(server.url for server in asked) or model
        arguments = folder, chance.randrange(10**9), fault, source
        processes.append(CONTEXT.Process(target=play, args=arguments))
        processes[-1].start()
    subjects = [*range(len(faults)), *servers]
    moments = [(chance.uniform(0, 0.8 * longest), subject) for subject in subjects]
    started, ends = time.monotonic(), Counter()
    for moment, subject in sorted(moments, key=lambda pair: pair[0]):
        left = max(0, started + moment - time.monotonic())
        if isinstance(subject, Server):
            time.sleep(left)
            subject.start(chance.randrange(10**9))
            continue
        processes[subject].join(left)
        if faults[subject] == "full disk":
            fill(folder)
        elif faults[subject] in SIGNALS and processes[subject].exitcode is None:
            os.kill(processes[subject].pid, SIGNALS[faults[subject]])
    for fault, process in zip(faults, processes, strict=True):
        process.join()
        ends[fault, ENDS.get(process.exitcode, "ended")] += 1
    for server in servers:
        server.stop()
    return ends


def fill(folder: Path) -> None:
    """Fill the disk for a second."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    time.sleep(1)
    (folder / "filler").unlink()


def read_kept(folder: Path) -> dict[str, object]:
    """All that is kept in a folder, by name: replies, files of runs, tables."""
    kept = {}
    if (folder / "calls.sqlite").exists():
        connection = sqlite3.connect(folder / "calls.sqlite")
        # a process may have been killed before the table was made
        with closing(connection), suppress(sqlite3.OperationalError):
            rows = connection.execute("SELECT key, reply FROM calls")
            kept |= {f"reply {key}": reply for key, reply in rows}
    for path in folder.glob("runs/*/*/*/*/*/run.json"):
        about = json.loads(path.read_text())
        about["parameters"] |= dict.fromkeys(("data_dir", "server", "timeout"))
        name = f"run {'/'.join(path.parts[-4:-1])}"
        kept[name] = {n: value for n, value in about.items() if n not in OWN}
        for file in ("predictions.jsonl", "scores.csv"):
            kept[f"{name} {file}"] = (path.parent / file).read_bytes()
    for path in (path for path in folder.glob("figures/*") if path.suffix in (".csv", ".md")):
        kept[f"table {path.name}"] = path.read_bytes()
    return kept


def compare(before: dict, after: dict) -> Counter:
    """Count, by kind, what was kept before and is lost or has changed."""
    losses = Counter()
    for name in before:
        if name not in after or after[name] != before[name]:
            losses[f"{name.split()[0]} {'changed' if name in after else 'LOST'}"] += 1
            print("   ", name, "is not what it was", file=sys.stderr)
    return losses


def soak(folder: Path, minutes: float, seed: int) -> bool:
    """Play, disturb and compare for some minutes; print a table, and return whether all held."""
    chance, ends, losses, rounds, left = random.Random(seed), Counter(), Counter(), 0, 0
    tried, replies = folder / "tried", folder / "served.sqlite"
    sound, *faulty = (Server(CONTEXT, replies, rate) for rate in (0, RATE, RATE))
    sound.start()
    models = {"on this machine": LOCAL, "simulated": SIMULATED, "behind servers": sound.url}
    alone = {name: play_undisturbed(folder / name, model) for name, model in models.items()}
    started = time.monotonic()
    while time.monotonic() - started < 60 * minutes:
        for path in tried.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        name = chance.choice([*models])
        (longest, whole), made, kept = alone[name], False, {}
        servers = faulty if models[name] == sound.url else []
        while not made:
            ended, before = disturb(tried, chance, longest, models[name], servers), kept
            kept = {n: value for n, value in read_kept(tried).items() if not n.startswith("table")}
            losses += compare(before, kept)
            made = any(end == "made all" for _, end in ended)
            ends, rounds = ends + ended, rounds + 1
            print(f"{rounds:4} {name}: {len(kept)} kept", dict(ended), flush=True)
        _, kept = play_undisturbed(tried, models[name])
        losses += compare(whole, kept) + compare(kept, whole)
        ends[f"compared with the undisturbed play, {name}", "made all"] += 1
        left += sum(1 for _ in tried.rglob("*.partial*"))
    columns, faults = ["made all", "one line", "ended", "FAILED"], dict.fromkeys(f for f, _ in ends)
    rows = [{"fault": fault} | {end: ends[fault, end] for end in columns} for fault in faults]
    print(pd.DataFrame(rows).to_string(index=False))
    print("replies of servers:", dict(Counter(sound.notes.read_text().split("\n"))))
    print(f"{rounds} rounds; lost or changed: {dict(losses) or 'nothing'}; {left} partial files")
    return not losses and not any(end == "FAILED" for _, end in ends)


def play_undisturbed(folder: Path, model: str) -> tuple[float, dict]:
    """Make all runs with one process and no fault; return the seconds, and all that is kept."""
    started = time.monotonic()
    process = CONTEXT.Process(target=play, args=(folder, 0, "none", model))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{folder}: the undisturbed play failed, see above")
    return time.monotonic() - started, read_kept(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "python -m bench.soak")
    parser.add_argument("--minutes", type=read_count, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options, folder = parser.parse_args(arguments), paths.DATA / "soak"
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["IRCOT_BATCH"] = "1"
    (tried := folder / "tried").mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(tried)]
    mounted = os.getuid() == 0 and not subprocess.run(mount, capture_output=True).returncode
    if not mounted:
        print("no full disk is tried: a memory disk can only be mounted by root", file=sys.stderr)
    try:
        raise SystemExit(not soak(folder, options.minutes, options.seed))
    finally:
        if mounted:
            subprocess.run(["umount", str(tried)], check=False)


if __name__ == "__main__":
    main()
