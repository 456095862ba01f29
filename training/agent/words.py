"""The agent's tokenizer: a token for each word, line break, or mark of a format."""

import re
from collections.abc import Iterator
from functools import cache

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece
from transformers import PreTrainedTokenizerFast

from ircot_laboratory.questions.searchain import (
    CLAIM_THOUGHTS,
    MEETING,
    MEETING_THOUGHT,
)
from ircot_laboratory.world.relations import read_table
from ircotlib.datasets.searchain import ask_claim
from ircotlib.files import PROMPTS
from ircotlib.prompting.prompt import PromptWriter, read_template
from training.words import list_words, split_words

STYLE, WINDOW, WRITTEN = "agent", 1024, 200
# token -> the text that it stands for; a text before any other that it begins with
MARKS = {
    "WikipediaTitle": "Wikipedia Title:",
    "AreFollowUps": "Are follow up questions needed here:",
    "FollowUp": "Follow up:",
    "IntermediateAnswer": "Intermediate answer:",
    "FinalAnswerColon": "So the final answer is:",
    "FinalAnswer": "So the final answer is",
    "AnswerColon": "So the answer is:",
    "SoTheAnswer": "So the answer is",
    "ThereforeTheAnswer": "Therefore, the answer is",
    "TheAnswer": "The answer is",
    "BestChoice": "The best choice is",
    "StepByStep": "Let's think step by step.",
    "FirstAnswerThese": "To answer this question, first answer these:",
    "UnsolvedQuery": "[Unsolved Query]:",
    "FinalContent": "[Final Content]:",
    "QuestionMark": "[Question]:",
    "QueryMark": "[Query",
    "AnswerMark": "[Answer",
    "AccordingTo": "According to the Reference, the answer for",
    "ShouldBe": "should be",
    "SelectRetrieve": "(select) [retrieve_odqa]",
    "SelectRead": "(select) [multihop_titleqa]",
    "EndOfQuestions": "[EOQ]",
    "SearchResult": ")→",
    "WikiSearch": "[WikiSearch(",
    "SearchOpen": "Search[",
    "LookupOpen": "Lookup[",
    "FinishOpen": "Finish[",
    "JsonOpen": '["',
    "JsonNext": '", "',
    "JsonClose": '"]',
    "ToBeFound": "I need to find",
    "WeFind": "We need to find",
    "RightAnswer": "Which of these choices leads to the right answer?",
    "SearchQuery": "Search Query:",
    "Separator": "[SEP]",
    "OrRefutes": "(SUPPORTS or REFUTES)?",
    "IsItTrue": "Is it true that",
    "OrNo": "(Yes or No)",
    "FatherInLaw": "father-in-law",
    "Possessive": "'s",
}
BREAKS = {"‖": "\n\n", "|": "\n"}
WORDS = (
    "Yes No yes no SUPPORTS REFUTES unknown Similar Could not find Result No more"
    " results Invalid action Thought Action Observation Choice Summary Rationale Find"
    " Compare titles answer Titles Plan Solution First Second Third Fourth Fifth Sixth"
    " Seventh Eighth Then Finally QS QC A Q Answer Query Reference Does not say the"
    " page of look up know I it that this : , . ? ! ' - ( ) [ ] { } / \" # & ; = + →"
)


@cache
def make_agent_tokenizer() -> PreTrainedTokenizerFast:
    """Known words are decoded as they were, others are <unk>; a year is two tokens."""
    vocabulary = dict.fromkeys(["<pad>", "</s>", "<unk>", *BREAKS, *MARKS, *_words()])
    numbered = {word: number for number, word in enumerate(vocabulary)}
    model = WordPiece(numbered, unk_token="<unk>", continuing_subword_prefix="##")
    tokenizer = Tokenizer(model)
    marks = (MARKS | BREAKS).items()
    shorter = [normalizers.Replace(text, f" {token} ") for token, text in marks]
    tokenizer.normalizer = normalizers.Sequence(shorter)
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    tokenizer.decoder = decoders.Sequence([*_decoders()])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _decoders() -> Iterator:
    yield decoders.WordPiece(prefix="##", cleanup=False)
    yield decoders.Fuse()
    for token, text in MARKS.items():
        yield decoders.Replace(Regex(rf"\b{token}\b"), text)
    for token, text in BREAKS.items():
        yield decoders.Replace(Regex(rf" ?{re.escape(token)} ?"), text)
    yield decoders.Replace(Regex(r" (?=[.,?!:;)\]]|'s|\", \")"), "")
    yield decoders.Replace(Regex(r"(?<=[(\[]|\[\"|\", \") "), "")
    yield decoders.Replace(Regex(r" (?=\"\])"), "")
    yield decoders.Replace(Regex(r" ?/ ?"), " / ")


def _words() -> Iterator[str]:
    """All words of the encyclopedia and of the agent's prompts, in a fixed order."""
    paths = sorted(PROMPTS.glob("*/*.agent.txt"))
    templates = [path.read_text(encoding="utf-8") for path in paths]
    for text in (WORDS, *_table_texts(), *templates):
        yield from split_words(text)
    yield from list_words()


def _table_texts() -> Iterator[str]:
    """The wordings of the laboratory's versions of SearChain's data sets."""
    for table in ("verdicts", "explanations", "slots"):
        yield from (" ".join(row.values()) for row in read_table(table))
    yield from (MEETING, MEETING_THOUGHT, *CLAIM_THOUGHTS.values(), ask_claim("x"))


@cache
def open_prompt(system: str, stage: str) -> PromptWriter:
    """The prompt writer of a stage: the same as a setup opens for the agent."""
    template = read_template(system, stage, STYLE)
    return PromptWriter((), _count_long, template, WINDOW - WRITTEN)


def _count_long(text: str) -> int:
    """The tokens of a long text; an estimate for a short one, which always fits."""
    encode = make_agent_tokenizer().backend_tokenizer.encode
    return len(encode(text).ids) if len(text) > 2500 else len(text) // 4
