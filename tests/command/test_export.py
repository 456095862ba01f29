"""Runs taken out: TREC's files give our recall, official files our scores, and spans the trace.

docs/in_and_out.md says which scorers were run on such files. Here the files have what they read,
and are scored by our metrics, which test_metrics.py compares with theirs.
"""

import json
import re
from statistics import mean

import ir_measures
import pytest
from ir_measures import R
from ircotlib.results.exports import official, spans, trec
from openinference.semconv.trace import OpenInferenceSpanKindValues, SpanAttributes
from written import write_half

from ircot_laboratory.make import make_laboratory
from ircotlib import Run, all_systems, find_dataset, open_setup, read_parameters, replay, run_system
from ircotlib.__main__ import main
from ircotlib.command import export as command
from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.datasets.files import find_questions
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.files.paths import ROOT
from ircotlib.program import (
    Extract,
    Extracted,
    Message,
    NearestTitle,
    Outcome,
    Sample,
    Sampled,
    Step,
)

PLAYED = ["hotpotqa", "2wikimultihopqa", "musique", "strategyqa", "fever", "eli5", "iirc"]
S = all_systems()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """export(form) exports a run of IRCoT QA, or SearChain, on each data set; where they are."""
    folder = tmp_path_factory.mktemp("exported")
    small = make_laboratory(folder / "small", seed=5, size=600, questions=20)
    changes = {"data_dir": str(small), "dev": 0, "test": 5, "model": "simulated"}
    changes |= {"dials": {"knows": 0.2, "misreads": 0.2}}
    with pytest.MonkeyPatch.context() as patched:
        for module in (setup, backends, command):
            patched.setattr(module, "DATA", folder)
        p = read_parameters("mini", changes | {"datasets": PLAYED})
        runs = {}
        for dataset in PLAYED:
            bench = open_setup(p, dataset, "13_head_to_head")
            system = S["SearChain" if dataset == "musique" else "IRCoT QA"]
            setting = {"k": 2} if system.name == "IRCoT QA" else {}
            setting |= {"m": 1} if "m" in bench.grid(system) else {}
            scores = run_system(bench, system, **setting)
            runs[dataset] = Run(bench, system, "test", setting).folder, scores
        write_half(runs["musique"][0])

        def export(form):
            written = command.export([folder / "runs"], folder / form, form)
            assert len({*written}) == len(written) and all(path.is_file() for path in written)
            return folder / form / runs["iirc"][0].parts[-4]

        yield export, runs, small


def test_trec_files_give_our_recall(exported):
    export, runs, _ = exported
    folder = export("trec")
    checked = set()
    for dataset, (_, scores) in runs.items():
        [run] = (folder / dataset / "test").glob("*.run")
        if dataset in ("fever", "eli5"):
            assert not run.with_name("qrels").exists()  # no gold paragraphs
            continue
        qrels = ir_measures.read_trec_qrels(str(run.with_name("qrels")))
        found = ir_measures.read_trec_run(str(run))
        recall = ir_measures.calc_aggregate([R @ 1000], qrels, found)[R @ 1000]
        assert recall == pytest.approx(scores["recall"].mean(), abs=1e-12) and recall > 0.2
        checked.add(round(recall, 6))
    assert len(checked) > 2


def test_what_retrieved_nothing_counts_as_zero_and_ids_are_words(tmp_path):
    questions = [Question(id, "?", ("a",), gold, "x") for id, gold in
                 (("q 1", ("p%1", "Leo Garman-1")), ("q2", ("b",)), ("q3", ()))]  # fmt: skip
    collected = {"q 1": ("c", "Leo Garman-1", "c"), "q2": (), "q3": ("c",)}
    files = [tmp_path / name for name in ("qrels", "run")]
    files[0].write_text("".join(trec.qrels_lines(questions)))
    files[1].write_text("".join(trec.run_lines(collected, "OneR k=2")))
    assert files[1].read_text().splitlines() == [
        "q%201 Q0 c 1 2 OneR%20k=2",
        "q%201 Q0 Leo%20Garman-1 2 1 OneR%20k=2",
        "q3 Q0 c 1 1 OneR%20k=2",
    ]
    qrels, run = (
        ir_measures.read_trec_qrels(str(files[0])),
        ir_measures.read_trec_run(str(files[1])),
    )
    assert ir_measures.calc_aggregate([R @ 1000], qrels, run)[R @ 1000] == 0.25


