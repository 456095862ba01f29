"""Teaches stages that weigh evidence: Verify-and-Edit, InterAug, DSP."""

from ircotlib.systems.verify_and_edit import ORDINALS
from training.teachers.closed import accept_sentence, answer_alone, give_answer
from training.teachers.mind import UNKNOWN, Mind, Reply, Situation


def verify_and_edit_cot(mind: Mind, situation: Situation) -> str:
    """A chain "First, ... Second, ..." and its answer; after an edit, the answer."""
    if situation.thoughts:
        for n in range(len(mind.steps)):
            accept_sentence(mind, n, situation.so_far)
        return give_answer(mind)
    numbered = zip(ORDINALS, mind.settle_all(), strict=False)
    sentences = [f"{ordinal}, {sentence}" for ordinal, sentence in numbered]
    return " ".join([*sentences, give_answer(mind)])


def verify_and_edit_question(mind: Mind, situation: Situation) -> str:
    """The question that a sentence answers; for a conclusion, the whole question."""
    sentence = situation.fields["sentence"]
    if sentence not in mind.worded:
        mind.notes["conclusion"] = sentence
        return mind.riddle.text
    n, fact = mind.worded[sentence]
    text = mind.relation(n).questions[0].format(x=fact.subject)
    mind.worded[text] = n, fact
    return text


def verify_and_edit_answer(mind: Mind, situation: Situation) -> Reply | str:
    """The sentence, corrected by the evidence. A conclusion is left as it is; a
    question that it does not recognise, such as one that has lost its form, it cannot
    answer. It is not knowable from which page a sentence of the evidence is that names
    nobody.
    """
    asked = situation.question.text
    if asked == mind.riddle.text and "conclusion" in mind.notes:
        return mind.notes["conclusion"]
    if asked not in mind.worded:
        return UNKNOWN
    n, fact = mind.worded[asked]
    if mind.steps[n].after:
        mind.values[mind.steps[n].after[-1]] = fact.subject
    evidence = situation.fields["evidence"]
    pages = [page for page in mind.retrieved if mind.shown(evidence, fact, page)]
    mind.settle(n, pages)
    named = [fact.subject in mind.shown(evidence, fact, page) for page in pages]
    return Reply(mind.say(n), knowable=all(named))


def interaug_read(mind: Mind, situation: Situation) -> Reply | str:
    """The answer from one paragraph and from memory, if they have all facts; otherwise
    the paragraph's value of the relation that the last step asks for, if that is the
    answer.
    """
    mind.forget()
    words = situation.fields["evidence"].split()
    retrieved = mind.retrieved
    paragraph = next(p for p in retrieved if p.text.split()[: len(words)] == words)
    if all(mind.settle(n, [paragraph], guess=False) for n in range(len(mind.steps))):
        return answer_alone(mind)
    mind.forget()
    last = len(mind.steps) - 1
    if not mind.riddle.compared and mind.steps[last].answer == mind.riddle.answer:
        if mind.steps[last].after:
            mind.accept(mind.steps[last].after[-1], paragraph.title)
        if value := mind.stated_value(last, [paragraph]):
            mind.settle(last, [paragraph])
            return value
    mind.settle_all([paragraph])
    return answer_alone(mind)


def dsp_search(mind: Mind, situation: Situation) -> str:
    """A rationale with what is known so far, and the query for the next step: the first
    one that is neither in the summary, nor read, nor known.
    """
    paragraphs = situation.paragraphs
    summary = situation.fields["summary"]
    sentences: list[str] = []
    if not paragraphs:
        mind.forget()
    while len(sentences) < len(mind.steps) and paragraphs:
        n = len(sentences)
        if not accept_sentence(mind, n, summary):
            if not mind.settle(n, paragraphs, guess=False):
                break
        sentences.append(mind.say(n))
    n = min(len(sentences), len(mind.steps) - 1)
    rationale = " ".join([*sentences, f"We need to find {mind.phrase(n)}."])
    return f"{rationale}\nSearch Query: {mind.ask(n)}"


def dsp_predict(mind: Mind, situation: Situation) -> str:
    """A rationale from the summary and the paragraphs, and the answer."""
    mind.forget()
    for n in range(len(mind.steps)):
        if not accept_sentence(mind, n, situation.fields["summary"]):
            mind.settle(n, situation.paragraphs)
    sentences = mind.say_all()
    conclusion, answer = mind.conclude()
    return f"{' '.join(filter(None, [*sentences, conclusion]))}\nAnswer: {answer}"
