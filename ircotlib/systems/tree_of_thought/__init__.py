"""Tree-of-Thought w/ IR: breadth-first search over thoughts that the model proposes and votes on
(Yao et al. 2023, §3, Algorithm 1), with retrieval (SearChain §4.1).
"""

from functools import partial

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve, Sample
from ircotlib.systems import Prompts, searchain_system
from ircotlib.systems.tree_of_thought.states import State, propose, retrieve, vote


def tree_of_thought(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 5,  # thoughts proposed per state (text tasks, §4.2)
    votes: int = 5,  # per step (text tasks, §4.2)
    b: int = 1,  # states kept (text tasks, §4.2)
    temperature: float = 0.7,  # §4
    depth: int = 4,  # thoughts of a chain (ours; not in the paper)
    k: int = 3,  # paragraphs per retrieval (ours; not in the paper)
    max_tokens: int = 200,
) -> Program:
    """Propose n thoughts for each state, vote, keep the b best states, and retrieve with them,
    until the first state gives the answer (ToT Algorithm 1).

    A thought is one line of a chain, and the queries are the question and each thought kept (ours:
    neither paper says how retrieval was added).
    """
    draw = partial(Sample, temperature=temperature, max_tokens=max_tokens)
    ask, ask_to_vote = (partial(prompts[stage], question) for stage in ("propose", "vote"))
    states = [State((), (yield Retrieve(question.text, k)))]
    seen, fault = dict.fromkeys(states[0].paragraphs), ""
    for _ in range(depth):
        grown = yield from propose(states, ask, partial(draw, n=n))
        if not grown:
            fault = "no thought proposed"
            break
        states = grown
        if len(grown) > b:
            states, counted = yield from vote(grown, b, ask_to_vote, partial(draw, n=votes))
            fault = fault or ("" if counted else "no vote that names a choice")
        if states[0].answer or len(states[0].thoughts) == depth:
            break
        states = yield from retrieve(states, k)
        seen |= dict.fromkeys(p for state in states for p in state.paragraphs)
    best = states[0]
    last = best.thoughts[-1] if best.thoughts else ""
    fault = fault or ("" if best.answer else f"no answer in {depth} thoughts")
    return Prediction(best.answer or last, tuple(seen), best.thoughts, best.chain, fault=fault)


NAME, STAGES = "Tree-of-Thought w/ IR", ("propose", "vote")
RECORD = {"generations": 40, "draws": ("n", "votes"), "color": "#2f6f4f", "order": 260}
SYSTEMS = (searchain_system(NAME, tree_of_thought, STAGES, **RECORD),)
