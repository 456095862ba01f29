"""ReAct: thoughts, actions and observations in turn (Yao 2023 §3.1-3.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, NearestTitle, Program, Retrieve
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.systems.cot import cot_sc
from ircotlib.text import sentences

# how a model may go on: with another example, or a step that it makes up
FURTHER = r"(?:\n(?:\n|Question:|(?:Thought|Action|Observation) \d+:).*)?"
ACTION = re.compile(
    rf"(search|lookup|finish)\[(.*?)\]{FURTHER}", re.IGNORECASE | re.DOTALL
)


@system("ReAct", limits=("tokens",), act="thinks and acts")
def react(
    question: Question,
    *,
    prompts: Prompts,
    max_actions: int = 7,  # §3.2 (FEVER: 5; 7 in the released program)
    tokens: int = 100,  # of a thought and its action (released program)
) -> Program:
    """Think, act and observe until Finish (ReAct §3.1, released program).

    Differs from the paper: a page is one paragraph of the corpus, not an article of
    Wikipedia; the instruction is below the examples, in our words; nothing written
    below an action counts.
    """
    ask = partial(prompts["act"], question)
    page = OpenPage(())
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    lines: list[str] = []  # of thoughts, actions and observations
    fault = f"no Finish in {max_actions} actions"
    for step in range(1, max_actions + 1):
        thought, action = yield from think_and_act(ask, lines, step, tokens)
        lines += [f"Thought {step}: {thought}", f"Action {step}: {action}"]
        verb, argument = read_action(action)
        if verb == "finish" and argument:  # Finish[answer] (§3.1)
            return Prediction(argument, tuple(seen), tuple(lines), lines[-1])
        if verb == "finish":
            fault = "Finish without an answer"
            break
        if verb == "search":  # Search[entity] (§3.1)
            paragraphs, observed = yield from search_page(argument)
            seen |= dict.fromkeys(paragraphs)
            if paragraphs:
                page = OpenPage(paragraphs)
        elif verb == "lookup":  # Lookup[string] (§3.1)
            observed = page.look_up(argument)
        else:  # released program
            observed = f"Invalid action: {action}"
        lines.append(f"Observation {step}: {observed}")
    # the answer is "" (released program): there is no text that could be scored
    return Prediction("", tuple(seen), tuple(lines), fault=fault)


def think_and_act(
    ask: WritePrompt, lines: Sequence[str], step: int, tokens: int
) -> Program:
    """The next thought and action, in a second generation if need be (program)."""
    so_far = "\n".join([*lines, f"Thought {step}:"])
    stop = (f"\nObservation {step}:",)  # released program
    written = yield Generate(ask(thoughts=(so_far,)), stop, tokens)
    thought, mark, action = written.partition(f"\nAction {step}: ")  # released program
    if mark:
        return thought.strip(), ACTION.sub(r"\1[\2]", action.strip(), count=1)
    # the first line is the thought; the action is asked for alone (released program)
    thought = written.partition("\n")[0].strip()
    so_far = f"{so_far} {thought}\nAction {step}:"
    return thought, (yield Generate(ask(thoughts=(so_far,)), LINE, tokens))


def read_action(action: str) -> tuple[str, str]:
    """The verb of an action and its argument; two empty texts for no action.

    >>> read_action("Search[Oslo]"), read_action("Ask[Oslo]")
    (('search', 'Oslo'), ('', ''))
    """
    match = ACTION.fullmatch(action)
    return (match[1].lower(), match[2].strip()) if match else ("", "")


def search_page(entity: str, n: int = 5) -> Program:  # 5: §3.1
    """An entity's paragraph and its first n sentences, or n similar titles (§3.1)."""
    titles = yield NearestTitle(entity, n)
    paragraphs = ()
    if titles and titles[0].casefold() == entity.casefold():
        paragraphs = yield Retrieve(entity, 1, titles[:1])
    if not paragraphs:
        return (), f"Could not find {entity}. Similar: {list(titles)}."
    return paragraphs, " ".join(sentences(paragraphs[0].text)[:n])


@dataclass
class OpenPage:
    """The page found last."""

    paragraphs: tuple[Paragraph, ...]
    text: str = ""  # what was last looked up on it
    times: int = 0  # how often in a row

    def look_up(self, text: str) -> str:
        """The next sentence with a text, in any case (ReAct §3.1: like Ctrl+F)."""
        self.times = self.times + 1 if text == self.text else 1
        self.text = text
        lines = [line for p in self.paragraphs for line in sentences(p.text)]
        hits = [line for line in lines if text.lower() in line.lower()]
        if self.times > len(hits):
            return "No more results."  # released program
        return f"(Result {self.times} / {len(hits)}) {hits[self.times - 1]}"


@system(
    "ReAct -> CoT-SC",
    inner=react,
    draws=("n",),
    limits=("tokens",),
    act="thinks and acts",
    cot="writes a chain of thought",
)
def react_cot_sc(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 21,  # chains of CoT-SC (§3.2)
    temperature: float = 0.7,  # of CoT-SC (§3.2)
    max_tokens: int = 256,  # of a chain of CoT-SC (ours)
    **setting,
) -> Program:
    """Take ReAct's answer, or CoT-SC's if ReAct gives none (ReAct §3.2)."""
    acted = yield from react(question, prompts=prompts, **setting)
    if acted.answer:  # else ReAct did not finish within its actions (§3.2)
        return acted
    voted = yield from cot_sc(
        question, prompts=prompts, n=n, temperature=temperature, max_tokens=max_tokens
    )
    thoughts = acted.thoughts + voted.thoughts
    return replace(voted, paragraphs=acted.paragraphs, thoughts=thoughts)
