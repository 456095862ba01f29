"""ReAct's thoughts and actions: generates and reads them (Yao et al. 2023, §3.2)."""

import re
from collections.abc import Sequence

from ircotlib.data import Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import WritePrompt

ACTION = re.compile(r"(search|lookup|finish)\[(.*)\]", re.IGNORECASE | re.DOTALL)


def think_and_act(
    question: Question, prompt: WritePrompt, lines: Sequence[str], step: int, tokens: int
) -> Program:
    """Generate the next thought and action; a second generation writes the action if the first one
    lacks it (ReAct, released program). `step`: counts from 1.
    """
    so_far = "\n".join([*lines, f"Thought {step}:"])
    stop = (f"\nObservation {step}:",)
    written = yield Generate(prompt(question, thoughts=(so_far,)), stop, tokens)
    thought, mark, action = written.partition(f"\nAction {step}: ")
    if mark:
        return thought.strip(), action.strip()
    thought = written.partition("\n")[0].strip()
    so_far = f"{so_far} {thought}\nAction {step}:"
    return thought, (yield Generate(prompt(question, thoughts=(so_far,)), LINE, tokens))


def read_action(action: str) -> tuple[str, str]:
    """The verb of an action, search, lookup or finish in lower case, and its argument; two empty
    texts if it is none of these.
    """
    match = ACTION.fullmatch(action)
    return (match[1].lower(), match[2].strip()) if match else ("", "")
