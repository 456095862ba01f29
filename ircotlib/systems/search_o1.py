"""Search-o1: thoughts with searches, whose pages a second call reads (Li 2025)."""

from dataclasses import replace
from re import findall

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.systems import Prompts, system

QUERY, END_QUERY = "<|begin_search_query|>", "<|end_search_query|>"
RESULT, END_RESULT = "<|begin_search_result|>", "<|end_search_result|>"
READ, NONE = "**Final Information**", "No helpful information found."
LIMIT = "No search is left: go on without one."
AGAIN = "This was looked up before: its result stands above."


@system("Search-o1", reason="reasons and searches", read="reads what was found")
def search_o1(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 10,  # as all numbers here: released program
    max_searches: int = 10,  # with several hops
    max_turns: int = 15,
    max_tokens: int = 8192,  # of a turn (20,480 with QwQ)
) -> Program:
    """Go on with the text; what it searches is read for it, and put below it. Differs
    from the released program, which samples, and reads 3,000 letters of each web page.
    """
    text = ""
    found: dict[str, tuple[Paragraph, ...]] = {}  # by query
    for _ in range(max_turns):
        prompt = prompts["reason"](question, (), (text,))
        reply = yield Generate(prompt, (END_QUERY,), max_tokens)
        text += reply
        query = reply.rpartition(QUERY)[2].strip()
        if QUERY not in reply or not query:  # it is finished
            break
        result = AGAIN if len(found) < max_searches else LIMIT
        if query not in found and len(found) < max_searches:
            found[query] = yield Retrieve(query, k)
            asked = replace(question, text=query)
            prompt = prompts["read"](asked, found[query], steps=show_steps(text))
            read = yield Generate(prompt, max_tokens=max_tokens)  # Reason-in-Documents
            _, mark, information = read.rpartition(READ)
            result = (mark and " ".join(information.split())) or NONE
        text += f"{END_QUERY}\n\n{RESULT}{result}{END_RESULT}\n\n"
    answer = "".join(findall(r"\\boxed\{(?:\\text\{)?(.*?)\}", text)[-1:])  # the last
    pages = tuple(dict.fromkeys(page for each in found.values() for page in each))
    fault = "" if answer else "no boxed answer"
    return Prediction(answer, pages, tuple(text.splitlines()), reply, fault=fault)


def show_steps(text: str) -> str:
    """The first step, the last 3 (there 4, one empty), and those of searches."""
    lines = [line for line in f"{text}{END_QUERY}".splitlines() if line.strip()]
    steps = [f"Step {n}: {line}" for n, line in enumerate(lines, start=1)]
    between = [s if QUERY in s or RESULT in s else "..." for s in steps[1:-3]]
    once = [step for step, after in zip(between, [*between[1:], ""]) if step != after]
    return "\n\n".join([*steps[:1], *once, *steps[1:][-3:]])
