"""Finds records of systems, data sets, retrievers and models, all in the same way: in
lists of one name in our modules, in plug-ins, and in the cells of a notebook.
"""

import os
import pkgutil
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ircotlib.errors import UserError
from ircotlib.files import plugin_folder

CELLS = "__main__"  # the module of a notebook's cells, or of a script


def find_records(package: str, name: str, kind: type) -> list[Any]:
    """The records in lists of this name: our modules', plug-ins', this notebook's. Two
    systems or data sets have two names; of a cell that runs again, the last ones count.
    """
    found: dict[object, tuple[Any, ModuleType]] = {}
    for module in (*import_plugins(package), sys.modules[CELLS]):
        file = getattr(module, "__file__", CELLS)  # a notebook has none
        listed = getattr(module, name, ())
        if not isinstance(listed, list | tuple) or {*map(type, listed)} - {kind}:
            wanted = f"expected a list of {kind.__name__}: correct or rename it"
            raise UserError(f"{file}: found {name} = {listed!r:.60}, {wanted}")
        for record in listed:
            named = getattr(record, "name", record)
            known, other = found.get(named, (record, module))
            if known is not record and {module.__name__, other.__name__} != {CELLS}:
                first = f"the other in {getattr(other, '__file__', CELLS)}: rename one"
                raise UserError(f"{file}: found two {package} named {named!r}, {first}")
            found[named] = record, module
    return [record for record, _ in found.values()]


def declare(name: str, record: Any, module: str) -> None:
    """Add a record to the list of this name in the module that declares it."""
    vars(sys.modules[module]).setdefault(name, []).append(record)


@cache
def import_plugins(package: str) -> tuple[ModuleType, ...]:
    """The package and, of systems and data sets, its modules; then plug-ins."""
    modules = [import_module(f"ircotlib.{package}")]
    if package in ("systems", "datasets"):
        for module in pkgutil.iter_modules(modules[0].__path__):
            modules.append(import_module(f"ircotlib.{package}.{module.name}"))
    folder = plugin_folder()
    if os.environ.get("IRCOT_PLUGINS") and not folder.is_dir():
        raise UserError(f"IRCOT_PLUGINS: {folder} is not a folder: correct or unset it")
    for path in sorted(folder.glob("*.py")):
        modules.append(_import_file(path))
    return tuple(modules)


def _import_file(path: Path) -> ModuleType:
    """The module in a file, under the file's name."""
    name = f"ircotlib_plugins.{path.stem}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec and spec.loader
        sys.modules[name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # whatever a plug-in does wrong
            del sys.modules[name]
            wrong = f"{type(error).__name__}: {error}"
            raise UserError(f"{path}: {wrong}: correct it") from error
    return sys.modules[name]
