"""Self-Ask: the model asks itself follow-up questions, and may search (Press 2023)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve, Stop
from ircotlib.systems import Prompts, system

FOLLOW_UP, ANSWERED = "Follow up:", "Intermediate answer:"
FINAL, NEXT = "So the final answer is:", "\nQuestion:"


@system("Self-Ask w/o IR", ask="asks itself questions and answers them")
def self_ask(question: Question, *, prompts: Prompts, max_tokens: int = 256) -> Program:
    """Write follow-up questions, their answers and the final one in one go (Press 2023
    §3).
    """
    # 256: released program
    text = yield Generate(prompts["ask"](question), (NEXT,), max_tokens)
    return read_asking(text)


@system(
    "Self-Ask",
    ask="asks itself the next question, or answers",
    read="answers it from the paragraphs",
)
def self_ask_with_search(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 1,  # paragraphs per follow-up question (ours)
    max_follow_ups: int = 8,  # ours; the released program has no cap
    max_tokens: int = 256,  # released program
) -> Program:
    """Search for the answer to each follow-up question; the model answers those that
    find none (Press 2023 §3). Differs from the program: it searches paragraphs, not the
    web.
    """
    text = ""
    paragraphs = ()

    def write(stop: Stop) -> Program:
        reply = yield Generate(
            prompts["ask"](question, thoughts=(text,)), stop, max_tokens
        )
        between = " " if not text or text.endswith(":") else "\n"  # else a new line
        return f"{text}{between}{reply}".rstrip()

    for _ in range(max_follow_ups):
        # stops before the answer (program)
        text = yield from write((f"\n{ANSWERED}", NEXT))
        # the last line is no follow-up question: no search is needed (released program)
        if not (query := text.rpartition("\n")[2].partition(FOLLOW_UP)[2].strip()):
            break
        passages = yield Retrieve(query, k)  # there a web search (released program)
        paragraphs += passages
        answer = ""
        if passages:  # the model reads them (ours: there the search engine answers)
            prompt = prompts["read"](replace(question, text=query), passages)
            # ours
            answer = (yield Generate(prompt, stop=LINE, max_tokens=32)).removesuffix(
                "."
            )
        answer = "" if answer.lower() == "unknown" else answer
        # released program
        text = f"{text}\n{ANSWERED}" + (f" {answer}." if answer else "")
        if not answer:  # the search found none: the model writes it (released program)
            text = yield from write((f"\n{FOLLOW_UP}", f"\n{FINAL}", NEXT))
    if FINAL not in text:  # the final answer is asked for (released program)
        text = f"{text}\n{FINAL}"
        text = yield from write(LINE)
    return replace(read_asking(text), paragraphs=tuple(dict.fromkeys(paragraphs)))


def read_asking(text: str) -> Prediction:
    """The prediction of Self-Ask's text; its final answer may contain a colon (there it
    cannot).
    """
    text = text.strip()
    _, marker, below = text.rpartition(FINAL)
    if marker:  # to the end of its line
        answer = below.strip().partition("\n")[0]
    else:
        # of the last line (program)
        answer = text.rpartition("\n")[2].rpartition(":")[2]
    answer = answer.strip().removesuffix(".")  # released program
    fault = "" if marker and answer else "no final answer"
    return Prediction(answer, (), tuple(text.splitlines()), text, fault=fault)
