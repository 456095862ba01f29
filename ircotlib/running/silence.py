"""Notices a model that writes nothing, or always the same."""

import sys
from collections.abc import Mapping

from ircotlib.program import Generate, Outcome, Sample

FEWEST = 8  # prompts; the same reply to fewer may be chance


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
