"""Finds the modules of a folder, each of which ends with a record (data sets, systems)."""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def import_modules(package: str, folders: tuple[str, ...]) -> tuple[ModuleType, ...]:
    """The modules of a package in these folders; cached."""
    names = (module.name for module in pkgutil.iter_modules(folders))
    return tuple(import_module(f"{package}.{name}") for name in names)
