"""Self-Ask: the model asks itself follow-up questions, and may search (Press 2023)."""

from dataclasses import replace

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve, Stop
from ircotlib.systems import Prompts, system

FOLLOW_UP, ANSWERED = "Follow up:", "Intermediate answer:"
FINAL, NEXT = "So the final answer is:", "\nQuestion:"


@system("Self-Ask w/o IR", ask="asks itself questions and answers them")
def self_ask(question: Question, *, prompts: Prompts, max_tokens: int = 256) -> Program:
    """Write follow-up questions, their answers and the final one in one go (Press 2023
    §3; 256: released program).
    """
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
    find none (Press 2023 §3). Differs from the program, which searches the web, not
    paragraphs.
    """
    text = ""
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order

    def write(stop: Stop) -> Program:
        prompt = prompts["ask"](question, thoughts=(text,))
        reply = yield Generate(prompt, stop, max_tokens)
        between = " " if not text or text.endswith(":") else "\n"
        return f"{text}{between}{reply}".rstrip()

    for _ in range(max_follow_ups):
        # stops before the answer (released program)
        text = yield from write((f"\n{ANSWERED}", NEXT))
        last_line = text.rpartition("\n")[2]
        query = last_line.partition(FOLLOW_UP)[2].strip()
        if not query:  # no follow-up question: no search is needed (released program)
            break
        passages = yield Retrieve(query, k)  # there a web search (released program)
        seen |= dict.fromkeys(passages)
        answer = ""
        if passages:  # the model reads them (ours: there the search engine answers)
            prompt = prompts["read"](replace(question, text=query), passages)
            reading = yield Generate(prompt, LINE, max_tokens=32)  # 32: ours
            answer = reading.removesuffix(".")
        text = f"{text}\n{ANSWERED}"
        if answer and answer.lower() != "unknown":
            text = f"{text} {answer}."  # released program
        else:  # the search found none: the model writes it (released program)
            text = yield from write((f"\n{FOLLOW_UP}", f"\n{FINAL}", NEXT))
    if FINAL not in text:  # the final answer is asked for (released program)
        text = f"{text}\n{FINAL}"
        text = yield from write(LINE)
    return replace(read_asking(text), paragraphs=tuple(seen))


def read_asking(text: str) -> Prediction:
    """The prediction of a text; its answer may have a colon (released program: not)."""
    text = text.strip()
    _, marker, below = text.rpartition(FINAL)
    if marker:  # to the end of its line
        answer = below.strip().partition("\n")[0]
    else:  # of the last line (released program)
        answer = text.rpartition("\n")[2].rpartition(":")[2]
    answer = answer.strip().removesuffix(".")  # released program
    fault = "" if marker and answer else "no final answer"
    return Prediction(answer, (), tuple(text.splitlines()), text, fault=fault)
