"""Values in YAML, as profiles and the command line give them."""

import re

import yaml

from ircotlib.errors import UserError

INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
INTEGER = r"[-+]?(0|[1-9][0-9]*)"
DECIMAL = rf"({INTEGER}\.[0-9]*|[-+]?\.[0-9]+)([eE][-+]?[0-9]+)?|{INTEGER}[eE][-+]?[0-9]+"


class _Loader(yaml.SafeLoader):
    """Numbers are decimal, as in YAML 1.2: `030` and `1:30` are texts, not 24 and 90."""

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if tag not in (INT, FLOAT)]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(INT, re.compile(rf"^({INTEGER})$"), list("-+0123456789"))
_Loader.add_implicit_resolver(FLOAT, re.compile(rf"^({DECIMAL})$"), list("-+.0123456789"))


def read_value(text: str) -> object:
    """The value of a YAML text. Raises UserError, in one line."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: as 2024-99-99
        raise UserError(f"found no YAML ({' '.join(str(error).split())})") from None
