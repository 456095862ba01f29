"""What prompts showed and a model wrote; notices one that writes nothing, or always the same, and
questions about what it does not know.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from ircotlib.data import Question
from ircotlib.program import Generate, Outcome, Retrieve, Sample
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS

FEWEST = 8  # prompts; the same reply to fewer may be chance


def count_demonstrations(outcomes: Mapping[str, Outcome]) -> dict:
    """How many demonstrations the prompts of a run showed on average: all prompts, and the last one
    of each question, as `demonstrations` for run.json; {} if there were none.
    """
    shown = []  # by question
    for outcome in outcomes.values():
        requests = (step.request for step in outcome.trace)
        prompts = [request.prompt for request in requests if isinstance(request, Generate | Sample)]
        texts = [p if isinstance(p, str) else "".join(turn.text for turn in p) for p in prompts]
        shown.append([text.count(BETWEEN_DEMONSTRATIONS) for text in texts])
    if not (shown := list(filter(None, shown))):
        return {}
    means = {"all": mean(n for of_one in shown for n in of_one), "last": mean(n[-1] for n in shown)}
    return {"demonstrations": {name: round(value, 2) for name, value in means.items()}}


def count_texts(label: str, outcomes: Mapping[str, Outcome]) -> dict:
    """How many texts a model wrote for a run, how many of them are empty, and how many differ, as
    `texts` for run.json; {} if none were asked for. If all are empty, or the same for FEWEST
    prompts or more, stderr says so: the run ends as any other.
    """
    steps = [step for outcome in outcomes.values() for step in outcome.trace]
    replies = {s.request: s.reply for s in steps if isinstance(s.request, Generate | Sample)}
    texts = []
    for request, reply in replies.items():
        texts += [s.text for s in reply] if isinstance(request, Sample) else [reply]
    if not texts:
        return {}
    empty, different = sum(not text.strip() for text in texts), len(set(texts))
    prompts = len({request.prompt for request in replies})
    if empty == len(texts) or (different == 1 and prompts >= FEWEST):
        kind = "empty" if empty else f"the same, {texts[0]!r:.80}"
        advice = "check the model and, behind a server, whether it needs chat=true"
        report = f"{label}: all {len(texts)} texts of the model are {kind}; {advice}"
        print(report, file=sys.stderr, flush=True)
    return {"texts": {"written": len(texts), "empty": empty, "different": different}}


def find_unknown(question: Question, outcome: Outcome, model: object) -> str:
    """What of a question the system could not know: words that the model's tokenizer lacks, or all
    that retrieval looked for at first; "" if neither.
    """
    tokens = getattr(model, "tokens", None)  # a server's are not known
    if words := tokens.unknown_words(question.text) if tokens else []:
        return f"{Path(model.name).name} does not know the words {', '.join(words)}"
    searches = [step for step in outcome.trace if isinstance(step.request, Retrieve)]
    if searches and not searches[0].reply:
        return f"retrieval finds nothing for “{searches[0].request.query}”"
    return ""


def say_unknown(
    label: str, questions: Sequence[Question], outcomes: Mapping[str, Outcome], model: object
) -> None:
    """Say on stderr if most questions of a run have something unknown to the system."""
    told = [text for q in questions if (text := find_unknown(q, outcomes[q.id], model))]
    if 2 * len(told) > len(questions):
        count = f"{len(told)} of {len(questions)} questions are about what it does not know"
        print(f"{label}: {count}, such as: {told[0]}", file=sys.stderr, flush=True)