def read(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [*map(json.loads, text.splitlines())]


def test_official_files_hold_what_the_scorers_read_and_give_our_scores(exported):
    export, runs, small = exported
    folder = export("official")
    for dataset, (_, scores) in runs.items():
        [path] = [f for f in (folder / dataset / "test").glob("*.json*") if f.stem != "gold"]
        predictions = read(path)
        record, own = find_dataset(dataset), scores.set_index("id")
        if dataset == "iirc":  # no official format was found
            assert predictions.keys() == set(own.index)
            continue
        gold = read(path.with_name(f"gold{find_questions(record, small).suffix}"))
        field = official.FORMATS[dataset][0]
        ids = [row[field] for row in gold]
        if dataset in ("hotpotqa", "2wikimultihopqa"):
            parts = ["answer", "sp"] + ["evidence"] * (dataset == "2wikimultihopqa")
            assert [*predictions] == parts and all([*predictions[p]] == ids for p in parts)
            answers = predictions["answer"]
        elif dataset == "musique":
            assert [row["id"] for row in predictions] == ids  # its scorer wants the same order
            answers = {row["id"]: row["predicted_answer"] for row in predictions}
            for row, asked in zip(predictions, gold, strict=True):
                support = {p["idx"] for p in asked["paragraphs"] if p["is_supporting"]}
                found = support & {*row["predicted_support_idxs"]}
                assert len(found) / len(support) == pytest.approx(own.loc[row["id"], "recall"])
        elif dataset == "strategyqa":
            right = [predictions[row["qid"]]["answer"] is row["answer"] for row in gold]
            assert mean(right) == own["accuracy"].mean() and 0 < mean(right)
            continue
        else:  # KILT's scorer: as many, exactly one answer, and not an empty one
            assert [row["id"] for row in predictions] == ids
            answers = {row["id"]: row["output"][0]["answer"] for row in predictions}
            assert all(
                len(row["output"]) == 1 and answers[row["id"]].strip() for row in predictions
            )
            if dataset == "fever":
                golds = {row["id"]: row["output"][0]["answer"] for row in gold}
                right = [answers[id] == golds[id] for id in ids]
                assert mean(right) == own["accuracy"].mean() > 0
                continue
        asked = {q.id: q for q, _ in record.read(find_questions(record, small))}
        for name, measure in record.scores.items():
            for id in ids:
                assert measure(answers[id], asked[id].answers) == own.loc[id, name]


def test_each_format_by_hand():
    record = {"id": "2hop__1", "paragraphs": [], "input": "Who?"}
    record["paragraphs"] = [{"title": t, "paragraph_text": f" {t} "} for t in "AB"]
    collected = [official.make_id("B", "B"), "7-0", "7-3"]
    one = official.OfficialAnswer("2hop__1", record, "Yes, it is SUPPORTS.", collected)
    none = one._replace(answer=" ")
    [row] = official.as_musique([one])
    assert row["predicted_support_idxs"] == [1] and row["predicted_answerable"] is True
    verdicts = official.as_strategyqa([one, none._replace(id="2")])
    assert [each["answer"] for each in verdicts.values()] == [True, None]
    assert verdicts["2hop__1"]["paragraphs"] == collected
    [kilt] = official.as_kilt([none])
    assert kilt["output"][0]["answer"] == "[no answer]" and kilt["input"] == "Who?"
    assert kilt["output"][0]["provenance"][-1] == {"wikipedia_id": "7"}
    assert official.as_fever([one])[0]["output"][0]["answer"] == "SUPPORTS"
    own = official.as_fever([each._replace(record={"id": 3, "claim": "x"}) for each in (one, none)])
    assert own[0] == {"id": 3, "predicted_label": "SUPPORTS", "predicted_evidence": []}
    assert own[1]["predicted_label"] == "NOT ENOUGH INFO"
    assert official.as_answers([one]) == {"2hop__1": one.answer}


NAMES = {value for name, value in vars(SpanAttributes).items() if name.isupper()}
KINDS = {kind.value for kind in OpenInferenceSpanKindValues}


def is_known(name: str) -> bool:
    """Whether an attribute is one of OpenInference's, or of an item in one of its lists."""
    return name in NAMES or name.split(".")[0] + "." + name.split(".")[1] in NAMES


def test_spans_are_those_of_the_replay(exported):
    export, runs, _ = exported
    folder = export("traces")
    for dataset in ("musique", "iirc"):
        run, _ = runs[dataset]
        [path] = (folder / dataset / "test").glob("*.spans.jsonl")
        of_trace = {}
        for span in read(path):
            of_trace.setdefault(span["context"]["trace_id"], []).append(span)
            assert span["span_kind"] in KINDS and all(map(is_known, span["attributes"]))
        outcomes = replay(run)
        assert len(of_trace) == len(outcomes) == 5
        for outcome, (root, *steps) in zip(outcomes.values(), of_trace.values(), strict=True):
            assert root["span_kind"] == "CHAIN" and root["parent_id"] is None
            assert root["attributes"]["output.value"] == outcome.result.answer
            kinds = {"Retrieve": "RETRIEVER", "NearestTitle": "RETRIEVER", "Generate": "LLM"}
            names = [type(step.request).__name__ for step in outcome.trace]
            assert [span["name"] for span in steps] == names
            assert [span["span_kind"] for span in steps] == [kinds.get(n, "TOOL") for n in names]
            assert {span["parent_id"] for span in steps} == {root["context"]["span_id"]}
            starts = [span["start_time"] for span in (root, *steps)]
            assert starts == sorted({*starts}) and steps[-1]["end_time"] == root["end_time"]
            for step, span in zip(outcome.trace, steps, strict=True):
                values = span["attributes"]
                if span["name"] == "Retrieve":
                    texts = [p.text for p in step.reply]
                    key = "retrieval.documents.{}.document.content"
                    assert [values[key.format(n)] for n in range(len(texts))] == texts
                if span["span_kind"] == "LLM":
                    assert values["llm.input_messages.0.message.content"] == step.request.prompt
                    assert values["llm.output_messages.0.message.content"] == step.reply
                    assert values["llm.token_count.completion"] == step.tokens


def test_spans_of_other_requests():
    page, chat = Paragraph("p", "Page", "text"), (Message("system", "s"), Message("user", "u"))
    replies = {
        Sample(chat, 2): (Sampled("x", -1.0), Sampled("y", None)),
        NearestTitle("pge"): ("Page",),
        Extract("q", page): Extracted("x", 1.5),
    }
    steps = [Step(request, reply, False, 3, 2) for request, reply in replies.items()]
    outcome = Outcome("q", Prediction("x"), tuple(steps))
    about = "S", "m", "run", spans.datetime(2026, 1, 2)
    _, sample, title, extract = spans.spans_of(
        Question("q", "?", ("x",), (), "own"), outcome, *about
    )
    values = sample["attributes"]
    assert values["llm.input_messages.0.message.role"] == "system"
    assert values["llm.output_messages.1.message.content"] == "y"
    assert json.loads(values["llm.invocation_parameters"])["n"] == 2
    assert title["attributes"]["retrieval.documents.0.document.id"] == "Page"
    assert json.loads(extract["attributes"]["output.value"]) == {"text": "x", "confidence": 1.5}


def test_the_commands_of_the_page_give_as_many_files_as_they_say(exported, capsys):
    export, runs, small = exported
    page = (ROOT / "docs" / "in_and_out.md").read_text(encoding="utf-8")
    given = re.findall(r"^    ircotlib (export .*)$", page, re.MULTILINE)
    assert [line.rpartition(" ")[2] for line in given] == [*command.FORMS]
    target = small.parent / "EXPORTED"
    for line in given:
        line = line.replace("data/runs/quick", str(small.parent / "runs"))
        assert main(line.replace("EXPORTED", str(target)).split()) == 0
    told = re.findall(r"EXPORTED: (\d+) files", capsys.readouterr().out)
    with_gold = len(PLAYED) - 2  # fever and eli5 have no gold paragraphs, iirc no gold file
    assert [*map(int, told)] == [len(PLAYED) + with_gold, 2 * len(PLAYED) - 1, len(PLAYED)]
    assert sum(path.is_file() for path in target.rglob("*")) == sum(map(int, told))


def test_what_is_not_there_is_told_in_one_line(exported, tmp_path, monkeypatch, capsys):
    _, runs, _ = exported
    monkeypatch.setattr(command, "DATA", tmp_path)  # an empty call cache
    told = []
    for source, form in ((tmp_path, "trec"), (runs["musique"][0], "traces")):
        status = main(["export", str(source), str(tmp_path / "out"), "--as", form])
        told.append((status, capsys.readouterr().err.strip().rpartition("\n")[2]))
    assert told[0] == (2, f"error: {tmp_path}: found no run.json, expected finished runs, as in "
                       "data/runs")  # fmt: skip
    assert told[1][0] == 1 and "requests without a reply in" in told[1][1]
    assert not (tmp_path / "out").exists()
