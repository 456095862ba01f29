"""IRCoT as other projects run it: one program, and what each project sets otherwise.

A row of REWRITES has the settings that differ from IRCoT QA's, whose prompts all use.
Differs from the projects, which have prompts of their own; "by score" is by best rank,
since requests give no scores; near duplicates are kept once; no reply ends the loop.
"""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, SENTENCE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, system
from ircotlib.systems.ircot import COT, M, collect
from ircotlib.text import answer_from_chain, gives_answer

# the next query: the first sentence of a reply (IRCoT §3.1), or all of the reply
ALONE, REPLY = "sentence", "reply"
AFTER_QUESTION, AFTER_THOUGHTS = "question+sentence", "question+thoughts"
# kept: the first found (IRCoT §3.1), the last, the last retrieval's, the best ranks'
FIRST, NEWEST, REPLACED = "first", "newest", "replaced"
BEST_FIRST, WORST_FIRST, NO_CAP = "best-first", "worst-first", 1000
# who answers: the reader (IRCoT §3.2), the chain (IRCoT App. F), its last thought, or
# what the model writes after the words that announce the answer, if it did not
READER, CHAIN, LAST_THOUGHT, FORCED = "reader", "chain", "last-thought", "forced"

QUERIES = {  # of the question and the thoughts so far
    **dict.fromkeys((ALONE, REPLY), lambda question, thoughts: thoughts[-1]),
    AFTER_QUESTION: lambda question, thoughts: f"{question} {thoughts[-1]}",
    AFTER_THOUGHTS: lambda question, thoughts: " ".join([question, *thoughts]),
}
BY_CHAIN = {"max_paragraphs": NO_CAP, "answer": CHAIN}
TEN_BEST = {"k": 10, "max_paragraphs": 10, "query": REPLY, "kept": BEST_FIRST}
LAST = {"search_last": True}
FLASHRAG = {"k": 5, "kept": WORST_FIRST, **BY_CHAIN, **LAST}
REWRITES: dict[str, dict] = {
    "FlashRAG IRCoT (2 rounds)": {"rounds": 2, **FLASHRAG},  # its class
    "FlashRAG IRCoT (5 rounds)": {"rounds": 5, **FLASHRAG},  # its example script
    # as it is meant: its second retrieval is never used; it has no limit (20: ours)
    "PyTerrier-RAG IRCoT": {"rounds": 20, "answer": LAST_THOUGHT, **TEN_BEST},
    "UltraRAG IRCoT": {"k": 5, "rounds": 3, **BY_CHAIN},  # k: ours
    # k, rounds: ours (its main.py: 200, of which the reader gets 5; two thoughts)
    "HippoRAG 2 IRCoT": {"rounds": 2, **TEN_BEST, **LAST, "k": 5, "max_paragraphs": 5},
    "AutoRAG-Research IRCoT": {"k": 4, "kept": NEWEST, **LAST},
    "GFM-RAG IRCoT": {"rounds": 2, **TEN_BEST, **LAST},  # rounds: its configuration
    "PIKE-RAG IRCoT": {"k": 4, "rounds": 5, "max_paragraphs": NO_CAP, "answer": FORCED},
    "s3 IRCoT": {"k": 3, "rounds": 4, "query": REPLY, "max_paragraphs": NO_CAP, **LAST},
    "FS-RAG": {"k": 3, "kept": REPLACED, **BY_CHAIN},  # rounds: ours
    "Memento IRCoT": {"k": 8, "rounds": 4, **BY_CHAIN},  # k: on MuSiQue
}


def rewritten(
    question: Question,
    *,
    prompts: Prompts,
    read,
    k: int = 4,  # tuned in IRCoT (§4.1)
    rounds: int = 8,  # thoughts at most (IRCoT §3.1, footnote 4)
    query: str = ALONE,
    kept: str = FIRST,
    max_paragraphs: int = 15,  # IRCoT footnote 5
    search_last: bool = False,  # whether the last thought searches, too
    answer: str = READER,
    max_tokens: int = 200,  # of one generation (IRCoT, released program)
    sentence: str = SENTENCE,
) -> Program:
    """IRCoT QA with these settings; with the defaults, IRCoT QA itself."""
    stop = LINE if query == REPLY else sentence
    found = [(yield Retrieve(question.text, k))]
    thoughts: list[str] = []
    while len(thoughts) < rounds:
        prompt = prompts["cot"](question, keep(found, kept, max_paragraphs), thoughts)
        thought = yield Generate(prompt, stop, max_tokens)
        thoughts += [thought] if thought else []
        if not thought or gives_answer(thought):
            break
        if search_last or len(thoughts) < rounds:
            found.append((yield Retrieve(QUERIES[query](question.text, thoughts), k)))
    paragraphs = keep(found, kept, max_paragraphs)
    text = reading = " ".join(thoughts)
    if answer == READER:
        given, reading = yield from read(question, paragraphs)
    elif answer == LAST_THOUGHT:
        given = "".join(thoughts[-1:])
    else:
        given = answer_from_chain(text)
    if given is None and answer == FORCED:
        prompt = prompts["cot"](question, paragraphs, [*thoughts, "So the answer is:"])
        given = yield Generate(prompt, LINE, max_tokens)
    given = text if given is None else given  # without an answer: all (IRCoT §3.2)
    return Prediction(given, paragraphs, tuple(thoughts), reading)


def keep(
    found: Sequence[Sequence[Paragraph]], kept: str, most: int
) -> tuple[Paragraph, ...]:
    """The paragraphs of all retrievals so far that the next prompt shows, in order."""
    shown: tuple[Paragraph, ...] = ()
    for retrieved in found[-1:] if kept == REPLACED else found:
        shown = collect(shown, retrieved, most if kept == FIRST else NO_CAP)
        if kept == NEWEST:  # what is dropped is new again when it is found again
            shown = shown[-most:]

    def rank(page: Paragraph) -> int:
        return min(each.index(page) for each in found if page in each)

    if kept in (BEST_FIRST, WORST_FIRST):  # of equal ranks, the earlier first
        shown = tuple(sorted(shown, key=rank))[:most]
    merged = kept == WORST_FIRST and len(found) > 1  # FlashRAG turns nothing before
    return shown[::-1] if merged else shown


def register(name: str, row: dict) -> None:
    @system(name, inner=rewritten, cot=COT, m=M)
    def rewrite(question: Question, **given) -> Program:
        return (yield from rewritten(question, **row | given))


for name, row in REWRITES.items():
    register(name, row)
