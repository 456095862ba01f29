"""A model of your own as a backend: an object with a method that writes."""

from collections.abc import Sequence
from typing import Any

from ircotlib.backends import Replies
from ircotlib.errors import UserError
from ircotlib.models.batches import Request, read_reply, write_reply
from ircotlib.program import Generate, Sample
from ircotlib.text import cut


class OwnModel:
    """Answers Generate and Sample with the methods of `own`, an object that has

    - `write(prompt, max_tokens)`: the continuation of a prompt, which is a text or, for
      a chat, a tuple of messages; it is cut at the stop here;
    - perhaps `draw(prompt, n, temperature, max_tokens)`: n sampled texts; without it,
      systems that sample fail with an error that says so;
    - perhaps `count_tokens(text)`; without it, a token is taken to have four letters;
    - perhaps `fingerprint`: a text that changes whenever its replies may change, under
      which they are kept; without it none is kept.
    """

    answers = Generate, Sample
    decode = staticmethod(read_reply)
    parameters = 0  # how many it has is not known

    def __init__(self, own: Any):
        if not callable(getattr(own, "write", None)):
            raise UserError(
                f"{type(own).__name__}: found no method `write`, expected a model with "
                "write(prompt, max_tokens) (docs/models.md)"
            )
        self.own = own
        self.fingerprint: str | None = getattr(own, "fingerprint", None)

    def count_tokens(self, text: str) -> int:
        if hasattr(self.own, "count_tokens"):
            return self.own.count_tokens(text)
        return len(text) // 4 + 1

    def answer(self, requests: Sequence[Request]) -> Replies:
        for index, request in enumerate(requests):
            try:
                yield index, self._reply(request)
            except UserError as error:
                yield index, error

    def _reply(self, request: Request) -> str:
        name = type(self.own).__name__
        if isinstance(request, Sample):
            if not hasattr(self.own, "draw"):
                raise UserError(f"{name} draws no samples: give it the method `draw`")
            written = self.own.draw(
                request.prompt, request.n, request.temperature, request.max_tokens
            )
            if isinstance(written, str) or len(written or ()) < request.n:
                raise UserError(f"{name} drew {written!r:.60}, not {request.n} texts")
        else:
            written = [self.own.write(request.prompt, request.max_tokens)]
        for text in written:
            if not isinstance(text, str):
                raise TypeError(f"{name} wrote {text!r:.60}, expected a text")
        texts = [cut(text, request.stop) for text in written]
        rows = [(text, None, self.count_tokens(text)) for text in texts]
        return write_reply(request, self.count_tokens(str(request.prompt)), rows)
