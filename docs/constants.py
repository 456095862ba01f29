"""Writes docs/constants.md: every number of every system, whose it is, and what mini has instead.

    python -m docs.constants

Such a number is the default of a function, or given by name to a call, or stands in a table of a
module or in a record. A comment behind it or right above it says what it is, and whose.
"""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

from docs.reference import table
from ircotlib.datasets import find_dataset
from ircotlib.experiment.setup import Setup
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.prompting.prompt import AGENT, STYLES
from ircotlib.systems import System, all_systems

PAGE = Path(__file__).with_name("constants.md")
DATASETS, INIT = ROOT / "ircotlib/datasets", ROOT / "ircotlib/systems/__init__.py"
PATHS = [path for path in sorted(INIT.parent.rglob("*.py")) if path != INIT]
PATHS += [ROOT / "ircotlib/prompting/prompt.py", ROOT / "ircotlib/retrieval/fusion.py"]
OTHERS = dict(
    readers="the readers", main_passage="all, on IIRC", prompt="all prompts", fusion="DSP"
)
TECHNICAL = {"start", "maxsize", "count", "round"}  # decide nothing
PAPER, PROGRAM, OURS = "paper", "program", "ours"
SOURCE = re.compile(
    rf"(?P<{OURS}>\bours\b)|(?P<{PROGRAM}>\bprograms?\b)"
    rf"|(?P<{PAPER}>§|\b(?:papers?|Table|Figure|footnote|App\.|Algorithm)(?!\w))"
)
MINI = read_parameters("mini")
TOP = """# Constants

Every number that decides what a system does: its default, and what the profile `mini` has in its
place, if another. Several values are tuned. *Whose*: the system's paper's (SearChain's, where its
Table 11 is named), the program's that the paper's authors released, or ours, where neither has one
or where the code says which they have. The last column is what the code says beside the number; the
papers are in the [reference](reference.md#systems). This page is written from the code
(`python -m docs.constants`), and a test holds it there.

In `mini` SearChain's systems are played by the [agent](agent.md), which is shown no examples; in
`13_head_to_head` IRCoT's are, too, with at most {agent} tokens a generation. BM25 has k1 1.2 and
b 0.75, as IRCoT's Elasticsearch. The [extractive reader](models.md#the-extractive-reader) has
numbers of its own.

Of {all} numbers {paper} are the papers', {program} the released programs', and {ours} ours.

"""


class Constant(NamedTuple):
    """A number, or a table of some; `mini`: what mini has in its place, "" if the same."""

    owner: str
    name: str
    value: str
    said: str
    mini: str = ""

    @property
    def whose(self) -> str:
        """OURS, PROGRAM or PAPER, whichever is named first; "" if none is."""
        source = SOURCE.search(self.said)
        return source.lastgroup if source else ""


def find_constants() -> list[Constant]:
    """All constants, in the order of the systems in tables and figures."""
    found = [constant for path in PATHS for constant in read_module(path)]
    found += [constant for system in all_systems().values() for constant in read_record(system)]
    found += [constant for path in sorted(DATASETS.glob("*.py")) for constant in read_dataset(path)]
    order = {name: place for place, name in enumerate(all_systems())}
    return sorted(found, key=lambda c: order.get(c.owner.partition(",")[0], len(order)))


def read_module(path: Path) -> Iterator[Constant]:
    """The numbers in the functions and the tables of a module."""
    named = path.parent if path.stem == "__init__" else path.with_suffix("")
    module = import_module(".".join(named.relative_to(ROOT).parts))
    for node in parse(path).body:
        if isinstance(node, ast.FunctionDef):
            yield from read_function(path, node, inspect.unwrap(getattr(module, node.name)))
        elif (name := named_by(node)) and name != "SYSTEMS":
            systems = [s for s in all_systems().values() if s.program.__module__ == module.__name__]
            owner, value = name_owner(path, systems), getattr(module, name)
            numbers = value.values() if isinstance(value, Mapping) else [value]
            if numbers and all(isinstance(each, int | float) for each in numbers):
                yield Constant(owner, name, show(value), said_beside(path, node.lineno))
            for given in literals(node):
                in_mini = given.arg == "context_tokens" and value is STYLES[MINI.style]
                said = said_beside(path, given.lineno), show(MINI.context_tokens) if in_mini else ""
                yield Constant(owner, f"{name}: {given.arg}", show(given.value.value), *said)


def read_function(path: Path, node: ast.FunctionDef, function: FunctionType) -> Iterator[Constant]:
    """The numbers that a function has as defaults, or gives by name to others."""
    systems = owners_of(function)
    own = [system for system in systems if function in (system.program, system.inner)]
    owner, of = name_owner(path, systems), "" if own else f"{node.name.strip('_')}: "
    parameters = inspect.signature(function).parameters
    for argument in (*node.args.args, *node.args.kwonlyargs):
        name, value = argument.arg, parameters[argument.arg].default
        recorded = any(name in (*system.grid, "examples") for system in systems)
        handed_on = systems and not own and all(system.takes(name) for system in systems)
        if is_number(value) and not recorded and not handed_on and name not in TECHNICAL:
            mini = {show(played(system).get(name, value)) for system in own} - {show(value)}
            said = said_beside(path, argument.lineno)
            yield Constant(owner, of + name, show(value), said, ", ".join(sorted(mini)))
    for given in literals(node):
        said = said_beside(path, given.lineno)
        yield Constant(owner, f"{of}{given.arg}", show(given.value.value), said)


