"""Templates, and packing a prompt into a context window (IRCoT §3.1, §3.2, §4.1, App. G).

A template is a file, prompts/<system>/<stage>.txt, with the fields {demonstrations}, {paragraphs},
{question} and {so_far}; <stage>.<style>.txt takes its place for a style of prompting that has one.
Each demonstration, and last the question asked, is written as what follows {demonstrations}:

Wikipedia Title: <title>        paragraphs are joined by one blank line,
<text>                          demonstrations by two

Q: <question>
A: <chain of thought or answer>
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.paths import PROMPTS
from ircotlib.program import SENTENCE, SENTENCE_OF_LINE

TITLE = "Wikipedia Title: "
BETWEEN_PARAGRAPHS = "\n\n"
BETWEEN_DEMONSTRATIONS = "\n\n\n"
JOIN = 4  # tokens that joining two texts adds at most, with a margin
WORDING = re.compile(r"^(?:Q: )?(.*\{question\}.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Template:
    """What a stage of a system shows the model.

    `above`: from {paragraphs} to "Q: ", and an instruction if there is one; `wording`: how the
    question is put, mostly "{question}"; `below`: from there to {so_far}.
    """

    above: str
    wording: str
    below: str

    @property
    def instruction(self) -> str | None:
        """The line above each question (IRCoT App. G); None: there is none."""
        return self.above.partition("Q: ")[2].rstrip("\n") or None

    def ask(self, question: str, **fields: object) -> str:
        """The question as this stage puts it; `fields`: others that the wording has."""
        return self.wording.format_map(_Braces(fields, question=question))

    def render(
        self, paragraphs: Sequence[str], asked: str, so_far: str = "", **fields: object
    ) -> str:
        """One example of a prompt, right-stripped: paragraphs, question and the answer so far;
        `fields`: what else the template has.
        """
        shown = "".join(paragraph + BETWEEN_PARAGRAPHS for paragraph in paragraphs)
        values = fields | {"paragraphs" + BETWEEN_PARAGRAPHS: shown, "so_far": so_far}
        above, below = (_fill(text, values) for text in (self.above, self.below))
        return (above + asked + below).rstrip()


def _fill(text: str, values: Mapping[str, object]) -> str:
    """A text with {name} replaced by its value, once: what a value holds is left as it is. The
    field {paragraphs} takes the blank line below it along.
    """

    def value(found: re.Match) -> str:
        name = found[1] + (found[2] if found[1] == "paragraphs" else "")
        rest = "" if found[1] == "paragraphs" else found[2]
        return str(values[name]) + rest if name in values else found[0]

    return re.sub(r"\{(\w+)\}((?:\n\n)?)", value, text)


@cache
def read_template(system: str, stage: str, style: str = "") -> Template:
    """The template of a stage of a system, for a style where there is one for it (prompts/)."""
    names = [f"{stage}.{style}.txt", f"{stage}.txt"]
    paths = [PROMPTS / system / name for name in names]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"no template {paths[-1]}: expected the text of stage {stage!r}")
    text = path.read_text(encoding="utf-8").strip("\n")
    example = text.removeprefix("{demonstrations}").lstrip("\n")
    wording = WORDING.search(example)
    if wording is None:
        raise ValueError(f"{path}: found no line with {{question}}, expected one")
    return Template(example[: wording.start(1)], wording[1], example[wording.end(1) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family of models is prompted (IRCoT App. G), and its window (IRCoT §4.1).

    `name`: as in the names of prompt files. `context_tokens` counts the prompt and
    `generation_tokens` (released program), in tokens of the model. `passage_last`: a question's
    main passage stands below the other paragraphs (released prompts of IIRC). `sentence`: where a
    sentence ends; GPT3's at a line break too, even one that stands first (released program).
    `demonstrated`: whether prompts show demonstrations. `chain_tokens`: the most that one
    generation of SearChain's systems may have (ours).
    """

    name: str
    context_tokens: int
    generation_tokens: int
    passage_last: bool = False
    sentence: str = SENTENCE
    demonstrated: bool = True
    chain_tokens: int = 512

    def template(self, stage: str) -> Template:
        """The template of a stage of IRCoT: "cot", "direct" or "titles"."""
        return read_template("ircot", stage, self.name)

    @property
    def chain_of_thought(self) -> str | None:
        """The instruction for a chain of thought (IRCoT App. G), if there is one."""
        return self.template("cot").instruction

    @property
    def direct(self) -> str | None:
        """The instruction for a direct answer (IRCoT App. G); None: there is none."""
        return self.template("direct").instruction

    @property
    def max_prompt_tokens(self) -> int:
        """What is left for the prompt."""
        return self.context_tokens - self.generation_tokens

    def arrange(self, main: Sequence, others: Sequence) -> list:
        """The main passage, if there is one, and the others, in their order in a prompt."""
        return [*others, *main] if self.passage_last else [*main, *others]


FLAN_T5 = Style(name="flan_t5", context_tokens=6000, generation_tokens=200, passage_last=True)
GPT3 = Style(name="codex", context_tokens=8000, generation_tokens=300, sentence=SENTENCE_OF_LINE)
# a small model that was taught the formats of all systems, and needs no demonstrations (ours)
AGENT = Style(
    name="agent",
    context_tokens=1024,
    generation_tokens=200,
    sentence=SENTENCE_OF_LINE,
    demonstrated=False,
    chain_tokens=200,
)
STYLES = {style.name: style for style in (FLAN_T5, GPT3, AGENT)}
PLAIN = read_template("ircot", "cot")


