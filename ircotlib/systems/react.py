"""ReAct: thoughts, actions and observations in turn (Yao et al. 2023, §3.1-3.2)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.cot import cot_sc
from ircotlib.systems.pages import Page, search
from ircotlib.systems.readers import WritePrompt

ACTION = re.compile(r"(search|lookup|finish)\[(.*)\]", re.IGNORECASE | re.DOTALL)


def react(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    max_actions: int = 7,  # §3.2 (FEVER: 5; 7 in the released program)
    tokens: int = 100,  # of one thought and action (released program)
    by_title: bool = True,
) -> Program:
    """Think, act and observe until Finish (ReAct §3.1, released program).

    Search takes a page by its title. `by_title=False`: the best paragraph of the corpus; this is
    ours. Without a Finish the answer is "", with a fault.
    Differs from the paper: a page is one paragraph of the corpus, not an article of Wikipedia.
    """
    page, lines, found = Page(()), [], {}
    for step in range(1, max_actions + 1):
        thought, action = yield from think_and_act(question, prompts["act"], lines, step, tokens)
        lines += [f"Thought {step}: {thought}", f"Action {step}: {action}"]
        verb, argument = read_action(action)
        if verb == "finish":
            fault = "" if argument else "Finish without an answer"
            return Prediction(argument, tuple(found), tuple(lines), lines[-1], fault=fault)
        if verb == "search":
            paragraphs, observed = yield from search(argument, by_title)
            page = Page(paragraphs) if paragraphs else page
            found |= dict.fromkeys(paragraphs)
        elif verb == "lookup":
            observed = page.look_up(argument)
        else:
            observed = f"Invalid action: {action}"
        lines.append(f"Observation {step}: {observed}")
    fault = f"no Finish in {max_actions} actions"
    return Prediction("", tuple(found), tuple(lines), fault=fault)


def think_and_act(
    question: Question, prompt: WritePrompt, lines: Sequence[str], step: int, tokens: int
) -> Program:
    """The next thought and action; two generations where one does not hold both (released
    program).
    """
    so_far = "\n".join([*lines, f"Thought {step}:"])
    stop = (f"\nObservation {step}:",)
    written = yield Generate(prompt(question, thoughts=(so_far,)), stop, tokens)
    thought, found, action = written.partition(f"\nAction {step}: ")
    if found:
        return thought.strip(), action.strip()
    thought = written.partition("\n")[0].strip()
    so_far = f"{so_far} {thought}\nAction {step}:"
    return thought, (yield Generate(prompt(question, thoughts=(so_far,)), LINE, tokens))


def read_action(action: str) -> tuple[str, str]:
    """Search, lookup or finish in lower case, and its argument; "" and "" for no action."""
    found = ACTION.fullmatch(action)
    return (found[1].lower(), found[2].strip()) if found else ("", "")


def react_cot_sc(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    n: int = 21,  # chains of CoT-SC (§3.2)
    temperature: float = 0.7,  # of CoT-SC (§3.2)
    max_actions: int = 7,  # as those of ReAct
    tokens: int = 100,
    by_title: bool = True,
    max_tokens: int = 256,  # of a chain of CoT-SC
) -> Program:
    """Take ReAct's answer, or CoT-SC's where ReAct does not finish (ReAct §3.2). What ReAct
    retrieved and wrote stays in the prediction, before the chains.
    """
    setting = {"max_actions": max_actions, "tokens": tokens, "by_title": by_title}
    acted = yield from react(question, prompts=prompts, **setting)
    if acted.answer:
        return acted
    drawing = {"n": n, "temperature": temperature, "max_tokens": max_tokens}
    voted = yield from cot_sc(question, prompts=prompts, **drawing)
    thoughts = acted.thoughts + voted.thoughts
    return replace(voted, paragraphs=acted.paragraphs, thoughts=thoughts)


ACT, REACT = {"stages": ("act",), "study": SEARCHAIN, "order": 240}, ("React → CoT-SC", "ReAct")
BOTH = {
    "stages": ("act", "cot"),
    "better_than": ("ReAct", "CoT-SC"),
    "study": SEARCHAIN,
    "order": 241,
}
SYSTEMS = (
    System("ReAct", react, reported=("React",), color="#d98c8c", **ACT),
    System("ReAct -> CoT-SC", react_cot_sc, reported=REACT, color="#c0504d", **BOTH),
)
