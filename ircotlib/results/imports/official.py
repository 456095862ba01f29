"""The folders of IRCoT's released program (github.com/StonyBrookNLP/ircot), and of its copies."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ircotlib.data import parse_json, read_text
from ircotlib.datasets import all_datasets
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import DataError
from ircotlib.program import SENTENCE, Generate, Retrieve, Step
from ircotlib.results.imports.outputs import NOT_STATED, Output, Outputs

PREDICTIONS = "prediction__*_to_*__*.json"
_NAMED = re.compile(r"prediction__(.+)_to_(.+?)__(.+)")
# the program's systems: the longer names first
SYSTEMS = {"ircot_qa": "IRCoT QA", "oner_qa": "OneR QA", "nor_qa": "NoR QA", "ircot": "IRCoT"}
SYSTEMS |= {"oner": "OneR", "nor": "NoR QA"}
_IN_NAME = {"k": r"bm25_retrieval_count__(\d+)", "m": r"distractor_count__(\d+)"}
_IN_NAME |= {"demonstration_set": r"prompt_set_(\d+)"}
_IN_CONFIG = {"k": r'bm25_retrieval_count = "?(\d+)', "m": r'distractor_count = "?(\d+)'}
_SETTLED = re.compile(r'"(?:model_name|engine)":\s*"([^"]+)"')
_PREDICTED = re.compile(r'"prediction_type":\s*"(\w+)"')  # answer, paras, titles, pids, real_pids
_WITHOUT = ("NoR QA",)  # retrieve nothing
_FINDS = ("IRCoT", "OneR")  # only retrieve


def read_official(folder: Path) -> Iterator[Outputs]:
    """The outputs in a folder, one for each file of predictions."""
    folder = Path(folder)
    for path in sorted(folder.glob(PREDICTIONS)):
        shown, dataset, split = _NAMED.fullmatch(path.stem).groups()
        read = partial(_read_beside, path)
        config = "".join(map(read_text, sorted(folder.glob(f"config__*_{split}.jsonnet"))))
        system, named_model, odd = read_name(folder.name, dataset)
        models = sorted({*_SETTLED.findall(config)})
        if models and not any(_same_model(named_model, model) for model in models):
            odd.append(f"its name says the model {named_model}, its configuration {models[0]}")
        predicted = _PREDICTED.search(config)
        predicted = predicted[1] if predicted else "titles" if system in _FINDS else "answer"
        answers = predicted in ("answer", "paras")  # else golds are of paragraphs, too
        golds = {id: _as_texts(gold) for id, gold in read("ground_truth").items()}
        predictions = read("prediction")
        odd += filter(None, [_find_repeated(path)])
        if golds and (odd_ids := golds.keys() ^ predictions.keys()):
            found = f"{len(odd_ids)} ids have a prediction or a gold answer only"
            odd.append(f"{found}, such as {min(odd_ids)}")
        chains = path.with_name(f"{path.stem}_chains.txt")
        if not answers and predicted != "titles" and not chains.exists():
            odd.append(f"it predicts {predicted} without chains: its paragraphs are not known")
        told = dict(read_chains(chains, predictions, system, config)) if chains.exists() else {}
        counts = path.with_name("stepNum.json")
        counts = parse_json(counts.read_bytes(), str(counts), "steps") if counts.exists() else {}
        outputs = []
        for id in predictions:
            output = told.get(id, Output(id, ""))
            said = {
                "prediction": _as_texts(predictions[id]),
                "answers": golds.get(id, ()) if answers else (),
            }
            said |= {"prediction": " ".join(said["prediction"]), "steps": output.steps}
            if predicted == "titles":
                pages = tuple(make_paragraph(title, "") for title in _as_texts(predictions[id]))
                said |= {"paragraphs": pages}
            said |= {} if answers else {"prediction": ""}
            if system in _WITHOUT:
                said |= {"paragraphs": ()}
            said["steps"] = counts.get(id, said["steps"])
            outputs.append(replace(output, **said))
        retrieved = [output.paragraphs for output in outputs if output.paragraphs is not None]
        if system not in _WITHOUT and retrieved and not any(retrieved):
            odd.append(f"all {len(retrieved)} lists of titles are empty: nothing was retrieved")
        committed = read("evaluation_metrics")
        yield Outputs(
            folder,
            system,
            dataset,
            outputs,
            model=(models or [named_model])[0],
            split=split,
            shown="" if shown == dataset else shown,
            reader="direct" if 'rc_qa_type = "direct"' in config else "cot",
            setting=read_setting(folder.name, config, system),
            committed={name: committed[name] for name in ("em", "f1") if name in committed},
            notes=odd,
        )


def _read_beside(path: Path, kind: str) -> dict:
    """A JSON object of another kind beside a file of predictions; {} if it is missing or empty."""
    other = path.with_name(path.name.replace("prediction", kind, 1))
    if not other.exists() or not other.stat().st_size:
        return {}
    value = parse_json(other.read_bytes(), str(other), "one JSON object")
    if not isinstance(value, dict):
        raise DataError(f"{other}: found a {type(value).__name__}, expected one JSON object by id")
    return value


def _find_repeated(path: Path) -> str:
    """That ids occur more than once in a JSON object, of which the last counts; else ""."""
    pairs = json.loads(path.read_bytes(), object_pairs_hook=list)
    twice = [id for id, count in Counter(id for id, _ in pairs).items() if count > 1]
    found = f"{len(twice)} ids occur more than once, such as {twice[0]}" if twice else ""
    return f"{found}: the last one counts" if found else ""


def _as_texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value if isinstance(value, list) else [value]))


def read_name(name: str, dataset: str) -> tuple[str, str, list[str]]:
    """The system and the model that a folder's name says, and what in it is not so. `dataset`:
    that of its files.
    """
    head = name.split("____")[0]
    prefix = next((prefix for prefix in SYSTEMS if head.startswith(f"{prefix}_")), "")
    rest = head.removeprefix(f"{prefix}_")
    named = [other for other in all_datasets() if f"_{other}_" in f"_{rest}_"]
    odd = (
        [] if dataset in named or not named else [f"its name says {named[0]}, its files {dataset}"]
    )
    for other in named:
        rest = f"_{rest}_".replace(f"_{other}_", "_").strip("_")
    model = rest if prefix else ""
    if not prefix:
        odd.append(f"its name says none of {', '.join(SYSTEMS)}: the system is called {head}")
    return SYSTEMS.get(prefix, head), model or NOT_STATED, odd


def _same_model(named: str, stated: str) -> bool:
    """Whether a folder's name may mean the model of its configuration: its first word is there."""
    first = re.match(r"[a-z]*", named.lower())[0]
    return named == NOT_STATED or first in stated.lower()


