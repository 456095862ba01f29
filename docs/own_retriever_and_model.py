"""IRCoT and SearChain with a retriever and a model of your own: put yours in the three functions.

python docs/own_retriever_and_model.py
"""

from ircotlib import Paragraph, Question, all_systems, answer, read_parameters, setup_of_functions

PAGES = [
    Paragraph("p1", "Telemachus", "Telemachus is an album by Ann Lee."),
    Paragraph("p2", "Ann Lee", "Ann Lee is a singer who was born in Toronto."),
    Paragraph("p3", "Kelso", "Kelso is a river."),
]
CHAIN = ["Telemachus is by Ann Lee.", "Ann Lee was born in Toronto.", "So the answer is: Toronto."]
QUERY = "[Query 1]: Who made Telemachus? [Answer 1]: Ann Lee [Final Content]: the answer is Toronto"


def retrieve(query: str, k: int) -> list[Paragraph]:  # your retriever: the k best, best first
    return sorted(PAGES, key=lambda page: page.title in query, reverse=True)[:k]


def generate(prompt: str) -> str:  # your model: what it writes after a prompt
    return QUERY if "[Query" in prompt else " ".join(s for s in CHAIN if s not in prompt)


def extract(query: str, page: Paragraph) -> tuple[str, float]:  # your reader: answer, confidence
    return ("Ann Lee", 9.0) if "Ann Lee" in page.text else ("", 0.0)


# `codex` is how GPT3 is prompted; context_tokens is your model's window
p = read_parameters("mini", {"style": "codex", "context_tokens": 4000})
bench = setup_of_functions(p, retrieve, generate, extract)
question = Question("1", "Where was the singer of Telemachus born?", (), (), "musique")
for name in ("IRCoT QA", "SearChain"):
    system = all_systems()[name]
    outcome = answer(bench, system, question, **bench.choose(system, k=2, m=1))
    found = ", ".join(page.title for page in outcome.result.paragraphs)
    print(f"{name} read {found} and answers: {outcome.result.answer}")