def read_record(system: System) -> Iterator[Constant]:
    """The values that are tuned, and how many examples are shown, by family of data sets."""
    path, bench = Path(inspect.getsourcefile(system.program)), bench_of(system)
    calls = [call.keywords for call in ast.walk(parse(path)) if isinstance(call, ast.Call)]
    written = [{each.arg: each.value for each in keywords} for keywords in calls]
    [lines] = [w for w in written if "name" in w and ast.unparse(w["name"]) == repr(system.name)]
    for name, values in system.grid.items():
        tried = bench.grid(system).get(name, ())
        mini = "" if list(tried) == list(values) else show(tried)
        yield Constant(system.name, name, show(values), said_of(path, lines["grid"]), mini)
    if system.examples:
        mini = "" if bench.style.demonstrated or system.takes("examples") else "none"
        said = said_of(path, lines["examples"])
        yield Constant(system.name, "examples", show(system.examples), said, mini)


def read_dataset(path: Path) -> Iterator[Constant]:
    """The numbers that a data set has in place of systems' own."""
    for given in ast.walk(parse(path)):
        if isinstance(given, ast.keyword) and given.arg == "program_arguments":
            for name, value in ast.literal_eval(given.value).items():
                if is_number(value):
                    owner = f"all, on {find_dataset(path.stem).title}"
                    yield Constant(owner, name, show(value), said_beside(path, given.lineno))


@cache
def parse(path: Path) -> ast.Module:
    """The syntax of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def said_beside(path: Path, number: int) -> str:
    """The comment behind a line of a file, or else the lines of comment right above it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if behind := lines[number - 1].partition("  # ")[2]:
        return behind
    above = []
    while lines[number - 2].lstrip().startswith("# "):
        number -= 1
        above.insert(0, lines[number - 1].strip(" #"))
    return " ".join(above)


def said_of(path: Path, value: ast.expr) -> str:
    """The comment beside a value in a record, or that of the table of examples that it names."""
    named = [each.id for each in ast.walk(value) if isinstance(each, ast.Name)]
    return said_beside(path, value.lineno) or " ".join(
        said_beside(INIT, node.lineno) for node in parse(INIT).body if named_by(node) in named
    )


def owners_of(function: FunctionType) -> list[System]:
    """The systems whose program this is; if none, those whose programs call it."""
    systems = all_systems().values()
    own = [system for system in systems if function in (system.program, system.inner)]
    return own or [system for system in systems if function in called(system.program)]


@cache
def called(function: FunctionType) -> frozenset[FunctionType]:
    """All functions of systems that a function calls, and those that these call."""
    codes, names = [function.__code__], set()
    for code in codes:
        names.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = [inspect.unwrap(function.__globals__.get(name)) for name in names]
    found = {each for each in found if isinstance(each, FunctionType) and each is not function}
    ours = {each for each in found if each.__module__.startswith("ircotlib.systems")}
    return frozenset(ours).union(*map(called, ours))


def bench_of(system: System) -> Setup:
    """A bench of mini on which a system is played."""
    p = MINI.for_agent() if system.study.by_agent else MINI
    return Setup(p, find_dataset(MINI.datasets[0]), "")


def played(system: System) -> dict[str, object]:
    """What a system's program is given in mini."""
    bench = bench_of(system)
    return bench.ambient | bench.tokens(system) | system.draw_at_most(MINI.samples)


def named_by(node: ast.stmt) -> str:
    """The name that a statement gives a value; "" if it gives none, or several."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def literals(node: ast.AST) -> list[ast.keyword]:
    """The numbers that are given to calls by name."""
    given = [each for each in ast.walk(node) if isinstance(each, ast.keyword)]
    given = [each for each in given if isinstance(each.value, ast.Constant)]
    return [each for each in given if is_number(each.value.value) and each.arg not in TECHNICAL]


def name_owner(path: Path, systems: Sequence[System]) -> str:
    """Whose the numbers of a module are: of these systems, or of what it is called."""
    return ", ".join(system.name for system in systems) or OTHERS.get(path.stem, "")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def show(value: object) -> str:
    """A number, or several, as the page has them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {show(number)}" for name, number in value.items())
    if isinstance(value, Sequence):
        return ", ".join(map(show, value))
    return f"{value:,}" if is_number(value) else str(value)


def write() -> str:
    """The text of the page."""
    constants = find_constants()
    rows = [(c.owner, f"`{c.name}`", c.value, c.whose, c.mini, c.said) for c in constants]
    counts = dict.fromkeys((PAPER, PROGRAM, OURS), 0) | Counter(c.whose for c in constants)
    numbers = {"all": len(constants), "agent": AGENT.generation_tokens} | counts
    head = ("system", "constant", "value", "whose", "in `mini`", "what the code says")
    return TOP.format(**numbers) + table(head, *rows)


if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")
