"""Styles of prompting, and prompts: a template, demonstrations and a question, fitted into a
context window (IRCoT §3.1, §3.2, §4.1, App. G).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.errors import DataError
from ircotlib.program import SENTENCE, SENTENCE_OF_LINE, Purposed, with_demonstrations
from ircotlib.prompting.packing import (
    ABOVE,
    DEMONSTRATION,
    Segment,
    fit,
    join,
    surely_fit,
    surely_fits,
)
from ircotlib.prompting.templates import BETWEEN_PARAGRAPHS, Template, read_template

TITLE = "Wikipedia Title: "
BETWEEN_DEMONSTRATIONS = "\n\n\n"


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of models is prompted (IRCoT App. G), and its context window (IRCoT §4.1).

    `name`: as in the names of prompt files. `context_tokens`: the window, in tokens of the model,
    for the prompt and `generation_tokens` of output (released program). `passage_last`: a
    question's main passage comes below the other paragraphs (released prompts of IIRC). `sentence`:
    where a sentence ends; for GPT3 also at a line break, even a leading one (released program).
    `demonstrated`: whether prompts show demonstrations. `chain_tokens`: the most tokens of one
    generation of SearChain's systems (ours).
    """

    name: str
    context_tokens: int
    generation_tokens: int
    passage_last: bool = False
    sentence: str = SENTENCE
    demonstrated: bool = True
    chain_tokens: int = 1000

    def template(self, stage: str) -> Template:
        """The template of a stage of IRCoT: "cot", "direct" or "titles"."""
        return read_template("ircot", stage, self.name)

    @property
    def chain_of_thought(self) -> str | None:
        """The instruction for a chain of thought (IRCoT App. G); None if there is none."""
        return self.template("cot").instruction

    @property
    def direct(self) -> str | None:
        """The instruction for a direct answer (IRCoT App. G); None if there is none."""
        return self.template("direct").instruction

    @property
    def max_prompt_tokens(self) -> int:
        """The tokens left for the prompt."""
        return self.context_tokens - self.generation_tokens

    def arrange(self, main: Sequence, others: Sequence) -> list:
        """The main passage, if there is one, and the other paragraphs, in prompt order."""
        return [*others, *main] if self.passage_last else [*main, *others]


FLAN_T5 = Style(
    "flan_t5",
    context_tokens=6000,  # §4.1
    generation_tokens=200,  # released program
    passage_last=True,
)
GPT3 = Style(
    "codex",
    context_tokens=8000,  # §4.1
    generation_tokens=300,  # released program
    sentence=SENTENCE_OF_LINE,
)
# a small model that was trained on the formats of all systems and needs no demonstrations (ours);
# its longest training texts are a sentence of 52 tokens and a chain of queries of 146
SHORT = {"context_tokens": 1024, "generation_tokens": 80, "chain_tokens": 160}
AGENT = Style("agent", sentence=SENTENCE_OF_LINE, demonstrated=False, **SHORT)
STYLES = {style.name: style for style in (FLAN_T5, GPT3, AGENT)}
PLAIN = read_template("ircot", "cot")


def render_paragraph(paragraph: Paragraph, max_words: int | None = 350) -> str:  # their program
    """Render title and text as the prompt shows them (IRCoT §3.1). The text is cut to `max_words`
    (released program: 350); None: not cut.

    Words are split at single spaces, so that line breaks and double spaces are kept.
    """
    # their program cuts what was retrieved, and leaves demonstrations whole
    text = paragraph.text if max_words is None else " ".join(paragraph.text.split(" ")[:max_words])
    title = " ".join(paragraph.title.splitlines())  # in one line, which begins no other part
    return f"{TITLE}{title}\n{text.strip()}"


def render(
    paragraphs: Sequence[Paragraph],
    wording: str,
    answer: str = "",
    template: Template = PLAIN,
    max_words: int | None = 350,
    /,
    **fields: object,
) -> str:
    """Render paragraphs, question and the answer so far as one example of a prompt, right-stripped
    (IRCoT §3.1, App. G). `fields`: values of the template's other fields.
    """
    context = [Segment(render_paragraph(p, max_words) + BETWEEN_PARAGRAPHS) for p in paragraphs]
    return join(template.fill(context, wording, answer, **fields)).rstrip()