def read_setting(name: str, config: str, system: str) -> dict[str, int]:
    """K, M and the number of the demonstration set, from 0, in a folder's name, else in its
    configuration.
    """
    setting = {}
    for key, pattern in _IN_NAME.items():
        in_config = re.search(_IN_CONFIG[key], config) if key in _IN_CONFIG else None
        if number := re.search(pattern, name) or in_config:
            setting[key] = int(number[1]) - (key == "demonstration_set")
    return setting


def read_chains(
    path: Path, ids: Iterable[str], system: str, config: str
) -> Iterator[tuple[str, Output]]:
    """What the text file of chains says of each question. Titles are all that were collected up to
    a step, and sentences all that were written. The queries, which it does not have, are those of
    the configuration: the question, or the last sentence (IRCoT §3.1).
    """
    known = {*ids}
    blocks = {}
    before = ""
    for line in read_text(path).split("\n"):
        if not before and line in known:
            blocks[line] = block = []
        elif blocks:
            block.append(line)
        before = line
    by_sentence = "last_generated_sentence" in config or (not config and system != "OneR QA")
    for id, lines in blocks.items():
        yield id, _read_chain(id, lines[0], _entries(lines[1:]), by_sentence)


def _entries(lines: Iterable[str]) -> list[tuple[str, str]]:
    """The entries of a chain, by their letters; a text may have several lines."""
    entries = []
    for line in lines:
        if line[:3] in ("A: ", "Q: ", "S: "):
            entries.append((line[0], line[3:]))
        elif entries:
            entries[-1] = entries[-1][0], f"{entries[-1][1]}\n{line}"
    return [(letter, text.strip()) for letter, text in entries if text != "Exit? No."]


def _read_chain(id: str, question: str, entries: list, by_sentence: bool) -> Output:
    asked = [n for n, (letter, _) in enumerate(entries) if letter == "Q"]
    end = asked[0] if asked else len(entries)
    trace, thoughts, collected = [], [], {}
    retrieves, so_far = False, ""
    for n, (_, text) in enumerate(entries[:end]):
        titles = _read_list(text)
        if titles is None:
            sentence = text.removeprefix(so_far).strip()
            so_far = text
            thoughts.append(sentence)
            trace.append(Step(Generate("", SENTENCE), sentence, True))
        elif not any(title.startswith("pid___") for title in titles) and (titles or n + 1 < end):
            retrieves = True
            new = {title: make_paragraph(title, "") for title in titles if title not in collected}
            collected |= new
            query = thoughts[-1] if by_sentence and thoughts else question
            trace.append(Step(Retrieve(query, len(new)), tuple(new.values()), True))
    reading = entries[end + 1][1] if end + 1 < len(entries) else ""
    if reading.startswith('"'):
        try:
            reading = str(json.loads(reading))
        except ValueError:  # cut off: it stays as it is
            pass
    trace += [Step(Generate(""), reading, True)] if reading else []
    told = {"paragraphs": tuple(collected.values()) if retrieves else None}
    told |= {"thoughts": tuple(thoughts), "reading": reading, "trace": tuple(trace)}
    return Output(id, "", question.strip(), steps=len(thoughts), **told)


def _read_list(text: str) -> list[str] | None:
    """The texts in a JSON list; None for anything else: a sentence may begin with a bracket."""
    try:
        value = json.loads(text) if text.startswith("[") else None
    except ValueError:
        return None
    return value if isinstance(value, list) and all(isinstance(t, str) for t in value) else None
