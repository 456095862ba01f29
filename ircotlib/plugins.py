"""Imports plug-ins: modules that end with records of systems, data sets and retrievers."""

import pkgutil
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from ircotlib.errors import UserError
from ircotlib.files import ROOT, movable


@cache
def import_plugins(kind: str) -> tuple[ModuleType, ...]:
    """The modules that may have "systems", "datasets" or "retrievers": ours, then
    plug-ins.
    """
    own = []
    if kind != "retrievers":
        package = import_module(f"ircotlib.{kind}")
        names = [module.name for module in pkgutil.iter_modules(package.__path__)]
        own = [
            package,
            *(import_module(f"{package.__name__}.{name}") for name in names),
        ]
    return (*own, *map(_import_file, sorted(plugin_folder().glob("*.py"))))


def plugin_folder() -> Path:
    """The folder `plugins`, or the one that IRCOT_PLUGINS names."""
    return movable("IRCOT_PLUGINS", ROOT / "plugins")


def _import_file(path: Path) -> ModuleType:
    """The module in a file, under the file's name."""
    name = f"ircotlib_plugins.{path.stem}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        sys.modules[name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever a plug-in does wrong
            del sys.modules[name]
            raise UserError(
                f"{path}: {type(error).__name__}: {error}: correct it"
            ) from error
    return sys.modules[name]
