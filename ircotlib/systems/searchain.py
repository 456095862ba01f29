"""SearChain: retrieval verifies and completes a whole chain of query (§3, Algorithm 1)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace
from typing import NamedTuple

from ircotlib.data import Node, Paragraph, Prediction, Question
from ircotlib.metrics import as_compared, rouge_l
from ircotlib.program import (
    Duplicate,
    Extract,
    Generate,
    Message,
    Program,
    Retrieve,
    with_purpose,
)
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_paragraph
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain, normalise_answer

END = ("\n\n\n",)  # of a generation: where the next example would begin (ours)
# kinds of feedback, and their prompts
VERIFICATION, COMPLETION = "verification", "completion"
FEEDBACK = {
    VERIFICATION: "goes on from the answer that was corrected",
    COMPLETION: "goes on from the answer that was missing",
}
STAGES = FEEDBACK | {
    "chain": "writes a chain of queries",
    "reference": "goes on from the passage that was found",
    "tracing": "writes its answer from the correct path",
    "released": "writes a chain of queries",
    **{f"released_{kind}": words for kind, words in FEEDBACK.items()},
}


@system("SearChain", **STAGES)
def searchain(
    question: Question,
    *,
    prompts: Prompts,
    # r_max (§4.1); Algorithm 1 as printed, r > r_max, has one round more
    max_rounds: int = 5,
    confidence: float = 1.5,  # θ (§4.1)
    overlap: float = 0.35,  # α, of ROUGE (§4.1)
    same: float = 0.5,  # threshold of DuplicateQuery (released program)
    long_form: bool = False,  # answers are long texts, as for ELI5 (§3.3)
    verify: bool = True,
    complete: bool = True,
    max_tokens: int = 512,  # of one generation (ours)
    released: bool = False,
    chat: bool = False,
) -> Program:
    """Write chains and compare their nodes with passages until no node needs feedback,
    for at most `max_rounds`; then trace the correct path (SearChain Algorithm 1, Main).

    `verify`, `complete`: False turns this kind of feedback off (Table 1), and nodes
    that would need it pass; an unsolved node that passes has no answer to trace, but
    the final content is asked for in any case (ours: the paper leaves both open).
    `released`: follow the authors' program where it differs: chains are read by lines,
    an unsolved query is compared each time, an empty span agrees with every answer, and
    nothing is traced. `chat`: whether the model takes a chat; if so, and `released`, it
    is sent the program's wording and messages.
    """

    def check(node: Node, passage: Paragraph) -> str:  # a prompt, or "" for "Pass"
        if node.unsolved:  # whatever the reader's confidence (§3.3, Completion)
            return COMPLETION if complete else ""
        if long_form:  # §3.3, (2); the paper does not say which ROUGE
            agrees = rouge_l(node.answer, [passage.text]) > overlap
        elif released:  # as letters, so that an empty span agrees (released program)
            agrees = normalise_answer(node.found) in normalise_answer(node.answer)
        else:  # §3.3, (1); as whole words (ours)
            words = f" {as_compared(node.answer)} "
            agrees = bool(node.found) and f" {as_compared(node.found)} " in words
        doubted = node.confidence > confidence and not agrees  # f > θ, NotEqual
        return VERIFICATION if verify and doubted else ""

    read = read_released_chain if released else read_chain
    in_chat = released and chat
    tree = []  # Algorithm 1, T: the nodes of all chains
    chains = []
    passages = {}  # by id: those of nodes
    messages = []  # from the model and to it, in turn

    def ir(node: Node) -> Program:
        return compare_with_passage(node, passages, check)

    for round in range(1, max_rounds + 1):  # Algorithm 1, Main
        prompt = converse(prompts, question, messages, in_chat)
        messages.append((yield Generate(prompt, END, max_tokens)))
        chains.append(read(messages[-1], round))  # CoQ = ChainGenerate(Q, F)
        # F = Traverse(CoQ)
        node = yield from traverse(chains[-1].nodes, tree, ir, same, released)
        if node is None:  # F is "Finish"
            break
        messages.append(
            give_feedback(prompts, question, node, passages[node.passage], in_chat)
        )
    nodes = link(tree)
    thoughts = tuple(messages[::2])
    # Tracing(T, R) (§3.3), also if R is empty and no chain has a final content (ours);
    # the released program does not trace
    ended = any(chain.final for chain in chains)
    if not released and (any(node.mark for node in nodes) or not ended):
        messages.append(ask_to_trace(prompts, question, nodes))
        text = yield Generate(converse(prompts, question, messages), END, max_tokens)
        final = read_chain(text).final
        chains.append(Chain((), final, "" if final else "no final content"))
    answer, final, fault = conclude(chains, long_form)
    return Prediction(answer, tuple(passages.values()), thoughts, final, nodes, fault)


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
    max_tokens: int = 512,
) -> Program:  # 512: ours
    """Write one chain with all its answers; take its final content (SearChain §4.2,
    Figure 11).
    """
    text = yield Generate(prompts["without_ir"](question), END, max_tokens)
    chain = read_chain(text)
    answer, final, fault = conclude([chain], long_form)
    return Prediction(answer, (), (text,), final, link(chain.nodes, chain.nodes), fault)


def traverse(
    chain: Sequence[Node], tree: list[Node], ir: Callable, same: float, released: bool
) -> Program:
    """Add the nodes of a chain to the tree, and compare them with passages in order,
    except queries processed before. Return the first that needs feedback, else "Finish"
    (Algorithm 1, Traverse). `same`: the score above which a query counts as processed;
    if `released`, no unsolved one.
    """
    for number, node in enumerate(chain, start=1):  # "foreach (q_i, a_i) in CoQ"
        # M
        processed = tuple(dict.fromkeys(other.query for other in tree if other.passage))
        # "if not DuplicateQuery(q_i, M)"; a cross-encoder decides (released program)
        compared = processed and not (released and node.unsolved)
        if not (compared and (yield Duplicate(node.query, processed)) > same):
            node = yield from ir(node)  # F = IR(q_i, a_i)
        tree.append(node)  # M.add(q_i), if it has a passage
        if node.feedback:  # "if not F == Pass": the rest of the chain is not compared
            tree.extend(chain[number:])
            return node
    return None  # "Finish"


def compare_with_passage(node: Node, passages: dict, check: Callable) -> Program:
    """Retrieve the best passage for a node and extract an answer from it; return the
    node with both and its feedback, "" for "Pass" or if nothing is retrieved (Algorithm
    1, IR).
    """
    retrieved = yield Retrieve(node.query, 1)  # Top-1 document d_i
    if not retrieved:
        return node
    passages |= {passage.id: passage for passage in retrieved}
    passage = retrieved[-1]  # a question's main passage comes before it (IIRC)
    found, confidence = yield Extract(node.query, passage)  # g, f = Reader(q_i, d_i)
    node = replace(node, passage=passage.id, found=found, confidence=confidence)
    return replace(node, feedback=check(node, passage))


def recorded(node: Node) -> str:
    """The answer of a node on the correct path (Algorithm 1, R)."""
    # R.add: g after feedback, else a_i; also a_i if nothing was extracted (ours)
    return (node.feedback and node.found) or node.answer


def link(nodes: Sequence[Node], path: Sequence[Node] = ()) -> tuple[Node, ...]:
    """Link the nodes of all chains, in order, to the tree of reasoning (SearChain
    Figure 1; Algorithm 1, T): each gets the node it comes `after` and its `mark` on the
    correct path.

    `path`: the correct path, if not those that were compared with a passage and have an
    answer (Algorithm 1, R). Of nodes with equal queries the last counts, in the place
    of the first (ours: Algorithm 1 records both).
    """
    answered = [node for node in nodes if node.passage and recorded(node)]
    path = path or {as_compared(node.query): node for node in answered}.values()
    marks = {(node.round, node.number): mark for mark, node in enumerate(path, start=1)}
    linked = []
    # the place of the last node with feedback, root of the next chain (§3.3)
    branch = None
    for index, node in enumerate(nodes):
        # T.AddChild(CoQ): a new branch (§3.3)
        after = branch if node.number == 1 else index - 1
        linked.append(
            replace(node, after=after, mark=marks.get((node.round, node.number), 0))
        )
        branch = index if node.feedback else branch
    return tuple(linked)


def give_feedback(
    prompts: Prompts,
    question: Question,
    node: Node,
    passage: Paragraph,
    in_chat: bool = False,
) -> str:
    """The message about a node that needs feedback (SearChain §3.3), or in the
    program's words.
    """
    stage = node.feedback if node.found else "reference"  # names no answer (ours)
    write = prompts[f"released_{node.feedback}" if in_chat else stage]
    return write(
        question,
        query=node.query,
        found=node.found,
        reference=render_paragraph(passage),
    )


def ask_to_trace(prompts: Prompts, question: Question, nodes: Sequence[Node]) -> str:
    """The message that asks for a final content from the correct path (SearChain §3.3,
    Tracing).
    """
    path = sorted((node for node in nodes if node.mark), key=lambda node: node.mark)
    pairs = (
        f"[Query {n.mark}]: {n.query}\n[Answer {n.mark}]: {recorded(n)}" for n in path
    )
    return prompts["tracing"](question, pairs="\n".join(pairs))


def converse(
    prompts: Prompts, question: Question, messages: Sequence[str], in_chat: bool = False
) -> str | tuple[Message, ...]:
    """The prompt of a question with all messages so far, from the model and to it
    (released program), with the purpose of the last message. If that is too long, the
    first messages are left out (`packing.CUTS`); none of a chat. Differs from the
    released program: the lines of a chat's messages are not indented, and its examples
    are those of the stage "chain".
    """
    if in_chat:
        examples = prompts["chain"](question).rpartition(BETWEEN_DEMONSTRATIONS)[0]
        first = prompts["released"](question, examples=examples, asked=question.text)
        return Message("user", first), *map(
            Message, cycle(("assistant", "user")), messages
        )
    prompt = prompts["chain"](question, thoughts=["\n\n".join(messages)])
    purpose = getattr(messages[-1], "purpose", "") if messages else ""
    return with_purpose(prompt, purpose) if purpose else prompt


# How marks, such as [Query 1]:, are found (ours): two of these are enough: brackets, a
# colon, the start of a line; case and bold do not matter, and [Final Answer] means
# [Final Content].
NAMES = r"unsolved query|query|final (?:content|answer)|answer|question"
START = r"^[ \t]*(?:[-*#>]+[ \t]*|\d+[.)][ \t]+)?"
MARK = re.compile(rf"({START})?(\[?) ?({NAMES}) ?#?(\d*) ?(:?)(\]?)( ?:)?", re.I | re.M)
# copied from examples, as instructions are
KNOWN = r"If you (don['’]t |do not )?know the answer:"
COPIED = re.compile(rf"{KNOWN}|^[ \t]*Instruction:.*$", re.I | re.M)
CITATION = r"\[\d+(?: ?, ?\d+)*\]"
CITATIONS = re.compile(rf"{CITATION}(?: ?{CITATION})*")
QUOTED = re.compile(r'"[^"]*"|“[^”]*”')


class Chain(NamedTuple):
    """A chain of query: its nodes in order, its final content, and what could not be
    read.
    """

    nodes: tuple[Node, ...]
    final: str
    fault: str = ""


def read_chain(text: str, round: int = 1) -> Chain:
    """Read as much of a chain of query as can be read (SearChain §3.2, Figure 3); never
    raises.

    Text before the first mark is dropped; a text without marks is one final content. A
    query is one line, an answer ends at a blank line; the last final content counts. An
    answer belongs to the last query of its number that has no answer yet, else to the
    query right above it. A query without an answer is unsolved. An unsolved query that
    repeats the query above it is the same node, solved if an answer follows, as in the
    paper's examples; any other takes no answer. A [Question] below a query begins
    another example, so the rest is dropped, unless the final content follows directly
    (both as there).
    """
    queries, finals, faults = [], [], []
    pieces = split_at_marks(text)
    for at, (mark, number, words) in enumerate(pieces, start=1):
        if mark == "question":
            final_follows = at < len(pieces) and pieces[at][0].startswith("final")
            if finals or (queries and not final_follows):
                break
        elif mark.startswith("final"):  # [Final Content] (§3.3, Tracing)
            finals.append(words)
        elif mark == "answer":
            waiting = [query for query in queries if not (query.answer or query.closed)]
            named = [query for query in waiting if number and query.number == number]
            if taking := named or [query for query in waiting if query is queries[-1]]:
                taking[-1].answer = _bare(
                    " ".join(re.split(r"\n\s*\n", words)[0].split())
                )
            else:
                faults.append("an answer without a query")
        elif query := _bare(words.partition("\n")[0]):
            closed = mark == "unsolved query"
            above = queries[-1].text if queries and not queries[-1].answer else ""
            if not (closed and above and as_compared(above) == as_compared(query)):
                queries.append(
                    SimpleNamespace(text=query, number=number, closed=closed, answer="")
                )
        else:
            faults.append("a query without text")
    if not (queries or finals):
        finals = [text.strip()]
    faults += ["no query"] * (not queries)
    faults += ["no final content"] * (
        not any(finals) and all(query.answer for query in queries)
    )
    faults += ["more than one final content"] * (len(finals) > 1)
    numbered = enumerate(queries, start=1)
    nodes = tuple(Node(q.text, q.answer, round, n, not q.answer) for n, q in numbered)
    return Chain(nodes, (finals or [""])[-1], "; ".join(dict.fromkeys(faults)))


def read_released_chain(text: str, round: int = 1) -> Chain:
    """Read a chain as the released program does: a query is any line with "Query" and
    "]:", its answer the next line with "Answer", even another query's. Ours reads the
    final content too.
    """
    lines = text.split("\n")
    nodes = []
    for number, line in enumerate(lines, start=1):
        if "Query" in line and "]:" in line:  # released program
            mark, query = line.split("]")[:2]
            answer = next((below for below in lines[number:] if "Answer" in below), "")
            query, unsolved = query.removeprefix(":").strip(), "Unsolved" in mark
            nodes.append(Node(query, answer, round, len(nodes) + 1, unsolved))
    return Chain(tuple(nodes), read_chain(text).final)


def split_at_marks(text: str) -> list[tuple[str, str, str]]:
    """The marks in order: each in lower case, with its number or "" and the text up to
    the next.
    """
    text = COPIED.sub("", text.replace("**", ""))
    marks = [
        mark
        for mark in MARK.finditer(text)
        if (mark[1] is not None) + bool(mark[2] and mark[6]) + bool(mark[5] or mark[7])
        >= 2
    ]
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    found = zip(marks, ends, strict=False)
    return [
        (mark[3].lower(), mark[4], text[mark.end() : end].strip())
        for mark, end in found
    ]


def _bare(text: str) -> str:
    # without bold and, around the whole, quotation marks (Figure 20)
    text = text.strip("* \t")
    return text[1:-1].strip() if QUOTED.fullmatch(text) else text


def conclude(chains: Sequence[Chain], long_form: bool = False) -> tuple[str, str, str]:
    """The answer, the last final content, and what could not be read of a model's
    replies. The answer, without marks, is what follows "answer is", if that is there;
    in long form all of it.
    """
    final = next((chain.final for chain in reversed(chains) if chain.final), "")
    faults = [f"reply {n}: {c.fault}" for n, c in enumerate(chains, start=1) if c.fault]
    text = re.sub(rf" ?{CITATIONS.pattern}", "", final).strip()
    answer = None if long_form else answer_from_chain(text)
    return (text if answer is None else _bare(answer)), final, "; ".join(faults)


def citations(final: str) -> list[tuple[int, ...]]:
    """The marks in a final content: (1,) for [1], (1, 3) for [1][3] and [1, 3] (§3.3)."""
    return [
        tuple(map(int, re.findall(r"\d+", group))) for group in CITATIONS.findall(final)
    ]
