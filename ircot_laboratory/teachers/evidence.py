"""Teaches stages that weigh evidence: Verify-and-Edit, InterAug, DSP."""

from ircot_laboratory.teachers.closed import accept_sentence, give, give_alone
from ircot_laboratory.teachers.mind import Mind, stated
from ircot_laboratory.teachers.play import Asked, Reply
from ircotlib.systems.verify_and_edit import ORDINALS


def order(mind: Mind, asked: Asked) -> str:
    """A chain in the form "First, ... Second, ...", with its answer; after an edited chain, only
    the answer.
    """
    if asked.thoughts:
        for n in range(len(mind.steps)):
            accept_sentence(mind, n, asked.so_far)
        return give(mind)
    mind.forget()
    said = [f"{word}, {text}" for word, text in zip(ORDINALS, mind.find_all(), strict=False)]
    return " ".join([*said, give(mind)])


def question(mind: Mind, asked: Asked) -> str:
    """The question that a sentence of the chain answers; for its conclusion, the whole question."""
    sentence = str(asked.fields["sentence"])
    if sentence not in mind.asked:
        mind.notes["follows"] = sentence
        return mind.riddle.text
    n, fact = mind.asked[sentence]
    text = mind.steps[n].question.replace(mind.steps[n].fact.subject, fact.subject)
    mind.asked[text] = n, fact
    return text


def edit(mind: Mind, asked: Asked) -> str:
    """The sentence, corrected by the evidence; a conclusion is left as it is."""
    if asked.question.text == mind.riddle.text and "follows" in mind.notes:
        return mind.notes["follows"]
    n, fact = mind.asked[asked.question.text]
    if mind.steps[n].after:
        mind.values[mind.steps[n].after[-1]] = fact.subject
    evidence = asked.fields["evidence"]
    found = [
        p
        for p in mind.notes["found"]
        if p.title == fact.subject and _holds(mind, p, fact, evidence)
    ]
    mind.find(n, found)
    return mind.say(n)


def _holds(mind: Mind, paragraph, fact, evidence: str) -> bool:
    value = stated(mind.library.passage(paragraph), fact)
    return value is not None and value in evidence


def read_evidence(mind: Mind, asked: Asked) -> Reply | str:
    """The answer from one paragraph: its value of the relation that the last step asks for, if that
    is the answer; otherwise the answer that follows from the paragraph and from memory.
    """
    mind.forget()
    paragraph = next(p for p in mind.notes["found"] if asked.fields["evidence"] in p.text)
    last = len(mind.steps) - 1
    if not mind.riddle.compared and mind.steps[last].answer == mind.riddle.answer:
        if mind.steps[last].after:
            mind.accept(mind.steps[last].after[-1], paragraph.title)
        if value := mind.is_stated(last, [paragraph]):
            mind.find(last, [paragraph])
            return value
        mind.forget()
    mind.find_all([paragraph])
    return give_alone(mind)


def search(mind: Mind, asked: Asked) -> str:
    """A rationale with what is known so far, and the query for the next step."""
    if not asked.paragraphs:
        mind.forget()
    said, n = _say_known(mind, asked)
    n = min(n, len(mind.steps) - 1)
    rationale = " ".join([*said, f"We need to find {mind.phrase(n)}."])
    return f"{rationale}\nSearch Query: {mind.ask(n)}"


def _say_known(mind: Mind, asked: Asked) -> tuple[list[str], int]:
    """The sentences of the steps before the first that is neither read nor known; their number."""
    said, paragraphs = [], asked.paragraphs
    for n in range(len(mind.steps)):
        if not (paragraphs and mind.find(n, paragraphs, guess=False)):
            return said, n
        said.append(mind.say(n))
    return said, len(mind.steps)


def predict(mind: Mind, asked: Asked) -> str:
    """A rationale from the summary and the paragraphs, and the answer."""
    mind.forget()
    summary = str(asked.fields.get("summary", ""))
    for n in range(len(mind.steps)):
        if not accept_sentence(mind, n, summary):
            mind.find(n, asked.paragraphs)
    said = [mind.say(n) for n in range(len(mind.steps))]
    conclusion, answer = mind.conclude()
    rationale = " ".join([*said, *([conclusion] if conclusion else [])])
    return f"{rationale}\nAnswer: {answer}"


STAGES = {
    "verify_and_edit/cot": order,
    "verify_and_edit/question": question,
    "verify_and_edit/answer": edit,
    "interaug/read": read_evidence,
    "dsp/search": search,
    "dsp/predict": predict,
}
