"""ToolFormer: calls a search while it writes (Schick 2023; SearChain §4.1)."""

import re

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, system
from ircotlib.text import answer_from_chain

RESULT = "→"  # ends a call; its result and "]" follow (§2)
CALL = re.compile(r"\[WikiSearch\(([^\[]*)\)$")


@system("ToolFormer", write="writes, and may call a search")
def toolformer(
    question: Question,
    *,
    prompts: Prompts,
    max_calls: int = 1,  # per input (paper)
    k: int = 1,  # paragraphs of a result (ours; not in the paper)
    max_tokens: int = 200,  # ours
) -> Program:
    """Write until "[WikiSearch(query)→", insert the result and "]", and continue
    (ToolFormer §2). Differs from the paper: the model is prompted with examples, not
    trained (SearChain §4.1, footnote 2).
    """
    so_far = ""  # what the prompt ends with: the text, its calls and their results
    written = []  # the text without them
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    for calls in range(max_calls + 1):
        # at "→" the call is made; after the last one, the model writes to the end (§2)
        stop = (RESULT, "\n") if calls < max_calls else LINE
        prompt = prompts["write"](question, thoughts=(so_far,))
        text = yield Generate(prompt, stop, max_tokens)
        so_far = f"{so_far} {text}".strip()
        called = CALL.search(text)
        if called is None or calls == max_calls:  # one call an input (paper)
            written.append(text)
            break
        written.append(text[: called.start()].strip())
        paragraphs = yield Retrieve(called[1].strip(), k)
        seen |= dict.fromkeys(paragraphs)
        so_far += f"{RESULT} {' '.join(paragraph.text for paragraph in paragraphs)}]"
    chain = " ".join(text for text in written if text)
    answer = answer_from_chain(chain)
    fault = "" if answer else 'no "The answer is"'
    return Prediction(answer or chain, tuple(seen), (so_far,), chain, fault=fault)
