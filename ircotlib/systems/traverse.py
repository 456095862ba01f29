"""SearChain's interaction with retrieval: the functions Traverse and IR of its Algorithm 1."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ircotlib.data import Node, Paragraph
from ircotlib.program import Duplicate, Extract, Program, Retrieve
from ircotlib.reasoning import queries


def traverse(
    chain: Sequence[Node],
    tree: list[Node],
    passages: dict[str, Paragraph],
    check: Callable[[Node, Paragraph], str],
    same: float,
) -> Program:
    """Compare the nodes of a chain in order, except those processed before; add them to the tree.
    Return the first that needs feedback, None for "Finish" (Algorithm 1, Traverse).

    An unsolved query never counts as processed (released program).
    """
    for place, node in enumerate(chain, start=1):
        processed = () if node.unsolved else queries(tree)
        if not (processed and (yield Duplicate(node.query, processed)) > same):
            node = yield from compare(node, passages, check)
        tree.append(node)
        if node.feedback:
            tree.extend(chain[place:])
            return node
    return None


def compare(node: Node, passages: dict[str, Paragraph], check: Callable) -> Program:
    """Retrieve the best passage for a node and extract an answer; return the node with them and
    its feedback, "" for "Pass" (Algorithm 1, IR). Where nothing is found it passes (ours).
    """
    found = yield Retrieve(node.query, 1)
    if not found:
        return node
    passages.update((paragraph.id, paragraph) for paragraph in found)
    passage = found[-1]  # a question's main passage comes before it (IIRC)
    text, confidence = yield Extract(node.query, passage)
    node = replace(node, passage=passage.id, found=text, confidence=confidence)
    return replace(node, feedback=check(node, passage))
