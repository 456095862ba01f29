"""SearChain's tree of reasoning, and the messages to the model (SearChain §3.3, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import replace

from ircotlib.data import Hop, Node, Paragraph, Question
from ircotlib.metrics import as_compared
from ircotlib.program import Purposed, with_purpose
from ircotlib.prompting.prompt import render_paragraph
from ircotlib.systems import Prompts

VERIFICATION, COMPLETION = "verification", "completion"  # kinds of feedback, and their prompts


def recorded(node: Node) -> str:
    """The answer of a node on the correct path: the extracted one if the node got feedback, else
    the model's (Algorithm 1, R); also the model's if nothing was extracted (ours).
    """
    return (node.feedback and node.found) or node.answer  # R.add: g after feedback, else a_i


def path(nodes: Sequence[Node]) -> tuple[Hop, ...]:
    """The steps of the correct path."""
    marked = sorted((node for node in nodes if node.mark), key=lambda node: node.mark)
    return tuple(Hop(n.query, recorded(n), n.query if n.passage else "") for n in marked)


def correct_path(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that were compared with a passage and have an answer (Algorithm 1, R). Of nodes
    with equal queries the last counts, in the place of the first (ours: Algorithm 1 records both).
    """
    answered = [node for node in nodes if node.passage and recorded(node)]
    return list({as_compared(node.query): node for node in answered}.values())


def link(nodes: Sequence[Node], path: Sequence[Node] | None = None) -> tuple[Node, ...]:
    """Link the nodes of all chains, in order, to the tree of reasoning (SearChain Figure 1;
    Algorithm 1, T): each gets the node it comes `after` and its `mark` on the correct path.

    `path`: the nodes with a mark; None: `correct_path(nodes)`.
    """
    path = correct_path(nodes) if path is None else path
    marks = {(node.round, node.number): mark for mark, node in enumerate(path, start=1)}
    linked = []
    before = None  # the place of the node above
    branch = None  # that of the last node with feedback, the root of the next chain (§3.3)
    for index, node in enumerate(nodes):
        after = branch if node.number == 1 else before  # T.AddChild(CoQ): a new branch (§3.3)
        linked.append(replace(node, after=after, mark=marks.get((node.round, node.number), 0)))
        before = index
        branch = index if node.feedback else branch
    return tuple(linked)


def give_feedback(prompts: Prompts, question: Question, node: Node, passage: Paragraph) -> str:
    """The message to the model about a node that needs feedback (SearChain §3.3).

    The passage is rendered as in other prompts, and no answer is named if none was extracted
    (ours).
    """
    stage = node.feedback if node.found else "reference"
    reference = render_paragraph(passage)
    return prompts[stage](question, query=node.query, found=node.found, reference=reference)


def ask_to_trace(prompts: Prompts, question: Question, nodes: Sequence[Node]) -> str:
    """The message that asks for a final content from the correct path (SearChain §3.3, Tracing)."""
    path = sorted((node for node in nodes if node.mark), key=lambda node: node.mark)
    pairs = (f"[Query {n.mark}]: {n.query}\n[Answer {n.mark}]: {recorded(n)}" for n in path)
    return prompts["tracing"](question, pairs="\n".join(pairs))


def converse(prompts: Prompts, question: Question, messages: Sequence[str]) -> str:
    """The prompt of a question with all messages so far, from the model and to it (released
    program), with the purpose of the last message. If that is too long, the first messages are left
    out (`packing.CUTS`).
    """
    prompt = prompts["chain"](question, thoughts=["\n\n".join(messages)])
    last = messages[-1] if messages else prompt
    return with_purpose(prompt, last.purpose) if isinstance(last, Purposed) else prompt
