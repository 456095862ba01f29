"""Questions, and what systems did with them, as HTML for notebooks, boxes and reports. All that
models, queries, pages and files say is text: question.html escapes it where it is written.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from ircotlib import program
from ircotlib.data import Node, Paragraph, Question
from ircotlib.explore.trace import FEEDBACK, tell
from ircotlib.systems.searchain import recorded

HERE = Path(__file__).parent
# its marks keep JupyterLab from reading formulas between two dollar signs
FRAME = Markup('<div class="ircot tex2jax_ignore mathjax_ignore"><style>{}</style>{}</div>')
STYLE = Markup((HERE / "question.css").read_text(encoding="utf-8"))


def question_as_html(question: Question, gold: Sequence[Paragraph]) -> Markup:
    """A question with its gold answers and paragraphs."""
    return WRITTEN.question(question.text, question.answers, question.kind, gold)


def answer_as_html(
    name: str, outcome: program.Outcome, gold: Collection[str] = (), facts: Sequence[str] = ()
) -> Markup:
    """A system's answer, SearChain's tree, and all steps with their prompts folded. A star marks
    paragraphs in `gold`. `facts`: more lines about the answer.
    """
    found = outcome.result
    facts = [*facts, found.fault and f"not parsed: {found.fault}"]
    return WRITTEN.answer(name, found.answer, facts, outcome.trace, found.nodes, gold)


def answers_as_html(outcomes: Mapping[str, program.Outcome], gold: Collection[str] = ()) -> Markup:
    """What systems, by name, did with a question, side by side, ready to be shown."""
    return side_by_side([answer_as_html(name, outcomes[name], gold) for name in outcomes])


def side_by_side(answers: Sequence[Markup], head: str = "") -> Markup:
    """HTML of answers in columns, below a head, with its style, for a notebook."""
    columns = Markup().join(Markup("<div>{}</div>").format(each) for each in answers)
    return FRAME.format(STYLE, head + Markup('<div class="columns">{}</div>').format(columns))


def chains(nodes: Sequence[Node], root: int | None = None) -> list[tuple[Node, list]]:
    """SearChain's tree of reasoning (Figure 1): the nodes of the chains that follow the feedback on
    one node (None: of the first chain), each with what follows it.
    """
    rows, start = [], None
    for place, node in enumerate(nodes):
        start = node.after if node.number == 1 else start
        if start == root:
            rows.append((node, chains(nodes, place)))
    return rows


def folded(step: program.Step) -> Iterator[tuple[str, str]]:
    """What of a step is folded away: the paragraphs that it found, or its prompt."""
    match step.request:
        case program.Retrieve() if step.reply:
            pages = "\n\n".join(f"{page.title}\n{page.text}" for page in step.reply)
            yield f"paragraphs: {len(step.reply)}", pages
        case program.Generate(prompt) | program.Sample(prompt):
            turns = prompt if isinstance(prompt, tuple) else ()
            text = "\n\n".join(f"{turn.role}: {turn.text}" for turn in turns) or prompt
            yield f"prompt, {step.prompt_tokens} tokens", text


PAGES = Environment(
    loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
PAGES.globals |= {"tell": tell, "feedback": FEEDBACK, "recorded": recorded}
PAGES.globals |= {"chains": chains, "folded": folded}
WRITTEN = PAGES.get_template("question.html").module