def render_paragraph(paragraph: Paragraph, max_words: int | None = 350) -> str:
    """Return title and text as the prompt shows them (IRCoT §3.1), the text cut to 350 words
    (released program); None: not cut.

    Words are what stands between single spaces, so line breaks and double spaces stay as they are.
    """
    text = paragraph.text if max_words is None else " ".join(paragraph.text.split(" ")[:max_words])
    return f"{TITLE}{paragraph.title}\n{text.strip()}"


def render(
    paragraphs: Sequence[Paragraph],
    asked: str,
    answer: str = "",
    template: Template = PLAIN,
    max_words: int | None = 350,
    **fields: object,
) -> str:
    """Return paragraphs, question and the answer so far as one example of a prompt, right-stripped
    (IRCoT §3.1, App. G); `fields`: what else the template has.
    """
    shown = [render_paragraph(paragraph, max_words) for paragraph in paragraphs]
    return template.render(shown, asked, answer, **fields)


def render_demonstration(demonstration: Demonstration | str, template: Template = PLAIN) -> str:
    """Return a demonstration as one example, its paragraphs shown whole (IRCoT §3.1); a text, as
    other systems have them, as it is.
    """
    if isinstance(demonstration, str):
        return demonstration
    shown = demonstration.paragraphs, demonstration.question, demonstration.answer
    return render(*shown, template, max_words=None)


def pack(
    pieces: Sequence[tuple[str, int]],
    ending: str,
    ending_tokens: int,
    limit: int,
    count_tokens: Callable[[str], int],
) -> str:
    """Join pieces and ending, pieces dropped from the front until all of it is at most `limit`
    tokens (released program).

    `pieces`: texts with their token counts. The counts are added up, which is exact to a token or
    two for each join; only where that could matter is the finished text counted, and while it is
    too long another piece goes. `ending_tokens` <= `limit`.
    """
    first, total = 0, ending_tokens + sum(tokens for _, tokens in pieces)
    while total > limit:
        total -= pieces[first][1]
        first += 1
    while first < len(pieces):
        text = "".join([piece for piece, _ in pieces[first:]] + [ending])
        if total + JOIN * (len(pieces) - first) <= limit or count_tokens(text) <= limit:
            return text
        total -= pieces[first][1]
        first += 1
    return ending


@dataclass(frozen=True)
class Prompt:
    """Writes the prompt for one question: as many demonstrations as fit, then the test example
    (IRCoT §3.1, §3.2, §4.1).

    `count_tokens`: length of a text in tokens of the model. Demonstrations are dropped from the
    front; when the test example alone is too long, whole lines are dropped from its top, never the
    question or its main passage; ValueError when these and the thoughts alone are too long. The
    main passage is always shown: below the other paragraphs if `passage_last`, else above (App. B).
    Differs from the released program: a prompt may be exactly as long as the limit (there one token
    less), lines are dropped down to `max_prompt_tokens` (there to the window without the
    generation), and for GPT-3 the program has already dropped demonstrations from the end when it
    reads the file.
    """

    demonstrations: Sequence[Demonstration | str]
    count_tokens: Callable[[str], int]
    template: Template = PLAIN
    max_prompt_tokens: int = FLAN_T5.max_prompt_tokens
    passage_last: bool = False

    def __call__(
        self,
        question: Question,
        paragraphs: Sequence[Paragraph] = (),
        thoughts: Sequence[str] = (),
        **fields: object,
    ) -> str:
        """Return the prompt; the thoughts stand after "A: ", joined by a space."""
        asked, answer = self.template.ask(question.text, **fields), " ".join(thoughts)
        passage = [] if question.passage is None else [question.passage]
        others = [paragraph for paragraph in paragraphs if paragraph != question.passage]
        above, below = ([], passage) if self.passage_last else (passage, [])
        example = render([*above, *others, *below], asked, answer, self.template, **fields)
        tokens = self.count_tokens(example)
        if tokens <= self.max_prompt_tokens:
            return pack(self._shown, example, tokens, self.max_prompt_tokens, self.count_tokens)
        beginning = "".join(render_paragraph(paragraph) + BETWEEN_PARAGRAPHS for paragraph in above)
        ending = render(below, asked, answer, self.template, **fields)
        return self._cut(question, beginning, example, ending)

    @cached_property
    def _shown(self) -> list[tuple[str, int]]:
        shown = (render_demonstration(one, self.template) for one in self.demonstrations)
        return self._counted(text + BETWEEN_DEMONSTRATIONS for text in shown)

    def _counted(self, texts: Iterable[str]) -> list[tuple[str, int]]:
        return [(text, self.count_tokens(text)) for text in texts]

    def _cut(self, question: Question, beginning: str, example: str, ending: str) -> str:
        """The example without lines between its beginning and its ending, dropped from the top
        until it fits.
        """
        tokens, limit = self.count_tokens(beginning + ending), self.max_prompt_tokens
        if tokens > limit:
            alone = "" if question.passage is None else "main passage, "
            found = f"found {tokens} tokens in {alone}question and thoughts alone"
            expected = f"expected at most {limit}; raise max_prompt_tokens"
            raise ValueError(f"question {question.id!r}: {found}, {expected}")
        middle = example.removeprefix(beginning).removesuffix(ending)
        lines = self._counted(re.findall(r".*\n", middle))

        def count(text: str) -> int:
            return self.count_tokens(beginning + text)

        return beginning + pack(lines, ending, tokens, limit, count).lstrip("\n")


class _Braces(dict):
    """Leaves fields that are not given as they are written."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
