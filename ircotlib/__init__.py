"""Multi-step question answering with retrieval: IRCoT, SearChain and their baselines, all on the
same models and the same retriever.

    from ircotlib import ask, read_parameters
    print(*ask(read_parameters("mini"), "Who founded the Foreign Quarry label?"), sep="\\n\\n")

This is the front door: what notebooks, docs and your own programs use. Its names stand in
`__init__.pyi`. Each is looked up in its module when it is first used (PEP 562), so that `import
ircotlib` imports nothing else.
"""

import ast
import time
from importlib import import_module
from pathlib import Path

STARTED = time.time()  # all code here is read after it


def _read_names() -> dict[str, str]:
    """The names of the front door and their modules."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    return {name.name: f"{__name__}.{line.module}" for line in imports for name in line.names}


_MODULES = _read_names()
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULES[name])
    # a name may also be that of a module
    return (
        getattr(module, name)
        if hasattr(module, name)
        else import_module(f"{module.__name__}.{name}")
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
