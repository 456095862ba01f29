"""Examples of our own for every family of data sets: one pool of questions for all systems."""

import json
import re
from dataclasses import replace

import pytest
from ircotlib.experiment.checks import check_comparison
from ircotlib.experiment.needs import find_crowded
from replying import own_demonstrations

from ircotlib.data import Paragraph
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import UserError
from ircotlib.experiment import backends, bench
from ircotlib.experiment.compare import Comparison, compare_systems
from ircotlib.experiment.setup import name_bench, open_setup, program_of
from ircotlib.files.paths import PROMPTS
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, NearestTitle, Sample
from ircotlib.prompting.demonstrations import find_demonstrations, prompt_path, read_demonstrations
from ircotlib.systems import FOUR_EXAMPLES, SETS, all_systems, choose_systems
from ircotlib.systems.decomp import END, READ, RETRIEVE, read_call
from ircotlib.text import answer_from_chain

OWN = PROMPTS / "own"
NINE = "hotpotqa 2wikimultihopqa musique iirc strategyqa zsre trex fever eli5".split()
S = all_systems()
OF_PARTS = (
    "self_ask/read",
    "decomp/singlehop",
    "verify_and_edit/answer",
)  # their questions are parts


def pool(family):
    """The questions that systems show, in order, and those that only out of distribution are."""
    text = (OWN / f"questions.{family}.txt").read_text(encoding="utf-8")
    shown, _, others = text.partition("\n")[2].partition("# ")
    return shown.splitlines(), others.splitlines()[1:]


def asked(family, block):
    """The number of the pool's question that an example is about."""
    found = [n for n, question in enumerate(pool(family)[0]) if question in block]
    assert len(found) == 1, block
    return found[0]


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_every_system_shows_the_first_questions_of_the_pool(family):
    stages = 0
    for path in OWN.glob(f"*/*.{family}.txt"):
        system, stage = path.parent.name, path.name.split(".")[0]
        blocks = own_demonstrations(system, stage, family)
        if f"{system}/{stage}" in OF_PARTS:
            continue
        numbers = [asked(family, block) for block in blocks]
        assert numbers[:8] == [*range(len(blocks[:8]))] and numbers == sorted({*numbers}), path
        stages += 1
    assert stages >= 20
    shown = read_demonstrations(OWN / family / "demonstrations.txt")
    assert [example.question for example in shown] == pool(family)[0][: len(shown)]
    assert [example.id for example in shown] == [f"own-{n + 1}" for n in range(len(shown))]


def test_no_demonstration_of_a_single_data_set_is_outside_the_pool():
    questions = []
    for dataset in ("hotpotqa", "2wikimultihopqa", "musique"):
        assert prompt_path(OWN, dataset, "cot", "codex", 1).parent.name == dataset
        assert prompt_path(OWN, dataset, "cot", "codex", 1, "multihop").parent.name == "multihop"
        shown = read_demonstrations(OWN / dataset / "demonstrations.txt")
        questions += [example.question for example in shown]
    assert questions == pool("multihop")[1] and not {*questions} & {*pool("multihop")[0]}


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_the_same_question_has_the_same_answer_everywhere(family):
    answers = {}
    for block in own_demonstrations("dsp", "demonstrate", family):
        question, answer = re.findall(r"^(?:Question|Answer): (.+)$", block, re.MULTILINE)
        answers[question] = answer.removesuffix(".").lower()
    others = {}
    for example in read_demonstrations(OWN / family / "demonstrations.txt"):
        others[example.question] = answer_from_chain(example.answer)
    for block in own_demonstrations("interaug", "read", family):
        question, answer = re.findall(r"^(?:Question|Answer): (.+)$", block, re.MULTILINE)
        assert others.get(question, answer).lower() == answer.removesuffix(".").lower()
        others[question] = answer
    for block in own_demonstrations("decomp", "decompose", family):
        [last] = json.loads(re.findall(r"^A: (.+)$", block, re.MULTILINE)[-1])
        question = pool(family)[0][asked(family, block)]
        assert others.setdefault(question, last).lower() == last.lower()
    assert len({*answers} & {*others}) >= 2
    for question in {*answers} & {*others}:
        assert others[question].removesuffix(".").lower() == answers[question]


