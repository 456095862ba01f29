"""Where the texts of a model on this machine end, and where its thoughts do, if it thinks first."""

from collections.abc import Sequence
from math import inf

from ircotlib.generation.replies import Request
from ircotlib.generation.thoughts import CLOSING, FINAL, OPENED, split_thoughts
from ircotlib.generation.tokens import Tokens
from ircotlib.text import cut, stop_end

TAIL = 32  # tokens in which a template opens the thoughts, or the model ends them


class Endings:
    """Whether the rows of a batch have ended; each is asked for once after each of its tokens.

    `rows`: requests and their prompts. `last`: the tokens that end a text. `room`: the tokens for
    thoughts, beyond max_tokens; `limit`: those of the model's window. `draws`: as in decode.Draws.
    """

    def __init__(
        self,
        tokens: Tokens,
        rows: Sequence[tuple[Request, Sequence[int]]],
        last: Sequence[int],
        room: int,
        limit: float = inf,
        draws=None,
    ):
        self.tokens, self.last, self.draws = tokens, last, draws
        self.requests = [request for request, _ in rows]
        tails = (tokens.decode(prompt[-TAIL:]) for _, prompt in rows)
        self.opened = ["<think>" if OPENED.search(tail) else "" for tail in tails]
        self.most = [min(each.max_tokens + room, limit - len(prompt)) for each, prompt in rows]
        self.thoughts = [(0, 0.0)] * len(rows)  # their tokens, and the log-probability of these

    def __call__(self, row: int, written: list[int]) -> bool:
        request = self.requests[row]
        if written[-1] in self.last or len(written) >= self.most[row]:
            return True
        text = self._text(row, written)
        if text is None:
            self.thoughts[row] = len(written), self.draws and self.draws.log_probabilities[row]
            return False
        if len(written) - self.thoughts[row][0] >= request.max_tokens:
            return True
        if request.stop is None:
            return False
        by_word = self.tokens.by_word
        return stop_end(text, request.stop, complete=False, by_word=by_word) is not None

    def _text(self, row: int, written: list[int]) -> str | None:
        """The text of a row so far; None while it thinks."""
        thought = self.thoughts[row][0] == len(written) - 1 > 0
        if thought:  # until what ends the thoughts is in the tail, no need to decode all
            tail = self.tokens.decode(written[-TAIL:])
            if not (CLOSING.search(tail) or FINAL.search(tail)):
                return None
        whole = self.opened[row] + self.tokens.decode(written)
        return split_thoughts(whole)[1] or (None if whole else "")

    def read(self, row: int, written: list[int]) -> tuple[str | None, float | None, int, str]:
        """The text of a row that has ended, None if it has only thoughts; the mean log-probability
        of its tokens, if it was drawn; the number of all tokens; the thoughts.
        """
        thoughts, text = split_thoughts(self.opened[row] + self.tokens.decode(written))
        if not text and (thoughts or text is None):
            return None, None, len(written), thoughts
        before, sum_before = self.thoughts[row]
        mean = None
        if self.draws:
            total = self.draws.log_probabilities[row] - sum_before
            mean = total / (len(written) - before)
        return cut(text, self.requests[row].stop), mean, len(written), thoughts