def render_demonstration(demonstration: Demonstration | str, template: Template = PLAIN) -> str:
    """Render a demonstration as one example, with its paragraphs not cut (IRCoT §3.1). A text,
    which is what other systems have, is returned as it is.
    """
    if isinstance(demonstration, str):
        return demonstration
    content = demonstration.paragraphs, demonstration.question, demonstration.answer
    return render(*content, template, None)


@dataclass(frozen=True)
class Prompt:
    """Writes the prompt for one question: as many demonstrations as fit, then the test example
    (IRCoT §3.1, §3.2, §4.1).

    `count_tokens`: the length of a text in tokens of the model. Demonstrations are dropped from the
    front. If the test example alone is too long, pieces of it are dropped (`packing.CUTS`), never
    the template's words, the question or its main passage; ValueError if these alone are too long.
    `arrange`: the style's order of the main passage and the other paragraphs (App. B).
    `released`: demonstrations are dropped as by the authors' program, which adds up the tokens of
    the parts, without the blank lines between them, until they are fewer than the limit. Differs
    from that program: lines are dropped down to this limit (there to the whole window), thoughts
    are dropped too, and demonstrations only from the front (for GPT-3 the program first drops some
    from the end when it reads the file).
    """

    demonstrations: Sequence[Demonstration | str]
    count_tokens: Callable[[str], int]
    template: Template = PLAIN
    max_prompt_tokens: int = FLAN_T5.max_prompt_tokens
    arrange: Callable[[Sequence, Sequence], list] = GPT3.arrange
    released: bool = False

    def __call__(
        self,
        question: Question,
        paragraphs: Sequence[Paragraph] = (),
        thoughts: Sequence[str] = (),
        **fields: object,
    ) -> Purposed:
        """Write the prompt; the thoughts follow "A: ", joined by spaces. It says how many
        demonstrations it shows.
        """
        so_far = " ".join(thoughts)
        limit = self.max_prompt_tokens
        # IRCoT App. B: the main passage is always there, whatever was retrieved
        main = [] if question.passage is None else [question.passage]
        others = [paragraph for paragraph in paragraphs if paragraph != question.passage]
        context = [
            Segment(render_paragraph(p) + BETWEEN_PARAGRAPHS, "" if p in main else ABOVE)
            for p in self.arrange(main, others)
        ]
        wording = self.template.ask(question.text, **fields)
        segments = self.template.fill(context, wording, so_far, **fields)
        example = join(segments).rstrip()
        # paragraphs come again and again, so that their tokens are known; the whole is new
        if not self.demonstrations and (surely_fits(example, limit) or self._parts_fit(segments)):
            return Purposed(example)
        if self._count(example) <= limit:
            if self.released:
                return self._fit_as_released(example)
            # IRCoT §4.1: as many demonstrations as fit, dropped from the front (their program)
            fitting = fit([*self._demonstrated, Segment(example)], limit, self._count)
            return with_demonstrations(join(fitting), len(fitting) - 1)
        # no demonstration fits: their program then drops the example's top lines, we by CUTS
        fitting = fit(segments, limit, self._count)
        if fitting is None:
            kept = join([segment for segment in segments if not segment.kind])
            tokens = self._count(kept + so_far.split(" ")[-1])
            words = "main passage, question" if main else "question"
            found = f"found {tokens} tokens in {words} and words of the template alone"
            expected = f"expected at most {limit}; raise max_prompt_tokens"
            raise DataError(f"question {question.id!r}: {found}, {expected}")
        return Purposed(join(fitting).strip("\n").rstrip())

    def _fit_as_released(self, example: str) -> Purposed:
        # their program: the parts' own lengths, without the blank lines between, below the limit
        parts = [*(shown.text.strip() for shown in self._demonstrated), example]
        while len(parts) > 1 and sum(map(self._count, parts)) >= self.max_prompt_tokens:
            del parts[0]
        return with_demonstrations(BETWEEN_DEMONSTRATIONS.join(parts), len(parts) - 1)

    def _parts_fit(self, segments: Sequence[Segment]) -> bool:
        total = sum(self._count(segment.text) for segment in segments)
        return surely_fit(total, len(segments), self.max_prompt_tokens)

    @cached_property
    def _count(self) -> Callable[[str], int]:
        """Counts the tokens of a text; those of demonstrations, for example, once."""
        return lru_cache(maxsize=1000)(self.count_tokens)

    @cached_property
    def _demonstrated(self) -> list[Segment]:
        texts = (render_demonstration(shown, self.template) for shown in self.demonstrations)
        return [Segment(text + BETWEEN_DEMONSTRATIONS, DEMONSTRATION) for text in texts]
