"""Takes finished runs out: for TREC's tools, for official scorers, for viewers of traces.

ircotlib export data/runs/quick FOLDER --as trec       runs and qrels, for trec_eval and ir_measures
ircotlib export data/runs/quick FOLDER --as official   predictions, and what was asked as gold file
ircotlib export data/runs/quick FOLDER --as traces     spans of OpenInference, for Phoenix
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_folder
from ircotlib.files.paths import DATA, ROOT, check_writable, write_whole
from ircotlib.files.progress import track
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying
from ircotlib.results.exports import official, spans, trec
from ircotlib.running.laboratory import data_folder
from ircotlib.running.predictions import read_lines, read_questions
from ircotlib.running.run import RERUN, find_folders, name_model, parameters_of, read_about

Files = Iterable[tuple[str, str]]  # names and texts; a name that begins with a dot ends the run's


def export(runs: Sequence[Path], folder: Path, form: str) -> list[Path]:
    """Write finished runs in one of the FORMS, into files named as the runs; return these. `runs`:
    folders of runs, or folders that hold some. Raises UserError if there are none, DataError if one
    is damaged or its data have changed, and Unavailable if replies that a trace needs are gone.
    """
    found = sorted({folder.resolve() for run in runs for folder in find_folders(run)})
    if not found:
        named = " ".join(map(str, runs))
        raise UserError(f"{named}: found no run.json, expected finished runs, as in data/runs")
    check_writable(folder)
    written = {}
    for run in track(found, f"export {form}", every=1):
        experiment, dataset, part, system = run.parts[-4:]
        for name, text in FORMS[form](run):
            name = system.replace(" ", "_") + name if name[0] == "." else name
            written[path := folder / experiment / dataset / part / name] = None
            write_whole(path, text)
    return [*written]


def as_trec(folder: Path) -> Files:
    """The run, and the qrels of all runs on these questions, if they have gold paragraphs."""
    about = read_about(folder)
    lines = read_lines(folder, about)
    questions = read_questions(folder, about, lines)
    collected = {id: line["paragraphs"] for id, line in lines.items()}
    yield ".run", "".join(trec.run_lines(collected, folder.name))
    if qrels := "".join(trec.qrels_lines(questions[id] for id in lines)):
        yield "qrels", qrels


def as_official(folder: Path) -> Files:
    """The predictions; beside them the records of the questions that were asked, as a gold file,
    because scorers divide by all that a gold file has.
    """
    about = read_about(folder)
    lines = read_lines(folder, about)
    p, name = parameters_of(about), about["dataset"]
    path = find_questions(find_dataset(name, p.released), ROOT / data_folder(p.data_dir, DATA))
    field, write = official.FORMATS.get(name, ("", official.as_answers))
    if name == "eli5" and path.suffix == ".json":  # not KILT's file
        field, write = "", official.as_answers
    records = official.read_records(name, path, field) if field else {}
    asked = []
    for id, line in lines.items():
        answer = line["answer"] or line["reading"]  # as `score` has it
        asked.append(official.OfficialAnswer(id, records.get(id, {}), answer, line["paragraphs"]))
    predictions = write(asked)
    yield ".json" if isinstance(predictions, dict) else ".jsonl", official.write(predictions)
    if field:
        gold = [each.record for each in asked]
        yield f"gold{path.suffix}", official.write(gold, is_list=path.suffix == ".json")


def as_traces(folder: Path) -> Files:
    """The spans of all questions, one a line."""
    from ircotlib.running.experiment import replay  # imports pandas

    about = read_about(folder)
    ended = datetime.fromtimestamp((folder / "run.json").stat().st_mtime, UTC)
    named = about["system"], name_model(about["parameters"]), "/".join(folder.parts[-4:])
    with Calls(DATA / "calls.sqlite") as own:
        outcomes = replay(folder, calls=Replaying(own, remedy=RERUN))
    questions = read_questions(folder, about, outcomes)
    of_run = (spans.spans_of(questions[id], outcomes[id], *named, ended) for id in outcomes)
    yield ".spans.jsonl", "".join(f"{json.dumps(span)}\n" for each in of_run for span in each)


FORMS = {"trec": as_trec, "official": as_official, "traces": as_traces}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib export")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs, or that hold some")
    parser.add_argument("folder", type=read_folder, help="the folder to write to")
    parser.add_argument("--as", dest="form", choices=FORMS, required=True, help="the format")
    options = parser.parse_args(arguments)
    written = export(options.runs, options.folder, options.form)
    print(f"{options.folder}: {len(written)} files, such as {written[0]}")
