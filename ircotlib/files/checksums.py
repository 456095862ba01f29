"""What errors say, in one line."""

import os
import re

SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")  # ends the names of variables that hold keys


def one_line(error: object, most: int | None = 200) -> str:
    """The beginning of what an error, a server or a library says: in one line, as plain text, and
    without the keys of the environment.
    """
    text = str(error)
    for name, value in os.environ.items():
        if SECRET.search(name.upper()) and len(value.strip()) > 7:
            text = text.replace(value.strip(), "…")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]
