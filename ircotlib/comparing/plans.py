"""What notebooks compare: values in their cells tagged `plan`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ircotlib.comparing.comparison import Comparison
from ircotlib.errors import NothingToRun, UserError
from ircotlib.files.notebooks import read_notebook
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.running.laboratory import is_laboratory


def read_all_comparisons(
    profile: str, changes: Mapping, notebooks: Sequence[str]
) -> tuple[dict[str, list[Comparison]], list[str]]:
    """What notebooks compare with the parameters of a profile and some changes; and, in a line
    each, why others have nothing to run.
    """
    compared = {}
    left_out = []
    for notebook in notebooks:
        try:
            compared[notebook] = read_comparisons(notebook, profile, changes)
        except NothingToRun as reason:
            left_out.append(f"{notebook} is left out: {reason}")
    return compared, left_out


def read_comparisons(notebook: str, profile: str, changes: Mapping) -> list[Comparison]:
    """What a notebook compares with the parameters of a profile and some changes: the values of its
    cells tagged `plan`, which are executed after that of its parameters. They open no data and no
    model. Raises NothingToRun if the notebook has such cells and compares nothing.
    """
    names = {"__name__": "__main__"}
    for number, cell in enumerate(read_notebook(notebook)["cells"], 1):
        tags = cell["metadata"].get("tags", [])
        if {"parameters", "plan"} & {*tags}:
            _execute("".join(cell["source"]), f"notebook {notebook}, cell {number}", names)
        if "parameters" in tags:
            names |= {"profile": profile, "changes": dict(changes)}
    every = {id(value): value for value in _find_comparisons(names.values())}
    found = [one for one in every.values() if one.benches]
    if every and not found:
        raise NothingToRun("it compares nothing on these data sets")
    possible = [one for one in found if all(map(_is_known, (b.parameters for b in one.benches)))]
    if found and not possible:
        raise NothingToRun("the simulated reader knows no other data than a laboratory's")
    return possible


def _execute(source: str, place: str, names: dict) -> None:
    try:
        exec(compile(source, place, "exec"), names)
    except (UserError, OSError):
        raise
    except Exception as error:
        found = f"found {type(error).__name__}: {error}"
        expected = "expected cells tagged plan to say what is compared, without data or models"
        raise RuntimeError(f"{place}: {found}, {expected}") from error


def _find_comparisons(values: Iterable) -> Iterator[Comparison]:
    """The comparisons among values, also those in lists and dicts."""
    for value in values:
        if isinstance(value, Comparison):
            yield value
        elif isinstance(value, list | tuple):
            yield from _find_comparisons(value)
        elif isinstance(value, dict) and "__builtins__" not in value:
            yield from _find_comparisons(value.values())


def _is_known(p: Parameters) -> bool:
    """Whether the model can know the data: the simulated reader knows only a laboratory."""
    return p.model != SIMULATED or is_laboratory(p.data_dir)
