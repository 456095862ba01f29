"""Self-Ask: the model asks itself follow-up questions, and may search (Press 2023)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve, Stop
from ircotlib.systems import Prompts, system

FOLLOW_UP, ANSWERED = "Follow up:", "Intermediate answer:"
FINAL, NEXT = "So the final answer is:", "\nQuestion:"
BEGUN = " Yes.\nFollow up:"  # given to small models (released program)


@system("Self-Ask w/o IR", ask="asks itself questions and answers them")
def self_ask(
    question: Question,
    *,
    prompts: Prompts,
    begun: str = "",  # BEGUN: every question gets a follow-up question
    max_tokens: int = 256,  # released program
) -> Program:
    """Write follow-up questions, their answers and the final one in one go (Press 2023 §3)."""
    prompt = prompts["ask"](question, thoughts=(begun,))
    reply = yield Generate(prompt, stop=(NEXT,), max_tokens=max_tokens)
    return read_asking(_go_on(begun, reply))


@system(
    "Self-Ask",
    ask="asks itself the next question, or answers",
    read="answers it from the paragraphs",
)
def self_ask_with_search(
    question: Question,
    *,
    prompts: Prompts,
    begun: str = "",
    k: int = 1,  # paragraphs per follow-up question (ours)
    max_follow_ups: int = 8,  # ours; the released program has no cap
    max_tokens: int = 256,  # released program
) -> Program:
    """Search for the answer to each follow-up question; the model itself answers those for which
    the search finds none (Press 2023 §3, released program).

    Differs from the program: answers come from retrieved paragraphs, not from a web search engine.
    """
    text = begun
    paragraphs = ()

    def write(stop: Stop) -> Program:
        reply = yield Generate(prompts["ask"](question, thoughts=(text,)), stop, max_tokens)
        return _go_on(text, reply)

    for _ in range(max_follow_ups):
        text = yield from write((f"\n{ANSWERED}", NEXT))  # stops before the answer (program)
        # the last line is no follow-up question: no search is needed (released program)
        if not (query := text.rpartition("\n")[2].partition(FOLLOW_UP)[2].strip()):
            break
        passages = yield Retrieve(query, k)  # there a web search (released program)
        paragraphs += passages
        answer = ""
        if passages:  # the model reads them (ours: there the search engine answers)
            prompt = prompts["read"](replace(question, text=query), passages)
            answer = (yield Generate(prompt, stop=LINE, max_tokens=32)).removesuffix(".")  # ours
        answer = "" if answer.lower() == "unknown" else answer
        text = f"{text}\n{ANSWERED}" + (f" {answer}." if answer else "")  # released program
        if not answer:  # the search found none: the model writes it (released program)
            text = yield from write((f"\n{FOLLOW_UP}", f"\n{FINAL}", NEXT))
    if FINAL not in text:  # the final answer is asked for (released program)
        text = f"{text}\n{FINAL}"
        text = yield from write(LINE)
    return replace(read_asking(text), paragraphs=tuple(dict.fromkeys(paragraphs)))


def read_asking(text: str) -> Prediction:
    """The prediction of Self-Ask's text: its lines, and its final answer or, without one, the text
    after the last colon of the last line (released program).

    Differs from the program: a final answer may contain a colon.
    """
    text = text.strip()
    _, marker, below = text.rpartition(FINAL)
    if marker:  # to the end of its line
        answer = below.strip().partition("\n")[0]
    else:
        answer = text.rpartition("\n")[2].rpartition(":")[2]  # released program
    answer = answer.strip().removesuffix(".")  # released program
    fault = "" if marker and answer else "no final answer"
    return Prediction(answer, (), tuple(text.splitlines()), text, fault=fault)


def _go_on(text: str, reply: str) -> str:
    """Append a reply to the text: to an unfinished last line, or on a new line."""
    between = " " if not text or text.endswith(":") else "\n"
    return f"{text}{between}{reply}".rstrip()
