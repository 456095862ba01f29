"""How a run was played: method and prompts. Each function yields facts and their values; None: not
known.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from statistics import mean
from typing import NamedTuple

from ircotlib.program import LINE, SENTENCE, SENTENCE_OF_LINE
from ircotlib.prompting.demonstrations import (
    NO_DEMONSTRATIONS,
    NO_PARAGRAPHS,
    demonstration_folder,
)
from ircotlib.running.bench import Bench
from ircotlib.systems import CLOSED, SETS, System
from ircotlib.systems.readers import READER

STOPS = {SENTENCE: "after the first sentence", LINE: "at the first line break"}
STOPS |= {SENTENCE_OF_LINE: "after the first sentence or line", None: "where the model ends"}
# the keywords of programs that have another name on the sheet; the others are in docs/constants.md
NAMES = {"k": "paragraphs of a retrieval (K)", "max_steps": "most steps"}
NAMES |= {"max_paragraphs": "most paragraphs", "extract": "an extractive reader answers"}
NAMES |= {"released": "as the released program, where it differs"}
ASKED = ("k", "max_steps", "max_paragraphs")  # also of a run that does not say them
# and those of which other facts tell
TOLD = "m demonstration_set sentence max_tokens chat".split()
Facts = Iterator[tuple[str, object]]


class Known(NamedTuple):
    """A run, as its folder has it: run.json, the lines and scores of its questions. `bench`: not
    opened. `system`: without a program if it is not installed.
    """

    about: dict
    bench: Bench
    system: System
    lines: list[dict]
    scores: list[dict]

    @property
    def imported(self) -> dict | None:
        """Where it comes from, if it was imported."""
        return self.about.get("imported")

    def count(self, *kinds: str) -> int:
        """How many requests of these kinds it made."""
        return sum(self.about["counts"].get(kind, {}).get("requests", 0) for kind in kinds)

    @property
    def writes(self) -> bool:
        """Whether a model writes something; of an imported run, what the system's record says."""
        does = self.system.program is None or self.system.stages or self.system.reads
        return bool(does) if self.imported else self.count("Generate", "Sample") > 0

    @property
    def searches(self) -> bool:
        """Whether something is retrieved; of an imported run, what the system's record says."""
        does = self.system.family[0] != CLOSED
        return does if self.imported else self.count("Retrieve", "NearestTitle") > 0


def describe_prompts(run: Known) -> Facts:
    """What the model is shown, and where its texts end."""
    bench, system, about = run.bench, run.system, run.about
    if not run.writes:
        return
    yield "style", bench.style.name
    if system.reads or run.imported:
        yield "reader", {"cot": "chain of thought"}.get(bench.parameters.reader, "direct")
    limits = [*bench.tokens(system).values()]
    limits += [bench.style.generation_tokens] if system.reads else []
    yield "window", f"{bench.window:,} tokens, {max(limits)} of them for what is written"
    yield from describe_demonstrations(run)
    for stage, asked in about.get("stages", {}).items():
        yield f"where {stage}", say_asked(asked)
    if "stages" not in about:  # a run of an earlier version
        drawn = "drawn at a temperature" if run.count("Sample") else "greedy"
        yield "decoding", drawn
        yield "texts end", "; ".join(map(say_stop, list_stops(run.lines))) or None
        yield "most tokens of a text", " or ".join(map(str, sorted({*limits})))


def describe_demonstrations(run: Known) -> Facts:
    """Which demonstrations and examples prompts show, and how many of them they did show."""
    bench, system, setting = run.bench, run.system, run.about["setting"]
    p, shown = bench.parameters, bench.shown or bench.dataset
    if not bench.style.demonstrated:
        yield "demonstrations", "none, as the style has it"
        return
    m = setting.get("m", None if run.imported else bench.default_m)
    if run.imported or (system.shows_sets and m is not NO_DEMONSTRATIONS):
        says = run.imported is None or run.imported["split"]  # others say nothing of it
        yield "demonstrations of", shown.title if says else None
        family = "" if bench.shown else shown.example_family
        folder = demonstration_folder(p.demonstrations, shown.name, family)
        yield "demonstrations from", "/".join(folder.parts[-3:])
        number = setting.get("demonstration_set", None if run.imported else 0)
        yield "set of demonstrations", None if number is None else f"{number + 1} of 3"
        yield "distractors (M)", "none, nor gold paragraphs" if m == NO_PARAGRAPHS else m
    if system.stages and system.demonstrated_by != SETS:
        most = system.count_examples(shown)
        files = f"{system.folder}/*.{shown.example_family}.txt"
        yield "examples", f"those of {files}" if most is None else f"at most {most} of {files}"
    if p.wrong_answers:
        yield "answers of demonstrations", "each has that of the next one: a control"
    counts = run.about.get("demonstrations", {})
    last = [counts.get(name) for name in ("last", "last_least", "last_most")]
    yield "demonstrations in the last prompt", say_range(*last)
    for stage, shown in counts.get("stages", {}).items():
        yield f"demonstrations where {stage}", say_range(*shown.values())


