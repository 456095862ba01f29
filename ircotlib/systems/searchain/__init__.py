"""SearChain: the model writes a whole chain of query, and retrieval verifies and completes its
nodes (SearChain §3, Algorithm 1).
"""

from functools import partial

from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.metrics import rouge_l
from ircotlib.program import Generate, Program
from ircotlib.systems import CHAINED, SEARCHAIN, TWO_EXAMPLES, Prompts, System
from ircotlib.systems.searchain.chain import Chain, conclude, read_chain, read_released_chain
from ircotlib.systems.searchain.released import converse_in_chat, give_released_feedback
from ircotlib.systems.searchain.traverse import contains, needed_feedback, traverse
from ircotlib.systems.searchain.tree import ask_to_trace, converse, give_feedback, link, path

END = ("\n\n\n",)  # of a generation: where the next example would begin (ours)


def searchain(
    question: Question,
    *,
    prompts: Prompts,
    max_rounds: int = 5,  # r_max (§4.1); Algorithm 1 as printed, r > r_max, has one round more
    confidence: float = 1.5,  # θ (§4.1)
    overlap: float = 0.35,  # α, of ROUGE (§4.1)
    k: int = 1,  # passages of a query, of which the surest is taken; Top-1 (Algorithm 1, IR)
    same: float = 0.5,  # threshold of DuplicateQuery (released program)
    long_form: bool = False,  # answers are long texts, as for ELI5 (§3.3)
    verify: bool = True,
    complete: bool = True,
    max_tokens: int = 512,  # of one generation (ours)
    released: bool = False,
    chat: bool = False,
) -> Program:
    """Write chains and compare their nodes with passages until no node needs feedback, for at most
    `max_rounds`; then trace the correct path (SearChain Algorithm 1, Main). Prompts show the whole
    conversation so far (released program).

    `verify`, `complete`: False turns this kind of feedback off (Table 1), and nodes that would need
    it pass; an unsolved node that passes has no answer to trace, but the final content is asked for
    in any case (ours: the paper leaves both open). `released`: follow the authors' program where it
    differs: chains are read by lines, an unsolved query is compared each time, an empty span agrees
    with every answer, and nothing is traced. `chat`: whether the model takes a chat; if so, and
    `released`, it is sent the program's wording and messages.
    """
    read = read_released_chain if released else read_chain

    def agree(node: Node, passage: Paragraph) -> bool:
        if long_form:  # §3.3, (2); the paper does not say which ROUGE
            return rouge_l(node.answer, [passage.text]) > overlap
        return contains(node.answer, node.found, released=released)  # §3.3, (1)

    rules = {"confidence": confidence, "verify": verify, "complete": complete}
    check = partial(needed_feedback, agree=agree, **rules)
    in_chat = released and chat  # the program's wording and messages
    write = converse_in_chat if in_chat else converse
    correct = give_released_feedback if in_chat else give_feedback
    tree = []  # Algorithm 1, T: the nodes of all chains
    passages = {}  # by id: those of nodes
    messages = []  # from the model and to it, in turn
    chains = []
    for round in range(1, max_rounds + 1):  # Algorithm 1, Main
        messages.append((yield Generate(write(prompts, question, messages), END, max_tokens)))
        chains.append(read(messages[-1], round))  # CoQ = ChainGenerate(Q, F)
        node = yield from traverse(  # F = Traverse(CoQ)
            chains[-1].nodes, tree, passages, check, same, k, released=released
        )
        if node is None:  # F is "Finish"
            break
        messages.append(correct(prompts, question, node, passages[node.passage]))  # §3.3
    nodes = link(tree)
    thoughts = tuple(messages[::2])
    # Tracing(T, R) (§3.3), also if R is empty and no chain has a final content (ours); the released
    # program does not trace
    ended = any(chain.final for chain in chains)
    if not released and (any(node.mark for node in nodes) or not ended):
        messages.append(ask_to_trace(prompts, question, nodes))
        text = yield Generate(converse(prompts, question, messages), END, max_tokens)
        final = read_chain(text).final
        chains.append(Chain((), final, "" if final else "no final content"))
    answer, final, fault = conclude(chains, long_form)
    return Prediction(answer, tuple(passages.values()), thoughts, final, nodes, fault, path(nodes))


