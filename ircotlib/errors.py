"""The kinds of error that a caller can tell apart. A message is one line."""


class UserError(ValueError):
    """A parameter, an option or a name is wrong; what was asked for must change."""


class DataError(ValueError):
    """A file or a run is damaged, or not what was expected; it must be replaced or made again."""


class Unavailable(OSError):
    """A server, a hub, a client or an extra is not there; the same may work later."""
