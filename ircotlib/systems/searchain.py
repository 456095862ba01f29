"""SearChain: retrieval verifies and completes a chain of query (§3, Algorithm 1)."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, rouge_l
from ircotlib.program import (
    Chat,
    Duplicate,
    Extract,
    Generate,
    Message,
    Program,
    Prompt,
    Retrieve,
)
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_paragraph
from ircotlib.systems import Prompts, system
from ircotlib.systems.chain_of_query import Chain, bare, read_chain, read_released_chain
from ircotlib.text import answer_from_chain, normalise_answer

CITATION = r"\[\d+(?: ?, ?\d+)*\]"
CITATIONS = re.compile(rf"{CITATION}(?: ?{CITATION})*")
END = ("\n\n\n",)  # of a generation: where the next example would begin (ours)
VERIFICATION, COMPLETION = "verification", "completion"  # kinds of feedback
CORRECTED = "goes on from the answer that was corrected"
COMPLETED = "goes on from the answer that was missing"
STAGES: dict[str, Any] = {  # `system` takes other types under other names
    VERIFICATION: CORRECTED,
    COMPLETION: COMPLETED,
    "chain": "writes a chain of queries",
    "reference": "goes on from the passage that was found",
    "tracing": "writes its answer from the correct path",
    "released": "writes a chain of queries",
    "released_verification": CORRECTED,
    "released_completion": COMPLETED,
}


@system("SearChain", **STAGES)
def searchain(
    question: Question,
    *,
    prompts: Prompts,
    max_rounds: int = 5,  # r_max (§4.1); Algorithm 1 prints r > r_max: one more
    confidence: float = 1.5,  # θ (§4.1)
    overlap: float = 0.35,  # α, of ROUGE (§4.1)
    long_form: bool = False,  # answers are long texts, as for ELI5 (§3.3)
    verify: bool = True,  # False: no such feedback; nodes that need it pass (Table 1)
    complete: bool = True,  # likewise
    max_tokens: int = 512,  # of one generation (ours)
    released: bool = False,
    chat: bool = False,  # whether the model takes a chat
) -> Program:
    """Write chains and compare their nodes with passages until no node needs feedback,
    then trace the correct path (SearChain Algorithm 1, Main).

    `released`: as the authors' program: chains are read by lines, an unsolved query is
    compared each time, an empty span agrees with every answer, nothing is traced, and a
    chat is sent the program's wording and messages.
    """
    rules = Rules(confidence, overlap, long_form, verify, complete, released)
    read = read_released_chain if released else read_chain
    in_chat = released and chat
    tree: list[Node] = []  # Algorithm 1, T: the nodes of all chains
    chains: list[Chain] = []
    passages: dict[str, Paragraph] = {}  # by id: those of nodes
    messages: list[str | Prompt] = []  # from the model and to it, in turn
    ir = partial(compare_with_passage, passages=passages, rules=rules)
    for round in range(1, max_rounds + 1):  # Algorithm 1, Main
        prompt = converse(prompts, question, messages, in_chat)
        text = yield Generate(prompt, END, max_tokens)
        messages.append(text)
        chains.append(read(text, round))  # CoQ = ChainGenerate(Q, F)
        # F = Traverse(CoQ)
        node = yield from traverse(chains[-1].nodes, tree, ir, released)
        if node is None:  # F is "Finish"
            break
        passage = passages[node.passage]
        messages.append(give_feedback(prompts, question, node, passage, in_chat))
    nodes = link(tree)
    thoughts = tuple(each for each in messages if isinstance(each, str))
    # Tracing(T, R) (§3.3), also if R is empty and no chain has a final content (ours)
    ended = any(chain.final for chain in chains)
    if not released and (any(node.mark for node in nodes) or not ended):
        traced = yield from trace(prompts, question, nodes, messages, max_tokens)
        chains.append(traced)
    answer, final, fault = conclude(chains, long_form)
    found = tuple(passages.values())
    return Prediction(answer, found, thoughts, final, nodes, fault)


@system("SearChain w/o Verification", inner=searchain, **STAGES)
def searchain_without_verification(question: Question, **setting) -> Program:
    """Give feedback only on unsolved nodes (SearChain Table 1)."""
    return searchain(question, verify=False, **setting)


@system("SearChain w/o Completion", inner=searchain, **STAGES)
def searchain_without_completion(question: Question, **setting) -> Program:
    """Give feedback only on answers (SearChain Table 1)."""
    return searchain(question, complete=False, **setting)


@system("SearChain w/o IR", without_ir="writes a chain of queries with all answers")
def searchain_without_ir(
    question: Question,
    *,
    prompts: Prompts,
    long_form: bool = False,
    max_tokens: int = 512,  # ours
) -> Program:
    """Write one chain with all its answers (SearChain §4.2, Figure 11)."""
    text = yield Generate(prompts["without_ir"](question), END, max_tokens)
    chain = read_chain(text)
    answer, final, fault = conclude([chain], long_form)
    return Prediction(answer, (), (text,), final, link(chain.nodes, chain.nodes), fault)


def traverse(
    chain: Sequence[Node], tree: list[Node], ir: Callable, released: bool
) -> Program:
    """Add the nodes of a chain to the tree, and compare those that were not processed
    before; return the first that needs feedback, None for "Finish" (Algorithm 1,
    Traverse).
    """
    for number, node in enumerate(chain, start=1):  # "foreach (q_i, a_i) in CoQ"
        processed = dict.fromkeys(other.query for other in tree if other.passage)  # M
        duplicate = False
        if processed and not (released and node.unsolved):
            # in the released program, a cross-encoder decides
            duplicate = yield Duplicate(node.query, tuple(processed))
        if not duplicate:  # "if not DuplicateQuery(q_i, M)"
            node = yield from ir(node)  # F = IR(q_i, a_i)
        tree.append(node)  # M.add(q_i), if it has a passage
        if node.feedback:  # "if not F == Pass": the rest of the chain is not compared
            tree.extend(chain[number:])
            return node
    return None  # "Finish"


def compare_with_passage(
    node: Node, passages: dict[str, Paragraph], rules: "Rules"
) -> Program:
    """Retrieve a passage for a node and extract an answer from it; return the node with
    both and its feedback, as it is if nothing is found (Algorithm 1, IR).
    """
    retrieved = yield Retrieve(node.query, 1)  # Top-1 document d_i
    if not retrieved:
        return node
    passages |= {passage.id: passage for passage in retrieved}
    passage = retrieved[-1]  # a question's main passage comes before it (IIRC)
    found, confidence = yield Extract(node.query, passage)  # g, f = Reader(q_i, d_i)
    node = replace(node, passage=passage.id, found=found, confidence=confidence)
    return replace(node, feedback=check(node, passage, rules))


class Rules(NamedTuple):
    """Keywords of `searchain` that decide whether a node needs feedback."""

    confidence: float
    overlap: float
    long_form: bool
    verify: bool
    complete: bool
    released: bool


def check(node: Node, passage: Paragraph, rules: Rules) -> str:
    """The kind of feedback that a node needs; "" for "Pass" (SearChain §3.3)."""
    # whatever the reader's confidence (§3.3, Completion); one that passes has no answer
    # to trace (ours: the paper leaves it open)
    if node.unsolved:
        return COMPLETION if rules.complete else ""
    if rules.long_form:  # §3.3, (2); the paper does not say which ROUGE
        agrees = rouge_l(node.answer, [passage.text]) > rules.overlap
    elif rules.released:  # as letters, so that an empty span agrees (released program)
        agrees = normalise_answer(node.found) in normalise_answer(node.answer)
    else:  # §3.3, (1); as whole words (ours)
        words = f" {as_compared(node.answer)} "
        agrees = bool(node.found) and f" {as_compared(node.found)} " in words
    doubted = node.confidence > rules.confidence and not agrees  # f > θ, NotEqual
    return VERIFICATION if rules.verify and doubted else ""


def recorded(node: Node) -> str:
    """The answer of a node on the correct path (Algorithm 1, R)."""
    # R.add: g after feedback, else a_i; also a_i if nothing was extracted (ours)
    return (node.feedback and node.found) or node.answer


def link(nodes: Sequence[Node], path: Sequence[Node] = ()) -> tuple[Node, ...]:
    """The tree of reasoning (SearChain Figure 1; Algorithm 1, T): each node of all
    chains gets the one it comes `after`, and its `mark` on the correct `path`.
    """
    # R: compared with a passage, and answered; of equal queries the last counts, in the
    # place of the first (ours: Algorithm 1 records both)
    answered = [node for node in nodes if node.passage and recorded(node)]
    last_of_each = {as_compared(node.query): node for node in answered}
    correct: Iterable[Node] = path or last_of_each.values()
    marks = {(n.round, n.number): mark for mark, n in enumerate(correct, start=1)}
    linked = []
    branch = None  # the last node with feedback, root of the next chain (§3.3)
    for index, node in enumerate(nodes):
        # T.AddChild(CoQ): a new branch (§3.3)
        after = branch if node.number == 1 else index - 1
        mark = marks.get((node.round, node.number), 0)
        linked.append(replace(node, after=after, mark=mark))
        if node.feedback:
            branch = index
    return tuple(linked)


def give_feedback(
    prompts: Prompts, question: Question, node: Node, passage: Paragraph, in_chat: bool
) -> Prompt:
    """The message about a node that needs feedback (SearChain §3.3)."""
    stage = node.feedback if node.found else "reference"  # names no answer (ours)
    if in_chat:  # in the words of the released program
        stage = f"released_{node.feedback}"
    reference = render_paragraph(passage)
    write = prompts[stage]
    return write(question, query=node.query, found=node.found, reference=reference)


def trace(
    prompts: Prompts,
    question: Question,
    nodes: Sequence[Node],
    messages: Sequence[str | Prompt],
    max_tokens: int,
) -> Program:
    """Ask for a final content from the correct path (SearChain §3.3, Tracing)."""
    path = sorted((node for node in nodes if node.mark), key=lambda node: node.mark)
    pairs = [
        f"[Query {n.mark}]: {n.query}\n[Answer {n.mark}]: {recorded(n)}" for n in path
    ]
    asked = prompts["tracing"](question, pairs="\n".join(pairs))
    prompt = converse(prompts, question, [*messages, asked])
    final = read_chain((yield Generate(prompt, END, max_tokens))).final
    return Chain((), final, "" if final else "no final content")


def converse(
    prompts: Prompts,
    question: Question,
    messages: Sequence[str | Prompt],
    in_chat: bool = False,
) -> Prompt | Chat:
    """The prompt of a question with all messages so far, from the model and to it
    (released program). If it is too long, the first ones are left out; none of a chat.
    Differs from the released program: a chat's messages are not indented, and its
    examples are those of the stage "chain".
    """
    texts = [each.text if isinstance(each, Prompt) else each for each in messages]
    if in_chat:
        shown = prompts["chain"](question).text
        examples = shown.rpartition(BETWEEN_DEMONSTRATIONS)[0]
        first = prompts["released"](question, examples=examples, asked=question.text)
        roles = cycle(("assistant", "user"))
        return Message("user", first.text), *map(Message, roles, texts)
    prompt = prompts["chain"](question, thoughts=["\n\n".join(texts)])
    if messages and isinstance(messages[-1], Prompt):
        return replace(prompt, purpose=messages[-1].purpose)
    return prompt


def conclude(chains: Sequence[Chain], long_form: bool = False) -> tuple[str, str, str]:
    """The answer, the last final content, and what could not be read of the replies.
    The answer is what follows "answer is", if that is there; in long form all of it.
    """
    final = next((chain.final for chain in reversed(chains) if chain.final), "")
    faults = [f"reply {n}: {c.fault}" for n, c in enumerate(chains, start=1) if c.fault]
    text = re.sub(rf" ?{CITATIONS.pattern}", "", final).strip()
    short = None if long_form else answer_from_chain(text)
    return (text if short is None else bare(short)), final, "; ".join(faults)


def citations(final: str) -> list[tuple[int, ...]]:
    """The marks in a final content (SearChain §3.3).

    >>> citations("Ann wrote it [1]. She is old [1][3] and tall [2, 3].")
    [(1,), (1, 3), (2, 3)]
    """
    groups = CITATIONS.findall(final)
    return [tuple(map(int, re.findall(r"\d+", group))) for group in groups]
