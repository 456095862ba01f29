"""Whether a model behind a server thinks before it writes, and what it is therefore asked."""

from collections.abc import Mapping

from ircotlib.generation.server.protocol import ServerReply
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS


class Thinking:
    """Fits the options of requests to a model that may think. `room`: the tokens for its thoughts,
    beyond max_tokens. `known`: whether it thinks; None: not known yet, so that no stop is sent. A
    chat's template may begin the thoughts: what a stop ends within them looks like a text.
    """

    def __init__(self, chat: bool, room: int):
        self.chat, self.room = chat, room
        self.known = None if chat else False  # what completes a prompt begins its thoughts itself

    def fit(self, options: Mapping) -> dict:
        """The options that are sent, as far as is known: no stop that may end the thoughts."""
        if self.known is False:
            return dict(options)
        if self.known:  # a model that completes prompts would go on with the next example
            stop = {"stop": [BETWEEN_DEMONSTRATIONS]} if "stop" in options and not self.chat else {}
            return self.free(options) | stop
        return {name: value for name, value in options.items() if name != "stop"}

    def free(self, options: Mapping) -> dict:
        """The options with room for thoughts, and without a stop."""
        freed = {name: value for name, value in options.items() if name != "stop"}
        return freed | {"max_tokens": options["max_tokens"] + self.room}

    def needs_more(self, reply: ServerReply, sent: Mapping, options: Mapping) -> bool:
        """Whether a reply may lack, or consist of, thoughts that a stop or the limit cut off."""
        missing, cut = is_missing(reply), any(text.cut for text in reply.texts)
        if reply.thinks or missing:
            self.known = True
        elif self.known is None and not cut:
            self.known = False
        free = self.free(options)
        short = cut and self.known is not False and sent["max_tokens"] < free["max_tokens"]
        return sent != free and (missing or short)


def is_missing(reply: ServerReply) -> bool:
    """Whether there are thoughts without a text, or not even these, in a reply."""
    return any(text.text is None for text in reply.texts)
