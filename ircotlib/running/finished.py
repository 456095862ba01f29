"""A finished run: what it was made with, what it cost, showed and wrote, for run.json; and what is
odd about it, for stderr.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from ircotlib.data import Question
from ircotlib.files.paths import PROMPTS, resolve
from ircotlib.files.plugins import list_records
from ircotlib.files.sources import hash_sources
from ircotlib.program import Generate, Outcome, Purposed, Retrieve, Sample, Step
from ircotlib.retrieval import find_retriever
from ircotlib.running.bench import Bench
from ircotlib.running.run import Run, installed

FEWEST = 8  # prompts; the same reply to fewer may be chance


class Finished(NamedTuple):
    """A run that was played. `outcomes`: by question id. `counts`: the costs by class of request
    (`scheduler.run`). `seconds`: that it took. `sources`: what it was begun with (`find_sources`).
    """

    run: Run
    outcomes: Mapping[str, Outcome]
    counts: Mapping[str, dict]
    seconds: float
    sources: str | None = None


def list_steps(outcomes: Mapping[str, Outcome]) -> list[Step]:
    """The steps of all questions."""
    return [step for outcome in outcomes.values() for step in outcome.trace]


def describe_finished(finished: Finished) -> dict:
    """The content of run.json: enough to find the run, to distinguish it from others, to replay it,
    and to know what it took.
    """
    about = describe_made_with(finished.run, finished.counts)
    if about["sources"] != finished.sources:
        about["sources"] = None  # edited while it was played
    about |= {"seconds": round(finished.seconds, 2), "oddities": find_oddities(finished)}
    about |= {"counts": finished.counts} | count_texts(finished.outcomes)
    about |= describe_stages(finished.outcomes)
    return about | find_cost(finished) | count_demonstrations(finished.outcomes)


def describe_made_with(run: Run, counts: Mapping[str, dict], look: Callable = hash_sources) -> dict:
    """All that decides what a run predicts, for run.json: parameters, setting, questions, backends,
    versions and sources. `counts`: what it cost, which says the backends that it used.
    """
    bench = run.bench
    about = run.identity | {"questions_hash": bench.questions_hash, "questions": len(run.questions)}
    about |= find_fingerprints(bench, counts) | installed()
    about |= {"index": describe_index(bench.retriever)}
    return about | {"sources": find_sources(run, look)}


def find_sources(run: Run, look: Callable = hash_sources) -> str | None:
    """A hash of the code and the prompts of a run; None also if the system, the data or the
    retriever are a plug-in's, whose code is not hashed. `look`: `hash_sources`, or one that looks
    at the files once for many runs, or at more code.
    """
    bench = run.bench
    used = run.system, bench.dataset, bench.shown, find_retriever(bench.parameters.retriever)
    if any(record is one for record in list_records() for one in used):
        return None
    return look(Path(resolve(bench.parameters.demonstrations) or PROMPTS))


def describe_index(retriever: object) -> dict:
    """What is searched, and how: the number of paragraphs, the fingerprint of the corpus, and the
    retriever's `constants`, as far as it states them (a plug-in's need not).
    """
    corpus = getattr(retriever, "corpus", None)
    of_corpus = {"paragraphs": len(corpus), "corpus": corpus.fingerprint} if corpus else {}
    return of_corpus | getattr(retriever, "constants", {})


def find_fingerprints(bench: Bench, counts: Mapping[str, dict]) -> dict:
    """The fingerprints of all backends that a run used, as its `counts` say."""
    prints = {"model_fingerprint": bench.model.fingerprint} if bench.model else {}
    prints |= {"retriever_fingerprint": bench.retriever.fingerprint}
    for kind, backend in (("Extract", bench.extractor), ("Duplicate", bench.duplicates)):
        if counts.get(kind, {}).get("requests"):
            prints |= {f"{kind.lower()}_fingerprint": backend.fingerprint}
    return prints


def find_cost(finished: Finished) -> dict:
    """What a run cost; empty for a model on this machine.

    In USD, None if the price is not known. `usd`: the cost of all tokens, including cached ones, so
    that a run costs the same whenever it is made; `paid`: of those computed this time.
    """
    bench = finished.run.bench
    price = bench.price
    if not bench.parameters.server:
        return {}
    steps = list_steps(finished.outcomes)
    now = [step for step in steps if not step.cached]
    now += list_paid_before(finished)
    usd = price and sum(price.of(step.prompt_tokens, step.tokens) for step in steps)
    paid = price and sum(price.of(step.prompt_tokens, step.tokens) for step in now)
    each = None if usd is None else usd / max(1, len(finished.outcomes))
    about = {"prices": price and [price.input, price.output]}
    return {"cost": {"usd": usd, "per_question": each, "paid": paid, **about}}


def list_paid_before(finished: Finished) -> list[Step]:
    """The steps, one for each request, that batch files were paid for in this process before the
    run was played from the cache, and that no other run has counted.
    """
    bench = finished.run.bench
    if not (bench.parameters.server and bench.parameters.batch):
        return []
    steps = list_steps(finished.outcomes)
    cached = {step.request: step for step in steps if step.cached and step.prompt_tokens}
    return [step for request, step in cached.items() if bench.model.was_paid(request)]


def describe_stages(outcomes: Mapping[str, Outcome]) -> dict:
    """How the model was asked at each stage, which is what it does there: the kind of request,
    where texts stop, their most tokens and, if they are drawn, how many at which temperature. Each
    has all values that occurred, in the order of the questions. {} if there were no prompts.
    """
    stages = {}
    for request in (step.request for step in list_steps(outcomes)):
        if isinstance(request, Generate | Sample) and isinstance(request.prompt, Purposed):
            asked = {"kind": type(request).__name__, "stop": request.stop}
            asked |= {"max_tokens": request.max_tokens}
            if isinstance(request, Sample):
                asked |= {"n": request.n, "temperature": request.temperature}
            stage = stages.setdefault(request.prompt.purpose, {})
            for name, value in asked.items():
                values = stage.setdefault(name, [])
                values += [] if value in values else [value]
    return {"stages": stages} if stages else {}


def count_demonstrations(outcomes: Mapping[str, Outcome]) -> dict:
    """How many demonstrations or examples the prompts of a run showed, as the prompts say: on
    average all prompts, and the last one of each question, there also at least and at most; and by
    stage, which is what the model does with them. {} if there were no prompts.
    """
    last, stages = [], {}
    for outcome in outcomes.values():
        requests = (step.request for step in outcome.trace)
        prompts = [request.prompt for request in requests if isinstance(request, Generate | Sample)]
        prompts = [prompt for prompt in prompts if isinstance(prompt, Purposed)]
        last += [prompt.demonstrations for prompt in prompts[-1:]]
        for prompt in prompts:
            stages.setdefault(prompt.purpose, []).append(prompt.demonstrations)
    if not stages:
        return {}
    by_stage = {
        stage: {"mean": round(mean(shown), 2), "least": min(shown), "most": max(shown)}
        for stage, shown in stages.items()
    }
    means = {"all": mean(n for shown in stages.values() for n in shown), "last": mean(last)}
    counts = {name: round(value, 2) for name, value in means.items()}
    counts |= {"last_least": min(last), "last_most": max(last)}
    return {"demonstrations": counts | {"stages": by_stage}}


def list_texts(outcomes: Mapping[str, Outcome]) -> dict[Generate | Sample, list[str]]:
    """The texts that the model wrote, by request."""
    texts = {}
    for step in list_steps(outcomes):
        if isinstance(step.request, Sample):
            texts[step.request] = [sampled.text for sampled in step.reply]
        elif isinstance(step.request, Generate):
            texts[step.request] = [step.reply]
    return texts


def count_texts(outcomes: Mapping[str, Outcome]) -> dict:
    """How many texts the model wrote, how many of them are empty, and how many differ; {} if none
    were asked for.
    """
    texts = [text for written in list_texts(outcomes).values() for text in written]
    empty = sum(not text.strip() for text in texts)
    counts = {"written": len(texts), "empty": empty, "different": len(set(texts))}
    return {"texts": counts} if texts else {}


def find_oddities(finished: Finished) -> list[str]:
    """What the user should know of a run that ended as any other, a line each: `find_silence`, and
    that most questions are about something unknown to the system.
    """
    odd = [silence] if (silence := find_silence(finished.outcomes)) else []
    questions = finished.run.questions
    model = finished.run.bench.model
    unknown = [find_unknown(q, finished.outcomes[q.id], model) for q in questions]
    told = list(filter(None, unknown))
    if 2 * len(told) > len(questions):
        count = f"{len(told)} of {len(questions)} questions are about what it does not know"
        odd.append(f"{count}, such as: {told[0]}")
    return odd


def find_silence(outcomes: Mapping[str, Outcome]) -> str:
    """That all texts of the model are empty, or the same for FEWEST prompts or more; else ""."""
    written = list_texts(outcomes)
    texts = [text for of_one in written.values() for text in of_one]
    prompts = {request.prompt for request in written}
    if any(text.strip() for text in texts) and (len(set(texts)) > 1 or len(prompts) < FEWEST):
        return ""
    if not texts:
        return ""
    kind = f"the same, {texts[0]!r:.80}" if texts[0].strip() else "empty"
    advice = "check the model and, behind a server, whether it needs chat=true"
    return f"all {len(texts)} texts of the model are {kind}; {advice}"


def find_unknown(question: Question, outcome: Outcome, model: object) -> str:
    """What of a question the system could not know: all that retrieval looked for at first, ""
    otherwise.
    """
    unknown = []
    searches = [step for step in outcome.trace if isinstance(step.request, Retrieve)]
    if searches and not searches[0].reply:
        unknown.append(f"no paragraph was found for “{searches[0].request.query}”")
    return "; ".join(unknown)