@pytest.mark.parametrize("family", FOUR_EXAMPLES)
def test_decomps_examples_are_calls_that_its_program_reads(family):
    asked_alone = {}
    for block in own_demonstrations("decomp", "decompose", family):
        *calls, (end, none) = re.findall(r"^QS: (.+)(?:\nA: (.+))?$", block, re.MULTILINE)
        titles = []
        for call, reply in calls[:-1]:
            module, question, _ = read_call(call)
            found = json.loads(reply)
            assert module == RETRIEVE and len(found["titles"]) >= 1 <= len(found["answer"])
            asked_alone[question] = found["answer"]
            titles += found["titles"]
        question = pool(family)[0][asked(family, block)]
        assert read_call(calls[-1][0]) == (READ, question, list(dict.fromkeys(titles)))
        assert (end, none) == (END, "")
    for block in own_demonstrations("decomp", "singlehop", family):
        question, answer = re.search(r"^Q: (.+)\nA: (.+)$", block, re.MULTILINE).groups()
        assert block.count("Wikipedia Title: ") == 2
        if answer.startswith("["):
            assert json.loads(answer) == asked_alone.get(question, json.loads(answer))


@pytest.fixture
def parameters(tmp_path, monkeypatch, laboratory):
    """A model that was taught no formats, prompted as GPT3 was, on all data sets."""
    monkeypatch.setattr(bench, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": NINE, "agent": ""}
    changes |= {"model": "data/models/mini-causal", "style": "codex", "context_tokens": 12_000}
    changes |= {"distractors": [1], "oner_k": [5], "ircot_k": [2], "decomp_k": [2]}
    return read_parameters(
        "mini",
        changes | {"demonstrations": "prompts/own", "interaug_k": [2], "most_demonstrations": 16},
    )


def first_prompt(opened, system, setting):
    """The first prompt that a system writes for a question, whatever it asks for before."""
    program = program_of(opened, system, **setting)(opened.test[0])
    request = next(program)
    while not isinstance(request, Generate | Sample):
        paragraphs = tuple(Paragraph(f"p{n}", f"Page {n}", "A page.") for n in range(2))
        request = program.send(("Page 0",) if isinstance(request, NearestTitle) else paragraphs)
    return request.prompt


@pytest.mark.parametrize("dataset", NINE)
def test_every_system_starts_with_its_examples_on_every_data_set(parameters, dataset):
    """The programs of DSP and Auto-CoT make prompts of their own, of examples and of questions."""
    opened = open_setup(parameters, dataset, "13_head_to_head")
    pairs = opened.prompt("demonstrate", system=S["DSP"])(opened.test[0])
    assert pairs.count("\n\n\n") == S["DSP"].count_examples(opened.dataset)
    examined = 0
    for system in S.values():
        setting = opened.settings(system)[0] if system.grid else {}
        if not (system.stages or system.reads) or system.name in ("DSP", "Auto-CoT"):
            continue
        prompt = first_prompt(opened, system, setting)
        assert opened.test[0].text in prompt
        expected = system.count_examples(opened.dataset)
        if system.demonstrated_by == SETS or system.reads or "pages that have" in prompt:
            expected = 4 if dataset == "eli5" else 6
        elif expected is None:  # all examples of a file: InterAug, DecomP
            expected = len(opened.examples(next(iter(system.stages)), 1, 0, system)[1])
            assert expected >= 6
        assert prompt.count("\n\n\n") == expected, system.name
        examined += 1
        if system.name.startswith("SearChain"):
            assert "Construct a global reasoning chain" in prompt
    assert examined >= 24


def test_all_is_there_before_any_work(parameters):
    benches = [name_bench(parameters, dataset, "13_head_to_head") for dataset in NINE]
    every = [system for system in S.values() if system.tuned_by == "answer"]
    check_comparison("13", Comparison(benches, every))


@pytest.fixture
def folder(tmp_path):
    """A user's prompt files, of which one is missing."""
    (tmp_path / "mine" / "fever").mkdir(parents=True)
    return tmp_path / "mine"


def test_a_missing_prompt_file_is_named_before_any_work(parameters, folder, tmp_path):
    p = parameters.change(demonstrations=str(folder))
    benches = [name_bench(p, dataset, "try") for dataset in ("hotpotqa", "fever")]
    found = "NoR QA on fever: no prompt file .*mine/fever/no_context_cot_qa_codex.txt: put it, or"
    with pytest.raises(UserError, match=f"^13: {found}.*leave the data set"):
        check_comparison("13", Comparison(benches, choose_systems(["NoR QA", "CoT"])))
    opened = [one.open() for one in benches]
    with pytest.raises(UserError, match=found):
        compare_systems(opened, choose_systems(["NoR QA", "CoT"]))
    assert not [*tmp_path.glob("runs/**/predictions.jsonl")]


def test_a_family_without_examples_is_named_before_any_work(parameters):
    other = replace(find_dataset("fever"), example_family="claims")
    one = replace(name_bench(parameters, "fever", "try"), dataset=other)
    found = "CoT on fever: no examples .*cot/cot.claims.txt: .*eli5, fever, multihop, slotfilling"
    with pytest.raises(UserError, match=found):
        check_comparison("13", Comparison([one], [S["CoT"]]))
    check_comparison("13", Comparison([one], [S["Direct Prompting"]]))  # shows none by intention


def test_a_missing_corpus_is_named_before_any_work(parameters, laboratory, tmp_path):
    for dataset, name in (
        ("fever", "fever-dev-kilt.jsonl"),
        ("strategyqa", "strategyqa_train.json"),
    ):
        [path] = laboratory.rglob(name)
        (tmp_path / "raw" / dataset).mkdir(parents=True)
        (tmp_path / "raw" / dataset / name).write_bytes(path.read_bytes())
        p = parameters.change(data_dir=str(tmp_path / "raw"), datasets=[dataset])
        missing = "kilt_knowledgesource" if dataset == "fever" else "paragraphs of StrategyQA"
        with pytest.raises(UserError, match=f"13: no .*{missing}.*; get "):
            check_comparison("13", Comparison([name_bench(p, dataset, "try")], [S["CoT"]]))


def test_the_laboratory_says_which_data_sets_it_has(parameters):
    one = name_bench(parameters.change(data_dir=""), "own", "try")
    with pytest.raises(UserError, match="data_dir: found none, and no own in the laboratory"):
        check_comparison("10", Comparison([one], [S["CoT"]]))


def test_without_m_systems_keep_their_examples_and_are_not_compared_with_those_that_lose_them(
    parameters,
):
    p = parameters.change(distractors=[], datasets=["fever"])
    one = name_bench(p, "fever", "try")
    assert len(one.examples("cot", one.default_m, 0, S["CoT"])[1]) == 2
    assert one.examples("cot", one.default_m, 0, S["IRCoT"])[1] == []
    for alone in (["CoT", "SearChain"], ["NoR QA", "IRCoT QA"], ["Direct Prompting", "NoR QA"]):
        check_comparison("13", Comparison([one], choose_systems(alone)))
    both = Comparison([one], choose_systems(["CoT", "NoR QA"]))
    with pytest.raises(UserError, match=r"13: distractors: found \[\], so that NoR QA .* CoT"):
        check_comparison("13", both)
    taught = replace(one, parameters=p.change(style="agent"))  # shows no examples at all
    check_comparison("13", replace(both, benches=[taught]))


def test_a_window_too_small_for_an_example_is_told_before_any_work(parameters, capsys):
    one = name_bench(parameters.change(context_tokens=320), "hotpotqa", "try")
    comparison = Comparison([one], choose_systems(["Direct Prompting", "CoT", "ReAct"]))
    check_comparison("13", comparison)
    crowded = find_crowded(comparison.runs, one.open().model.count_tokens)
    told = capsys.readouterr().err
    assert crowded and "CoT (cot)" not in crowded
    assert f"13: a window of 320 tokens holds no example of {', '.join(crowded)}: set" in told


@pytest.mark.parametrize("style", ["codex", "flan_t5"])
def test_pages_are_named_from_the_same_demonstrations(style):
    shown = find_demonstrations(OWN, "iirc", "titles", style, 0, 0, "multihop")
    assert len(shown) == 6 and shown[-1].answer == "Oslo"
    assert [paragraph.title for paragraph in shown[-1].paragraphs] == ["Edvard Grieg"]
    asked = f"The question is: '{pool('multihop')[0][0]}'. Generate titles of 1 Wikipedia pages"
    assert shown[-1].question.startswith(asked)


def test_a_folder_without_a_data_set_is_completed_by_ours_but_not_an_empty_one(folder, tmp_path):
    path = prompt_path(folder, "zsre", "cot", "codex", 1, "slotfilling")
    assert path == OWN / "slotfilling" / "demonstrations.txt"
    for missing in (folder / "fever", folder):  # empty, and none of the family's asked for
        family = "slotfilling" if missing == folder / "fever" else ""
        with pytest.raises(FileNotFoundError, match="no prompt file .*/zsre/gold_with_1_"):
            prompt_path(missing, "zsre", "cot", "codex", 1, family)


def test_sets_keep_the_first_questions_longest():
    """Demonstrations that do not fit are dropped from the front."""
    for name, dataset in all_datasets().items():
        family = dataset.example_family
        shown = find_demonstrations(OWN, name, "cot", "codex", 1, 0, family)
        first = pool(family)[0][: len(shown)]
        assert [example.question for example in shown] == first[::-1]
