"""Styles of prompting, and prompts: a template, demonstrations and a question, fitted
into a context window (IRCoT §3.1, §3.2, §4.1, App. G).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.errors import DataError
from ircotlib.program import SENTENCE, SENTENCE_OF_LINE, Prompt
from ircotlib.prompting.packing import ABOVE, DEMONSTRATION, Segment, fit, join
from ircotlib.prompting.templates import BETWEEN_PARAGRAPHS, Template, read_template

TITLE = "Wikipedia Title: "
BETWEEN_DEMONSTRATIONS = "\n\n\n"


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of models is prompted (IRCoT App. G); files have its name."""

    name: str
    context_tokens: int  # the window, for the prompt and what is generated (IRCoT §4.1)
    generation_tokens: int  # of output (released program)
    # the main passage is below other paragraphs (IIRC's prompts)
    passage_last: bool = False
    # where one ends; for GPT3 also at a line break (released program)
    sentence: str = SENTENCE
    demonstrated: bool = True  # whether prompts show demonstrations
    # the most tokens of one generation of SearChain's systems (ours)
    chain_tokens: int = 1000

    def template(self, stage: str) -> Template:
        """The template of a stage of IRCoT: "cot", "direct" or "titles"."""
        return read_template("ircot", stage, self.name)

    def arrange(self, main: Sequence, others: Sequence) -> list:
        """The main passage, if any, and the other paragraphs, in prompt order."""
        return [*others, *main] if self.passage_last else [*main, *others]


# windows: §4.1; tokens that they generate: released program
FLAN_T5 = Style("flan_t5", 6000, generation_tokens=200, passage_last=True)
GPT3 = Style("codex", 8000, generation_tokens=300, sentence=SENTENCE_OF_LINE)
# a small model that was trained on the formats of all systems and needs no
# demonstrations (ours); its longest training texts are a sentence of 52 tokens and a
# chain of queries of 146
AGENT = Style(
    "agent",
    1024,
    generation_tokens=80,
    sentence=SENTENCE_OF_LINE,
    demonstrated=False,
    chain_tokens=160,
)
STYLES = {style.name: style for style in (FLAN_T5, GPT3, AGENT)}
PLAIN = read_template("ircot", "cot")


def render_paragraph(paragraph: Paragraph, max_words: int | None = 350) -> str:
    """Title and text as a prompt shows them (IRCoT §3.1). The released program cuts
    retrieved texts to 350 words, at single spaces, and leaves those of demonstrations
    whole (None).
    """
    text = paragraph.text
    if max_words is not None:
        text = " ".join(text.split(" ")[:max_words])
    # a line break would begin another part
    title = " ".join(paragraph.title.splitlines())
    return f"{TITLE}{title}\n{text.strip()}"


def render_demonstration(shown: Demonstration | str, template: Template = PLAIN) -> str:
    """A demonstration with whole paragraphs (IRCoT §3.1), or a text as it is."""
    if isinstance(shown, str):
        return shown
    context = [
        Segment(render_paragraph(paragraph, None) + BETWEEN_PARAGRAPHS)
        for paragraph in shown.paragraphs
    ]
    return join(template.fill(context, shown.question, shown.answer)).rstrip()


@dataclass(frozen=True)
class PromptWriter:
    """Writes the prompt for one question: as many demonstrations as fit, then the test
    example (IRCoT §3.1, §3.2, §4.1). `purpose`: what the model does with it.

    If the test example alone is too long, pieces of it are dropped (`packing.CUTS`),
    never the template's words, the question or its main passage. `released`:
    demonstrations are dropped as by the authors' program. Differs from that program:
    lines are dropped down to this limit (there to the whole window), thoughts are
    dropped too, and demonstrations only from the front (for GPT-3 the program first
    drops some from the end when it reads the file).
    """

    demonstrations: Sequence[Demonstration | str]
    count_tokens: Callable[[str], int]
    template: Template = PLAIN
    max_prompt_tokens: int = FLAN_T5.context_tokens - FLAN_T5.generation_tokens
    arrange: Callable[[Sequence, Sequence], list] = GPT3.arrange
    released: bool = False
    purpose: str = ""

    def __call__(
        self,
        question: Question,
        paragraphs: Sequence[Paragraph] = (),
        thoughts: Sequence[str] = (),
        **fields: object,
    ) -> Prompt:
        """Write the prompt; the thoughts follow "A: ", joined by spaces."""
        segments = self._example(question, paragraphs, " ".join(thoughts), **fields)
        example = join(segments).rstrip()
        limit = self.max_prompt_tokens
        if self._count(example) <= limit:
            kept = self._with_demonstrations(Segment(example))
            return Prompt(join(kept), self.purpose, demonstrations=len(kept) - 1)
        # no demonstration fits: their program then drops the example's top lines, we by
        # CUTS
        fitting = fit(segments, limit, self._count)
        if fitting is None:
            raise DataError(
                f"question {question.id!r}: found more than {limit} tokens in main "
                "passage, question and template alone; raise context_tokens"
            )
        return Prompt(join(fitting).strip("\n").rstrip(), self.purpose)

    def _example(
        self, question: Question, paragraphs: Sequence[Paragraph], so_far: str, **fields
    ) -> list[Segment]:
        """The segments of the test example."""
        # IRCoT App. B: the main passage is always there, whatever was retrieved
        main = [] if question.passage is None else [question.passage]
        others = [other for other in paragraphs if other != question.passage]
        context = [
            Segment(
                render_paragraph(paragraph) + BETWEEN_PARAGRAPHS,
                kind="" if paragraph in main else ABOVE,
            )
            for paragraph in self.arrange(main, others)
        ]
        wording = self.template.ask(question.text, **fields)
        return self.template.fill(context, wording, so_far, **fields)

    def _with_demonstrations(self, example: Segment) -> list[Segment]:
        """As many demonstrations as fit, and the example (IRCoT §4.1): they are dropped
        from the front (released program).
        """
        parts = [*self._demonstrated, example]
        if not self.released:
            kept = fit(parts, self.max_prompt_tokens, self._count)
            assert kept is not None  # the example alone fits
            return kept
        # their program: below the limit, without the blank lines between parts
        total = self._count(example.text)
        total += sum(self._count(part.text.strip()) for part in parts[:-1])
        while len(parts) > 1 and total >= self.max_prompt_tokens:
            total -= self._count(parts.pop(0).text.strip())
        return parts

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return lru_cache(maxsize=1000)(self.count_tokens)

    @cached_property
    def _demonstrated(self) -> list[Segment]:
        texts = [render_demonstration(d, self.template) for d in self.demonstrations]
        return [Segment(text + BETWEEN_DEMONSTRATIONS, DEMONSTRATION) for text in texts]
