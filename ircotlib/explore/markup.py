"""Questions and steps as HTML, for notebooks, boxes and reports. All that models, queries and pages
say is escaped.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from ircotlib import program
from ircotlib.data import Node, Paragraph, Question
from ircotlib.explore.trace import COMPLETED, CORRECTED, FEEDBACK, KEPT, SILENT, WROTE, tell
from ircotlib.results.figures.palette import FOREST, PEACH, SKY
from ircotlib.systems.searchain import recorded
from ircotlib.text import escape

# what reading a passage did to an answer: in which colour it is shown, and what that means
MARKED = {
    KEPT: (FOREST, "kept: the passage agrees, or the reader is not sure"),
    CORRECTED: (PEACH, "corrected: the reader is sure of another answer"),
    COMPLETED: (SKY, "completed: the model did not know the answer"),
}
GOLD = "★ gold: the question needs this paragraph, as its data set says"
STYLE = Path(__file__).with_name("steps.css").read_text(encoding="utf-8") + "".join(
    f".ircot .{kind} {{ border-color: {color}; }}\n" for kind, (color, _) in MARKED.items()
)


def question_as_html(question: Question, gold: Iterable[Paragraph]) -> str:
    """A question with its gold answers and paragraphs."""
    first, *others = map(escape, question.answers)
    also = f" (also {', '.join(others)})" if others else ""
    lines = [f"<h3>{escape(question.text)}</h3>"]
    lines += [f"<p>gold answer: <b>{first}</b>{also} · {escape(question.kind)}</p>"]
    texts = [f"<b>{escape(page.title)}.</b> {escape(page.text)}" for page in gold]
    lines += [f"<p>★ gold paragraph: {text}</p>" for text in texts]
    return "\n".join(lines)


def as_preformatted(text: str) -> str:
    """A prompt, thoughts or paragraphs as they are."""
    return f"<pre>{escape(text)}</pre>"


def steps_as_html(
    trace: Sequence[program.Step],
    gold: Collection[str] = (),
    nodes: Collection[Node] = (),
    span: slice = slice(None),
    write: Callable[[str], str] = as_preformatted,
) -> str:
    """The steps of a trace, or those of a span, as a numbered list, each in the colour of its kind,
    with prompts, thoughts and paragraphs folded, and written by `write`. `gold`, `nodes`: as of
    `tell`. "" if there are none.
    """
    lines = []
    for step in trace[span]:
        words, parts, kind, _ = tell(step, gold, nodes)
        if kind == WROTE:
            first, *others = [
                f'<div class="said">{escape(text) or "–"}</div>' for text in parts or [""]
            ]
            back = first + (_fold(f"{len(others)} others", "".join(others)) if others else "")
        elif kind in SILENT:
            back = ""
        else:
            back = " → " + (" · ".join(map(escape, parts)) or "nothing")
        lines.append(f'<li class="{kind}"><em>{escape(words)}</em>{back}{_folds(step, write)}</li>')
    first = (span.start or 0) + 1
    return f'<ol start="{first}">{"".join(lines)}</ol>' if lines else ""


def _folds(step: program.Step, write: Callable[[str], str]) -> str:
    """The paragraphs, or the prompt and the thoughts of a step, folded."""
    prompt = getattr(step.request, "prompt", "")
    if not isinstance(prompt, str):
        prompt = "\n\n".join(f"{message.role}: {message.text}" for message in prompt)
    texts = {f"prompt, {step.prompt_tokens} tokens": prompt}
    texts |= {"thoughts": "\n\n".join(filter(None, step.thoughts))}
    if isinstance(step.request, program.Retrieve):
        pages = "\n\n".join(f"{page.title}\n{page.text}" for page in step.reply)
        count = len(step.reply)
        texts |= {f"{count} paragraph{'s' * (count > 1)}": pages}
    return "".join(_fold(name, write(text)) for name, text in texts.items() if text)


def _fold(name: str, content: str, state: str = "") -> str:
    return f"<details{state}><summary>{name}</summary>{content}</details>"


def tree_as_html(nodes: Sequence[Node]) -> str:
    """SearChain's tree of reasoning (Figure 1) as a list: each chain is below the node whose
    feedback it follows. "" if there are no nodes.
    """
    chains = {}  # the places of nodes, by that of the node that their chain follows
    root = None
    for place, node in enumerate(nodes):
        root = node.after if node.number == 1 else root
        chains.setdefault(root, []).append(place)

    def write(places: Sequence[int]) -> str:
        return f"<ul>{''.join(map(write_node, places))}</ul>" if places else ""

    def write_node(place: int) -> str:
        node = nodes[place]
        mark = f"[{node.mark}] " if node.mark else ""
        answer = escape(node.answer or "?")
        if (known := recorded(node)) != node.answer:
            answer = f"<s>{answer}</s> {escape(known)}"
        kind = FEEDBACK[node.feedback] if node.passage else ""  # "": not compared
        line = f'<span class="{kind}">{mark}{escape(node.query)} → {answer}</span>'
        return f"<li>{line}{write(chains.get(place, ()))}</li>"

    return write(chains.get(None, ()))


def fold_tree(nodes: Sequence[Node]) -> str:
    """SearChain's tree below a line that says what it is; "" if there are no nodes."""
    name = "tree of its chains, with [numbers] on the correct path"
    return _fold(name, tree_as_html(nodes), " open") if nodes else ""


