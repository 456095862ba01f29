"""SearChain's interaction with retrieval: the functions Traverse and IR of its Algorithm 1."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ircotlib.data import Node, Paragraph
from ircotlib.metrics import as_compared
from ircotlib.program import Duplicate, Program, Retrieve
from ircotlib.systems.searchain.tree import COMPLETION, VERIFICATION
from ircotlib.systems.second_reader import extract_best
from ircotlib.text import normalise_answer


def traverse(
    chain: Sequence[Node],
    tree: list[Node],
    passages: dict[str, Paragraph],
    check: Callable[[Node, Paragraph], str],
    same: float,
    k: int = 1,
    *,
    released: bool = False,
) -> Program:
    """Add the nodes of a chain to the tree, and compare them with passages in order, except for
    queries processed before. Return the first node that needs feedback, None for "Finish"
    (SearChain Algorithm 1, Traverse).

    `passages`: by id, to which those retrieved are added. `same`: the duplicate score above which a
    query counts as processed before. `released`: an unsolved query never does, so that it gets the
    same feedback again (the authors' program).
    """
    for number, node in enumerate(chain, start=1):  # "foreach (q_i, a_i) in CoQ"
        processed = tuple(dict.fromkeys(other.query for other in tree if other.passage))  # M
        # "if not DuplicateQuery(q_i, M)"; a cross-encoder decides (released program)
        compared = processed and not (released and node.unsolved)
        if not (compared and (yield Duplicate(node.query, processed)) > same):
            node = yield from compare_with_passage(node, passages, check, k)  # F = IR(q_i, a_i)
        tree.append(node)  # M.add(q_i), if it has a passage
        if node.feedback:  # "if not F == Pass": the rest of the chain is not compared
            tree.extend(chain[number:])
            return node
    return None  # "Finish"


def compare_with_passage(
    node: Node, passages: dict[str, Paragraph], check: Callable, k: int
) -> Program:
    """Retrieve the best passage for a node and extract an answer from it; return the node with both
    and with its feedback, "" for "Pass" (SearChain Algorithm 1, IR). If nothing is retrieved, the
    node passes (ours). Of k passages the one with the surest answer counts (ours).
    """
    retrieved = yield Retrieve(node.query, k)  # Top-1 document d_i
    if not retrieved:
        return node
    passages.update((paragraph.id, paragraph) for paragraph in retrieved)
    # g, f = Reader(q_i, d_i); a question's main passage comes before the others (IIRC)
    text, confidence, passage = yield from extract_best(node.query, retrieved[-k:])
    node = replace(node, passage=passage.id, found=text, confidence=confidence)
    return replace(node, feedback=check(node, passage))  # a prompt, or "Pass"


def needed_feedback(
    node: Node, passage: Paragraph, agree: Callable, confidence: float, verify: bool, complete: bool
) -> str:
    """The feedback that a node needs after comparison with its passage; "" for "Pass" (SearChain
    §3.3; Algorithm 1, IR).

    An unsolved node needs completion. Any other needs verification if the reader's confidence is
    above `confidence` and `agree(node, passage)` is false.
    """
    if node.unsolved:  # whatever the reader's confidence (§3.3, Completion)
        return COMPLETION if complete else ""
    doubted = node.confidence > confidence and not agree(node, passage)  # f > θ, NotEqual
    return VERIFICATION if verify and doubted else ""


def contains(answer: str, span: str, *, released: bool = False) -> bool:
    """Whether a span occurs in an answer as whole words, or, `released`, as letters, both
    normalised: as the authors' program has it, where an empty span occurs in every answer.
    """
    if released:
        return normalise_answer(span) in normalise_answer(answer)  # released program
    return bool(span) and f" {as_compared(span)} " in f" {as_compared(answer)} "
