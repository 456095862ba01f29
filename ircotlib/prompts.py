"""Demonstrations, the template of a prompt, and packing into a context window (IRCoT §3.1, §3.2,
§4.1, App. G).

Wikipedia Title: <title>        paragraphs are joined by one blank line,
<text>                          demonstrations by two

Q: <question>
A: <chain of thought or answer>
"""

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.paths import PROMPTS

METADATA = re.compile(r"# METADATA:(.*)\n?")
TITLE = "Wikipedia Title: "
BETWEEN_PARAGRAPHS = "\n\n"
BETWEEN_DEMONSTRATIONS = "\n\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family of models is prompted: the instruction above each question (IRCoT App. G), and
    its window (IRCoT §4.1).

    `chain_of_thought`, `direct`: None where there is no instruction. `context_tokens` counts the
    prompt and `generation_tokens`, both in tokens of the model; the latter are from the released
    program, the paper is silent. `passage_last`: a question's main passage stands below the other
    paragraphs, not above them (released prompts of IIRC).
    """

    chain_of_thought: str | None = None
    direct: str | None = None
    context_tokens: int
    generation_tokens: int
    passage_last: bool = False

    @property
    def max_prompt_tokens(self) -> int:
        """What is left for the prompt."""
        return self.context_tokens - self.generation_tokens

    def arrange(self, main: Sequence, others: Sequence) -> list:
        """The main passage, if there is one, and the others, in their order in a prompt."""
        return [*others, *main] if self.passage_last else [*main, *others]


FLAN_T5 = Style(
    chain_of_thought="Answer the following question by reasoning step-by-step.",
    direct="Answer the following question.",
    context_tokens=6000,
    generation_tokens=200,
    passage_last=True,
)
GPT3 = Style(context_tokens=8000, generation_tokens=300)
STYLES = {"flan_t5": FLAN_T5, "codex": GPT3}  # as the authors' prompt files are named


def read_demonstrations(path: Path) -> list[Demonstration]:
    """Read a prompt file in the format of the authors' release (prompts/README.md), in its order,
    instructions removed.

    Raises ValueError with the file, the line where the demonstration starts, what was found and
    what was expected.
    """
    text = Path(path).read_text(encoding="utf-8-sig")
    heads = list(METADATA.finditer(text))
    first = heads[0].start() if heads else len(text)
    if not heads or text[:first].strip():
        raise ValueError(
            f"{path}, line 1: found {text[:first].strip()[:60]!r}, expected a line '# METADATA: {{\"qid\": ...}}' first"
        )
    demonstrations: dict[str, Demonstration] = {}
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        line = text.count("\n", 0, head.start()) + 1
        where = f"{path}, line {line}"
        found = _read_one(where, head[1], text[head.end() : end].strip())
        if found.id in demonstrations:
            raise ValueError(
                f"{where}: found the id {found.id!r} a second time, expected each id once in a file"
            )
        demonstrations[found.id] = found
    return list(demonstrations.values())


def _read_one(where: str, metadata: str, body: str) -> Demonstration:
    id = _read_id(where, metadata)
    if (marks := re.findall(r"^[QA]: ", body, re.MULTILINE)) != ["Q: ", "A: "]:
        expected = "one line that starts with 'Q: ' and below it one that starts with 'A: '"
        raise ValueError(
            f"{where}: found {marks or 'neither'} in demonstration {id!r}, expected {expected}"
        )
    context, question, answer = re.split(r"^Q: |\nA: ", body, flags=re.MULTILINE)
    instruction, _, rest = question.partition("\n")
    if rest and instruction in (FLAN_T5.chain_of_thought, FLAN_T5.direct):
        question = rest
    return Demonstration(id, _read_paragraphs(where, id, context.strip()), question, answer)


def _read_id(where: str, metadata: str) -> str:
    try:
        return str(json.loads(metadata)["qid"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        found = f"found {metadata.strip()!r} after '# METADATA:'"
        raise ValueError(
            f'{where}: {found}, expected a JSON object with "qid" ({error})'
        ) from error


def _read_paragraphs(where: str, id: str, context: str) -> tuple[Paragraph, ...]:
    if context and not context.startswith(TITLE):
        raise ValueError(
            f"{where}: found {context[:60]!r} at the top of demonstration {id!r}, expected {TITLE!r} or the question"
        )
    pieces = re.split(rf"\n\n(?={TITLE})", context) if context else []
    split = [piece.removeprefix(TITLE).partition("\n") for piece in pieces]
    return tuple(
        Paragraph(f"{id}/{number}", title, text)
        for number, (title, _, text) in enumerate(split, start=1)
    )


def choose_demonstrations(
    demonstrations: Sequence[Demonstration], ids: Sequence[str]
) -> list[Demonstration]:
    """Return the demonstrations with these ids, in the order of `ids`; raise ValueError when one is
    missing.
    """
    by_id = {demonstration.id: demonstration for demonstration in demonstrations}
    if missing := [id for id in ids if id not in by_id]:
        raise ValueError(
            f"found no demonstration with id {', '.join(missing)}, expected ids among these {len(by_id)}: {', '.join(by_id)}"
        )
    return [by_id[id] for id in ids]


def demonstration_sets(
    demonstrations: Sequence[Demonstration],
    dataset: str = "",
    *,
    folder: Path | None = None,
    seed: int = 0,
) -> list[list[Demonstration]]:
    """Choose the three demonstration sets of a data set, each in its order (IRCoT §4.1: 15 of 20
    annotated questions).

    For the paper's data sets they are the authors' own (prompts/demonstration_sets.json; of
    HotpotQA's 29 released demonstrations they use 20), unless `folder`, where the prompt files of
    all data sets lie, has a demonstration_sets.json of its own. For others 15 are drawn three
    times, or three quarters of fewer than 20; the draw depends on the seed and on which ids there
    are, not on their order. Raises ValueError when there is none, or when one of a fixed set is
    missing.
    """
    paths = [Path(place) / "demonstration_sets.json" for place in (folder, PROMPTS) if place]
    fixed = json.loads(next(path for path in paths if path.is_file()).read_text())
    if dataset in fixed:
        return [choose_demonstrations(demonstrations, ids) for ids in fixed[dataset]]
    ids = sorted(demonstration.id for demonstration in demonstrations)
    if not ids:
        raise ValueError("found no demonstrations, expected at least one to draw from")
    draw, size = random.Random(seed), min(15, max(1, len(ids) * 3 // 4))
    return [choose_demonstrations(demonstrations, draw.sample(ids, size)) for _ in range(3)]


def render_paragraph(paragraph: Paragraph, max_words: int | None = 350) -> str:
    """Return title and text as the prompt shows them (IRCoT §3.1), the text cut to 350 words
    (released program); None: not cut.

    Words are what stands between single spaces, so line breaks and double spaces stay as they are.
    """
    text = paragraph.text if max_words is None else " ".join(paragraph.text.split(" ")[:max_words])
    return f"{TITLE}{paragraph.title}\n{text.strip()}"


def render(
    paragraphs: Sequence[Paragraph],
    question: str,
    answer: str = "",
    instruction: str | None = None,
    max_words: int | None = 350,
) -> str:
    """Return paragraphs, question and the answer so far as one example of a prompt, right-stripped
    (IRCoT §3.1, App. G).
    """
    asked = f"{instruction}\n{question}" if instruction else question
    shown = [render_paragraph(paragraph, max_words) for paragraph in paragraphs]
    return BETWEEN_PARAGRAPHS.join([*shown, f"Q: {asked}\nA: {answer}"]).rstrip()


def render_demonstration(demonstration: Demonstration, instruction: str | None = None) -> str:
    """Return a demonstration as one example of a prompt; its paragraphs are shown whole (IRCoT
    §3.1).
    """
    return render(
        demonstration.paragraphs,
        demonstration.question,
        demonstration.answer,
        instruction,
        max_words=None,
    )


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
    two for each join, so the finished text is counted once more, and while it is too long another
    piece goes. `ending_tokens` <= `limit`.
    """
    first, total = 0, ending_tokens + sum(tokens for _, tokens in pieces)
    while total > limit:
        total -= pieces[first][1]
        first += 1
    while count_tokens(
        text := "".join([piece for piece, _ in pieces[first:]] + [ending])
    ) > limit and first < len(pieces):
        first += 1
    return text


@dataclass(frozen=True)
class Prompt:
    """Writes the prompt for one question: as many demonstrations as fit, then the test example
    (IRCoT §3.1, §3.2, §4.1).

    `instruction`: the line above each question, None for none. `count_tokens`: length of a text in
    tokens of the model. Demonstrations are dropped from the front; when the test example alone is
    too long, whole lines are dropped from its top, never the question or its main passage;
    ValueError when these and the thoughts alone are too long. `passage_last`: where the main
    passage, if it is among the paragraphs, stands: below the others, or above them (App. B).
    Differs from the released program: a prompt may be exactly as long as the limit (there one token
    less), lines are dropped down to `max_prompt_tokens` (there to the window without the
    generation), and for GPT-3 the program has already dropped demonstrations from the end when it
    reads the file.
    """

    demonstrations: Sequence[Demonstration]
    count_tokens: Callable[[str], int]
    instruction: str | None = None
    max_prompt_tokens: int = FLAN_T5.max_prompt_tokens
    passage_last: bool = False

    def __call__(
        self, question: Question, paragraphs: Sequence[Paragraph], thoughts: Sequence[str] = ()
    ) -> str:
        """Return the prompt; the thoughts stand after "A: ", joined by a space."""
        answer = " ".join(thoughts)
        passage = [paragraph for paragraph in paragraphs if paragraph == question.passage]
        others = [paragraph for paragraph in paragraphs if paragraph != question.passage]
        above, below = ([], passage) if self.passage_last else (passage, [])
        example = render([*above, *others, *below], question.text, answer, self.instruction)
        tokens = self.count_tokens(example)
        if tokens <= self.max_prompt_tokens:
            return pack(self._shown, example, tokens, self.max_prompt_tokens, self.count_tokens)
        beginning = "".join(render_paragraph(paragraph) + BETWEEN_PARAGRAPHS for paragraph in above)
        return self._cut(
            question.id, beginning, example, render(below, question.text, answer, self.instruction)
        )

    @cached_property
    def _shown(self) -> list[tuple[str, int]]:
        shown = (
            render_demonstration(demonstration, self.instruction)
            for demonstration in self.demonstrations
        )
        return self._counted(text + BETWEEN_DEMONSTRATIONS for text in shown)

    def _counted(self, texts: Iterable[str]) -> list[tuple[str, int]]:
        return [(text, self.count_tokens(text)) for text in texts]

    def _cut(self, id: str, beginning: str, example: str, ending: str) -> str:
        """The example without lines between its beginning and its ending, dropped from the top
        until it fits.
        """
        tokens, limit = self.count_tokens(beginning + ending), self.max_prompt_tokens
        if tokens > limit:
            alone = (
                "main passage, question and thoughts"
                if TITLE in beginning + ending
                else "question and thoughts"
            )
            raise ValueError(
                f"question {id!r}: found {tokens} tokens in {alone} alone, expected at most {limit}; raise max_prompt_tokens"
            )
        lines = self._counted(
            re.findall(r".*\n", example.removeprefix(beginning).removesuffix(ending))
        )
        return beginning + pack(
            lines, ending, tokens, limit, lambda text: self.count_tokens(beginning + text)
        ).lstrip("\n")