def describe_method(run: Known) -> Facts:
    """The system with its constants, and what it did: an IRCoT that never stops shows here."""
    bench, system, setting = run.bench, run.system, run.about["setting"]
    yield "system", run.about["system"]
    if system.program is None:
        yield "constants of the program", None
    elif not run.imported:
        yield "in brief", summary_of(system.program).partition(" `setting`:")[0]
    offered = bench.ambient | bench.tokens(system) | system.draw_at_most(bench.parameters.samples)
    called = system.defaults | {n: v for n, v in offered.items() if system.takes(n)} | setting
    if not run.count("Extract"):
        called.pop("confidence", None)  # of what is extracted
    for name in (name for name in called if name not in TOLD):
        value = setting.get(name) if run.imported else called[name]
        if isinstance(value, int | float | str) and value != "":
            said = ("no", "yes")[value] if isinstance(value, bool) else value
            yield NAMES.get(name, f"`{name}`"), said
        elif name in ASKED:
            yield NAMES[name], None
    if run.searches:
        found = [[s["found"] for s in line["trace"] if "retrieve" in s] for line in run.lines]
        yield "retrievals of a question", say_counts(map(len, found)) if any(found) else None
        yield "paragraphs collected", say_counts(row["paragraphs"] for row in run.scores)
        yield "order of paragraphs", find_order(run.lines, found)
    if READER.purpose("titles") in run.about.get("stages", {}):
        place = "below" if bench.style.passage_last else "above"
        yield "main passage", f"always shown, {place} what was found in pages that the model names"
    yield "steps of a chain", say_counts(row["steps"] for row in run.scores)
    if {SENTENCE, SENTENCE_OF_LINE} & {*list_stops(run.lines)}:
        ends = "at . ! ? or …, by rules for abbreviations, initials and numbers, or at a line break"
        yield "a sentence ends", f"{ends} (IRCoT's released program: spaCy)"


def find_order(lines: Iterable[dict], found: Iterable[list[list[str]]]) -> str:
    """Whether paragraphs stay in the order in which they were first found."""
    kept = []
    for line, retrieved in zip(lines, found, strict=True):
        first = {id: None for ids in retrieved for id in ids}
        collected = [id for id in line["paragraphs"] if id in first]
        kept.append(collected == [id for id in first if id in {*collected}])
    as_found = "as first found, the best of a retrieval first"
    return as_found if all(kept) else f"{as_found}, in {sum(kept)} of {len(kept)} questions"


def say_counts(values: Iterable[float]) -> str | None:
    """The mean of counts with the least and the most; None if one of them is not known."""
    values = [*values]
    known = bool(values) and all(value == value for value in values)  # no NaN
    return say_range(mean(values), min(values), max(values)) if known else None


def say_range(mean: float | None, least: int | None, most: int | None) -> str | None:
    """A mean with the least and the most, which runs of an earlier version may not state."""
    if mean is None:
        return None
    ends = "least and most not known" if least is None else f"{least} to {most}"
    return f"{mean:.2f} ({ends})"


def list_stops(lines: Iterable[dict]) -> list:
    """Where texts were to end, as the traces have it."""
    steps = (step for line in lines for step in line["trace"] if "stop" in step)
    stops = (tuple(s["stop"]) if isinstance(s["stop"], list) else s["stop"] for s in steps)
    return [*dict.fromkeys(stops)]


def say_stop(stop: str | Iterable[str] | None) -> str:
    """Where a text ends."""
    if stop is None or isinstance(stop, str):
        return STOPS[stop]
    return "before " + " or ".join(json.dumps(text, ensure_ascii=False) for text in stop)


def say_asked(asked: dict) -> str:
    """How texts were asked for at a stage (`describe_stages`)."""
    told = {name: " or ".join(map(str, values)) for name, values in asked.items()}
    kinds = {"Generate": "greedy", "Sample": "{n} drawn at temperature {temperature}"}
    decoding = " or ".join(kinds[kind].format(**told) for kind in asked["kind"])
    ends = " or ".join(map(say_stop, asked["stop"]))
    return f"{decoding}; ends {ends}; at most {told['max_tokens']} tokens"


def summary_of(function: Callable) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
