"""What SearChain's released program sends to a chat model: its wording, and each message with the
role of who wrote it.
"""

from collections.abc import Sequence
from itertools import cycle

from ircotlib.data import Node, Paragraph, Question
from ircotlib.program import Message
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_paragraph
from ircotlib.systems import Prompts


def converse_in_chat(
    prompts: Prompts, question: Question, messages: Sequence[str]
) -> tuple[Message, ...]:
    """The chat of a question with all messages so far, from the model and to it, none left out.

    Differs from the released program: the lines of a message are not indented, and the examples are
    those of the stage "chain".
    """
    examples = prompts["chain"](question).rpartition(BETWEEN_DEMONSTRATIONS)[0]
    first = prompts["released"](question, examples=examples, asked=question.text)
    roles = cycle(("assistant", "user"))
    return Message("user", first), *map(Message, roles, messages)


def give_released_feedback(
    prompts: Prompts, question: Question, node: Node, passage: Paragraph
) -> str:
    """The message to the model about a node that needs feedback, even if nothing was extracted."""
    fields = {"found": node.found, "reference": render_paragraph(passage)}
    return prompts[f"released_{node.feedback}"](question, query=node.query, **fields)
