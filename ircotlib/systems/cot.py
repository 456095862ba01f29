"""CoT, a chain of thought (Wei 2022), and CoT-SC, a vote of several (Wang 2023)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.metrics import majority
from ircotlib.program import Generate, Program, Sample
from ircotlib.systems import Prompts, system
from ircotlib.systems.direct import NEXT
from ircotlib.text import answer_from_chain, sentences


@system("CoT", cot="writes a chain of thought")
def cot(question: Question, *, prompts: Prompts, max_tokens: int = 256) -> Program:
    """Write a chain that ends in "The answer is X." (Wei 2022; 256 tokens: ours)."""
    chain = yield Generate(prompts["cot"](question), stop=NEXT, max_tokens=max_tokens)
    return read_answer(chain)


def read_answer(chain: str) -> Prediction:
    """The prediction of a chain: its answer, else all of it, as in IRCoT (ours)."""
    answer = answer_from_chain(chain)
    fault = "" if answer else "no answer in the chain"
    return Prediction(answer or chain, (), tuple(sentences(chain)), chain, fault=fault)


@system("CoT-SC", draws=("n",), cot="writes a chain of thought")
def cot_sc(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 40,  # chains (Wang 2023 §3.1)
    temperature: float = 0.7,  # as for GPT-3 (§3.1)
    max_tokens: int = 256,  # ours
) -> Program:
    """Sample chains; take the majority answer and the first chain with it (§2)."""
    drawn = yield Sample(prompts["cot"](question), n, temperature, NEXT, max_tokens)
    chains = [sampled.text for sampled in drawn]
    answers = [answer_from_chain(chain) or "" for chain in chains]
    answer = majority(answers)  # of those that give one (ours)
    chain = chains[answers.index(answer)]
    unread = answers.count("")
    fault = f"no answer in {unread} of {len(chains)} chains" if unread else ""
    return replace(read_answer(chain), answer=answer, fault=fault)
