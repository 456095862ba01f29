"""ReSP: retrieve, summarise, plan; the answer is read from summaries (Jiang 2024)."""

from dataclasses import replace

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Generate, Program, Retrieve
from ircotlib.systems import Prompts, system


@system(
    "ReSP",
    support="notes what supports the question",
    solve="notes whether and how the sub-question is answered",
    judge="says whether its notes answer the question",
    plan="asks the next sub-question",
    answer="answers from its notes",
)
def resp(
    question: Question,
    *,
    prompts: Prompts,
    k: int = 3,  # its paper
    rounds: int = 3,  # ours
    max_tokens: int = 200,  # of a note (ours)
) -> Program:
    """Note what supports the question, and how the notes answer each sub-question,
    until they answer the question; then answer from them alone.

    Differs from the paper in its wordings, which are ours; a sub-question that was
    asked before ends the loop.
    """
    asked: list[str] = []
    notes: list[str] = []  # what supports the question, and sub-questions' answers
    seen: dict[Paragraph, None] = {}  # all paragraphs, in order
    sub_question = question.text  # the first one is the question
    for number in range(1, rounds + 1):
        asked.append(sub_question)
        pages = yield Retrieve(sub_question, k)
        seen |= dict.fromkeys(pages)
        prompt = prompts["support"](question, pages)
        notes.append((yield Generate(prompt, LINE, max_tokens)))  # global evidence
        if number > 1:  # the first one is the question, which the judge answers
            part = replace(question, text=sub_question)
            prompt = prompts["solve"](part, notes="\n".join(notes))
            solved = yield Generate(prompt, LINE, max_tokens)  # local pathway
            notes.append(f"{sub_question} {solved}")
        if number == rounds:
            break
        memory = "\n".join(notes)
        enough = yield Generate(prompts["judge"](question, notes=memory), LINE, 5)
        if enough.lower().startswith("yes"):
            break
        prompt = prompts["plan"](question, notes=memory, asked="\n".join(asked))
        sub_question = yield Generate(prompt, LINE, max_tokens)
        if not sub_question or sub_question in asked:  # only one not asked before
            break
    prompt = prompts["answer"](question, notes="\n".join(notes))
    answer = yield Generate(prompt, LINE, max_tokens)
    fault = "" if answer else "no answer"
    return Prediction(answer, tuple(seen), tuple(notes), answer, fault=fault)
