"""The door for plug-ins: modules that end with records of systems, data sets and retrievers. Ours,
those of installed packages, and the files of a folder come in by it.
"""

import os
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from ircotlib.errors import UserError
from ircotlib.files.paths import ROOT

FOLDER = "IRCOT_PLUGINS"  # names a folder whose *.py files are plug-ins, in the environment
OWN = {"systems": "ircotlib.systems", "datasets": "ircotlib.datasets"}
RECORDS = {"systems": "SYSTEMS", "datasets": "DATASET", "retrievers": "RETRIEVERS"}


@cache
def import_plugins(kind: str) -> tuple[ModuleType, ...]:
    """The modules that may have records of a kind: "systems", "datasets" or "retrievers". Ours come
    first, then those that installed packages name as entry points in the group `ircotlib.<kind>`,
    each a module, or a package with some; last the files in the folder `plugins` of a project
    (`ircotlib new`), or in FOLDER. Cached. Raises UserError for
    one that cannot be imported.
    """
    points = {point.value: point.dist for point in entry_points(group=f"ircotlib.{kind}")}
    modules = [module for name in filter(None, [OWN.get(kind)]) for module in _import_all(name)]
    for name, package in points.items():
        modules += _import_plugin(_import_all, name, f"{package.name}: {name}")
    for path in _list_files():
        modules += _import_plugin(_import_file, path, str(path))
    return tuple(modules)


def list_records() -> list:
    """All records of plug-ins."""
    found = []
    for kind, name in RECORDS.items():
        modules = [m for m in import_plugins(kind) if not m.__name__.startswith("ircotlib.")]
        found += [getattr(module, name) for module in modules if hasattr(module, name)]
    return [record for one in found for record in (one if isinstance(one, tuple | list) else [one])]


@cache
def prompt_folders() -> tuple[Path, ...]:
    """The folders `prompts` beside the plug-ins that have systems."""
    own = OWN["systems"]
    plugged = [m for m in import_plugins("systems") if not m.__name__.startswith(own)]
    places = [Path(module.__file__).parent / "prompts" for module in plugged]
    return tuple(dict.fromkeys(places))


def _list_files() -> list[Path]:
    named = os.environ.get(FOLDER, "")
    if named and not Path(named).is_dir():
        raise UserError(f"{FOLDER}: found no folder {named}, expected one with plug-ins")
    return sorted(Path(named or ROOT / "plugins").absolute().glob("*.py"))


def _import_all(name: str) -> list[ModuleType]:
    """A module and, if it is a package, its modules."""
    module = import_module(name)
    names = [each.name for each in pkgutil.iter_modules(getattr(module, "__path__", ()))]
    return [module, *(import_module(f"{name}.{each}") for each in names)]


def _import_file(path: Path) -> list[ModuleType]:
    """The module in a file, under the file's name."""
    name = f"ircotlib_plugins.{path.stem}"
    spec = spec_from_file_location(name, path)
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [module]


def _import_plugin(read: Callable, place: str | Path, name: str) -> list[ModuleType]:
    try:
        return read(place)
    except Exception as error:  # whatever a plug-in does wrong
        found = f"found {type(error).__name__}: {error}"
        expected = f"expected a plug-in: mend it, remove it, or leave {FOLDER} out"
        raise UserError(f"{name}: {found}, {expected}") from error