def key_as_html(shown: str) -> str:
    """What stars and colours mean, as far as a page shows them; "" if it shows none."""
    marks = [f"<span>{GOLD}</span>"] if "★" in shown else []
    for kind, (_, meaning) in MARKED.items():
        marks += [f'<span class="{kind}">{meaning}</span>'] if f'class="{kind}"' in shown else []
    return f'<p class="key">{" ".join(marks)}</p>' if marks else ""


def outcomes_as_html(
    heads: Sequence[str], outcomes: Sequence[program.Outcome], gold: Collection[str] = ()
) -> str:
    """The steps of one or two systems below their heads, which are HTML, with SearChain's trees.
    Of two systems, steps that look up the same are in one row (`align`).
    """
    traces = [outcome.trace for outcome in outcomes]
    nodes = [outcome.result.nodes for outcome in outcomes]
    rows = [heads, list(map(fold_tree, nodes))]
    for spans in align(*traces, gold=gold) if len(traces) == 2 else [(slice(None),)]:
        steps = zip(traces, spans, nodes, strict=True)
        rows.append([steps_as_html(trace, gold, own, span) for trace, span, own in steps])
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows if any(row))
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def align(
    first: Sequence[program.Step], second: Sequence[program.Step], gold: Collection[str] = ()
) -> list[tuple[slice, slice]]:
    """The rows of two traces side by side, as places of steps in each. A row begins where something
    is looked up, or with the first step. Two traces share a row where both find the same gold
    paragraph anew or, without one, the same best paragraph.
    """
    (spans, keys), (other_spans, other_keys) = (_look_ups(t, gold) for t in (first, second))
    rows = []
    none = slice(0, 0)
    matches = SequenceMatcher(None, keys, other_keys, autojunk=False)
    for change, start, end, other_start, other_end in matches.get_opcodes():
        ours, theirs = spans[start:end], other_spans[other_start:other_end]
        if change == "equal":
            rows += zip(ours, theirs, strict=True)
        else:
            rows += [*((span, none) for span in ours), *((none, span) for span in theirs)]
    return rows


def rows_as_html(
    trace: Sequence[program.Step],
    gold: Collection[str],
    nodes: Collection[Node],
    write: Callable[[str], str],
) -> list[tuple[str, str]]:
    """The rows of one trace, to be aligned with those of any other: what each finds, and its steps
    as HTML. The arguments are those of `steps_as_html`.
    """
    rows = zip(*_look_ups(trace, gold), strict=True)
    return [(key, steps_as_html(trace, gold, nodes, span, write)) for span, key in rows]


def _look_ups(trace: Sequence[program.Step], gold: Collection[str]) -> tuple[list, list]:
    """The steps of a trace from one look-up to the next, and what each of these finds."""
    kinds = [type(step.request) for step in trace]
    looks = [kind in (program.Retrieve, program.NearestTitle) for kind in kinds]
    opens = [kind is program.NearestTitle for kind in (None, *kinds)]  # the step before
    starts = [0, *(n for n in range(len(trace)) if looks[n] and not opens[n])]
    spans = [slice(*ends) for ends in pairwise([*starts, len(trace)])]
    keys, seen = [], set()
    for span in spans:
        found = [p.id for s in trace[span] if type(s.request) is program.Retrieve for p in s.reply]
        new = [id for id in found if id in gold and id not in seen]
        asked = [tell(step).at for step in trace[span]]
        keys.append(next(iter([*new, *found, *asked]), ""))
        seen.update(found)
    return spans, keys


def answers_as_html(
    outcomes: Mapping[str, program.Outcome], gold: Collection[str] = (), notes: Iterable[str] = ()
) -> str:
    """What one or two systems, by name, did with a question, below their answers, ready to be
    shown. `notes`: lines above.
    """
    heads = []
    for name, outcome in outcomes.items():
        answer, fault = escape(outcome.result.answer) or "nothing", escape(outcome.result.fault)
        unparsed = f"<p>not parsed: {fault}</p>" if fault else ""
        heads.append(f"<h4>{escape(name)}</h4><p>answers <b>{answer}</b></p>{unparsed}")
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return ready(lines + outcomes_as_html(heads, [*outcomes.values()], gold))


def ready(page: str) -> str:
    """A page of these parts with its style and its key, for a notebook."""
    return f'<div class="ircot"><style>{STYLE}</style>{key_as_html(page)}{page}</div>'
