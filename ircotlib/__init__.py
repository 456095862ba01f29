"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines,
all on the same models and the same retriever.

    from ircotlib import ask, read_parameters
    question = "Who founded the Foreign Quarry label?"
    print(*ask(read_parameters("mini"), question), sep="\\n\\n")

Its names are listed in `__init__.pyi`. Each is imported from its module on first use
(PEP 562).
"""

import ast
from importlib import import_module
from pathlib import Path

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {  # the public names, by module
    name.name: f"{__name__}.{line.module}"
    for line in _STUB.body
    if isinstance(line, ast.ImportFrom)
    for name in line.names
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
