"""The kinds of error that a caller can distinguish. A message is one line."""


class UserError(ValueError):
    """A parameter, an option or a name is wrong; the caller must change it."""


class DataError(ValueError):
    """A file or a run is damaged, or of another form: get or make it again."""


class Unavailable(OSError):
    """A server, hub, client or extra is missing; the same call may work later."""
