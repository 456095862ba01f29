"""Values in YAML, as profiles and the command line give them."""

import re

import yaml

from ircotlib.errors import UserError

INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
INTEGER = r"[-+]?(0|[1-9][0-9]*)"
DECIMAL = rf"({INTEGER}\.[0-9]*|[-+]?\.[0-9]+)([eE][-+]?[0-9]+)?|{INTEGER}[eE][-+]?[0-9]+"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # ten times as fast, where it is
    """Numbers are decimal, as in YAML 1.2: `030` and `1:30` are texts, not 24 and 90. The keys of a
    mapping are texts, each there once.
    """

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if tag not in (INT, FLOAT)]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node, deep=False):
        keys = []
        for key_node, _ in node.value:
            keys.append(self.construct_object(key_node, deep=True))
            if not isinstance(keys[-1], str) or keys[-1] in keys[:-1]:
                expected = "expected a name, and each only once"
                line = key_node.start_mark.line + 1
                raise UserError(f"found the name {keys[-1]!r} in line {line}, {expected}")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(INT, re.compile(rf"^({INTEGER})$"), list("-+0123456789"))
_Loader.add_implicit_resolver(FLOAT, re.compile(rf"^({DECIMAL})$"), list("-+.0123456789"))


def read_value(text: str) -> object:
    """The value of a YAML text. Raises UserError, in one line."""
    try:
        return yaml.load(text, _Loader)
    except UserError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: as 2024-99-99
        raise UserError(f"found no YAML ({' '.join(str(error).split())})") from None
