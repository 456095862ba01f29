"""ReAct: thoughts, actions and observations in turn (Yao et al. 2023, §3.1-3.2)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import Program
from ircotlib.systems import FEW, Prompts, searchain_system
from ircotlib.systems.cot import cot_sc
from ircotlib.systems.react.actions import read_action, think_and_act
from ircotlib.systems.react.pages import OpenPage, search_page


def react(
    question: Question,
    *,
    prompts: Prompts,
    max_actions: int = 7,  # §3.2 (FEVER: 5; 7 in the released program)
    tokens: int = 100,  # of a thought and its action (released program)
    by_title: bool = True,
) -> Program:
    """Think, act and observe until Finish (ReAct §3.1, released program).

    `by_title`: Search finds a page by its title; False: it takes the best paragraph of the corpus
    (ours). Without Finish the answer is "", with a fault. Differs from the paper: a page is one
    paragraph of the corpus, not an article of Wikipedia.
    """
    page, lines, seen = OpenPage(()), [], {}
    for step in range(1, max_actions + 1):
        thought, action = yield from think_and_act(question, prompts["act"], lines, step, tokens)
        lines += [f"Thought {step}: {thought}", f"Action {step}: {action}"]
        verb, argument = read_action(action)
        if verb == "finish":
            fault = "" if argument else "Finish without an answer"
            return Prediction(argument, tuple(seen), tuple(lines), lines[-1], fault=fault)
        if verb == "search":
            paragraphs, observed = yield from search_page(argument, by_title)
            page = OpenPage(paragraphs) if paragraphs else page
            seen |= dict.fromkeys(paragraphs)
        elif verb == "lookup":
            observed = page.look_up(argument)
        else:
            observed = f"Invalid action: {action}"
        lines.append(f"Observation {step}: {observed}")
    fault = f"no Finish in {max_actions} actions"
    return Prediction("", tuple(seen), tuple(lines), fault=fault)


def react_cot_sc(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 21,  # chains of CoT-SC (§3.2)
    temperature: float = 0.7,  # of CoT-SC (§3.2)
    max_actions: int = 7,  # as in `react`
    tokens: int = 100,
    by_title: bool = True,
    max_tokens: int = 256,  # of a chain of CoT-SC
) -> Program:
    """Take ReAct's answer, or CoT-SC's if ReAct gives none (ReAct §3.2). What ReAct retrieved and
    wrote stays in the prediction, before the chain.
    """
    setting = {"max_actions": max_actions, "tokens": tokens, "by_title": by_title}
    acted = yield from react(question, prompts=prompts, **setting)
    if acted.answer:
        return acted
    drawing = {"n": n, "temperature": temperature, "max_tokens": max_tokens}
    voted = yield from cot_sc(question, prompts=prompts, **drawing)
    thoughts = acted.thoughts + voted.thoughts
    return replace(voted, paragraphs=acted.paragraphs, thoughts=thoughts)


EXAMPLES = FEW | {"hotpotqa": 6}
EXAMPLES = FEW | {"hotpotqa": 6}
ALONE = {"reported": ("React",), "color": "#d98c8c", "order": 240}
ALONE |= {"generations": 14, "limits": ("tokens",)}
VOTING = {"reported": ("React → CoT-SC", "ReAct"), "color": "#c0504d", "order": 241}
VOTING |= {"generations": 35, "limits": ("tokens", "max_tokens"), "draws": ("n",)}
SYSTEMS = (
    searchain_system("ReAct", react, ("act",), examples=EXAMPLES, **ALONE),
    searchain_system("ReAct -> CoT-SC", react_cot_sc, ("act", "cot"), examples=EXAMPLES, **VOTING),
)
