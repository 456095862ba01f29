"""The door for plug-ins: modules that end with records of systems, data sets and retrievers."""

import pkgutil
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from ircotlib.errors import UserError
from ircotlib.files import ROOT, movable

OWN = {"systems": "ircotlib.systems", "datasets": "ircotlib.datasets"}


@cache
def import_plugins(kind: str) -> tuple[ModuleType, ...]:
    """The modules that may have records of a kind: "systems", "datasets" or "retrievers". Ours come
    first, then the Python files in the folder of plug-ins.
    """
    own = []
    if kind in OWN:
        room = import_module(OWN[kind])
        names = [module.name for module in pkgutil.iter_modules(room.__path__)]
        own = [room, *(import_module(f"{room.__name__}.{name}") for name in names)]
    return (*own, *map(_import_file, sorted(_plugin_folder().glob("*.py"))))


def prompt_folders() -> tuple[Path, ...]:
    """The folder `prompts` beside the plug-ins."""
    return (_plugin_folder() / "prompts",)


def _plugin_folder() -> Path:
    """The folder `plugins`, or the one that IRCOT_PLUGINS names."""
    default = ROOT / "plugins"
    folder = movable("IRCOT_PLUGINS", default)
    if folder != default and not folder.is_dir():
        raise UserError(f"IRCOT_PLUGINS: found no folder {folder}, expected one with plug-ins")
    return folder


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
            raise UserError(f"{path}: {type(error).__name__}: {error}: mend it") from error
    return sys.modules[name]