def searchain_without_ir(
    question: Question,
    *,
    prompts: Prompts,
    long_form: bool = False,
    max_tokens: int = 512,  # ours
) -> Program:
    """Write one chain with all its answers; take its final content (SearChain §4.2, Figure 11)."""
    text = yield Generate(prompts["without_ir"](question), END, max_tokens)
    chain = read_chain(text)
    answer, final, fault = conclude([chain], long_form)
    nodes = link(chain.nodes, chain.nodes)
    return Prediction(answer, (), (text,), final, nodes, fault, path(nodes))


def searchain_without_verification(question: Question, **setting) -> Program:
    """Give feedback only on unsolved nodes (SearChain Table 1). `setting`: as of `searchain`."""
    return searchain(question, verify=False, **setting)


def searchain_without_completion(question: Question, **setting) -> Program:
    """Give feedback only on answers (SearChain Table 1). `setting`: as of `searchain`.

    What then follows an unsolved query the paper does not say; here it ends the interaction, and
    the model is asked for its final content from the pairs that have an answer, if any (ours).
    """
    return searchain(question, complete=False, **setting)


ABLATIONS = ("SearChain w/o Verification", "SearChain w/o Completion")
# the systems that the paper says SearChain w/o IR outperforms, and SearChain (§4.2, Table 1)
CHAINS_OF_THOUGHT = ("CoT", "Auto-CoT", "CoT-SC", "Recite-and-answer")
SUB_QUESTIONS = ("Self-Ask w/o IR", "Least-to-Most")
WITH_IR = (
    "Direct Retrieval",
    "ToolFormer",
    "Self-Ask",
    "Plan-and-Solve w/ IR",
    "ReAct -> CoT-SC",
    "Verify-and-Edit",
    "Tree-of-Thought w/ IR",
    "DSP",
)

STAGES = {
    "chain": "writes a chain of queries",
    "verification": "goes on from the answer that was corrected",
    "completion": "goes on from the answer that was missing",
    "reference": "goes on from the passage that was found",
    "tracing": "writes its answer from the correct path",
    "released": "writes a chain of queries",
    "released_verification": "goes on from the answer that was corrected",
    "released_completion": "goes on from the answer that was missing",
}
SYSTEMS = (
    System(
        name="SearChain w/o IR",
        program=searchain_without_ir,
        stages={"without_ir": "writes a chain of queries with all answers"},
        examples=TWO_EXAMPLES | {"strategyqa": 6},  # Table 11
        generations=1,
        study=SEARCHAIN,
        better_than=CHAINS_OF_THOUGHT + SUB_QUESTIONS,
        family=(CHAINED, 2),
        order=400,
    ),
    System(
        name="SearChain w/o Verification",
        program=searchain_without_verification,
        inner=searchain,
        stages=STAGES,
        examples=TWO_EXAMPLES,
        generations=6,
        study=SEARCHAIN,
        family=(CHAINED, 2),
        order=401,
    ),
    System(
        name="SearChain w/o Completion",
        program=searchain_without_completion,
        inner=searchain,
        stages=STAGES,
        examples=TWO_EXAMPLES,
        generations=6,
        study=SEARCHAIN,
        family=(CHAINED, 1),
        order=402,
    ),
    System(
        name="SearChain",
        program=searchain,
        stages=STAGES,
        examples=TWO_EXAMPLES,
        equal=("k",),
        generations=6,
        study=SEARCHAIN,
        better_than=(*WITH_IR, "SearChain w/o IR", *ABLATIONS),
        family=(CHAINED, 0),
        order=403,
    ),
)
