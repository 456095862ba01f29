"""Models that write: local ones, those behind a server, and your own; and the
extractive reader. To add a kind, add a record to MODELS, here or in a plug-in, or use
`own_model`.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ircotlib.backends import Model
from ircotlib.errors import UserError
from ircotlib.models.own import OwnModel
from ircotlib.plugins import declare, find_records


class ModelKind(NamedTuple):
    """A kind of model."""

    pattern: str  # matches the values of the parameter `model` that name one
    open: Callable[[Any], Any]  # called with the parameters
    served: bool = False  # whether `server` must be set
    module: str = ""  # that declares it


@cache
def _open_once(kind: Callable, *given: Any, **options: Any) -> Any:
    """A model, opened once per process: setups that share one are then the same."""
    return kind(*given, **options)


def _open_served(p: Any) -> Model:
    from ircotlib.models.server import Price, ServerModel

    return _open_once(
        ServerModel,
        p.model,
        server=p.server,
        chat=p.chat,
        in_flight=p.in_flight,
        price=p.prices and Price(*p.prices),
        max_cost=p.max_cost,
    )


def _open_local(p: Any) -> Model:
    from ircotlib.models.local import LocalModel

    return _open_once(LocalModel, p.model, dtype=p.dtype)


# tried in turn, after those of plug-ins and cells
MODELS = (ModelKind(".+", _open_served, served=True), ModelKind(".+", _open_local))


def own_model(name: str) -> Callable[[type], type]:
    """Register the class below as a model: `model=name` makes one, without arguments.
    It needs the method `write(prompt, max_tokens)` (`OwnModel` says what else it may
    have).
    """

    def register(made: type) -> type:
        module = made.__module__
        kind = ModelKind(re.escape(name), lambda p: _open_once(made), module=module)
        declare("MODELS", kind, module)
        return made

    return register


def find_model(name: str, served: bool) -> ModelKind:
    """The kind of a model. Of kinds in a notebook the last that was declared counts."""
    records = reversed(find_records("models", "MODELS", ModelKind))
    own = [kind for kind in records if kind not in MODELS]
    for kind in (*own, *MODELS):
        if kind.served == served and re.fullmatch(kind.pattern, name):
            return kind
    raise UserError(f"unknown model {name!r}")


def open_model(p: Any) -> Model:
    """The model that parameters name, on this machine, behind a server, or your own."""
    model = find_model(p.model, bool(p.server)).open(p)
    return model if hasattr(model, "answer") else _open_once(OwnModel, model)
