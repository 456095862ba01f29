"""The simulated reader in the workbench: every system from a run to its causes, with the real
programs, index and scheduler; which runs it shares; and what is refused before work begins.
"""

import re
import sys
from html import unescape
from types import ModuleType

import pytest
from ircotlib.experiment.checks import check_places

from ircotlib import (
    Generate,
    Prediction,
    Retrieve,
    Run,
    System,
    UserError,
    all_systems,
    ask,
    change_model,
    choose_systems,
    compare,
    compare_systems,
    count_causes,
    find_causes,
    list_runs,
    name_model,
    open_setup,
    read_about,
    read_costs,
    read_parameters,
    read_runs,
    replay,
    run_system,
    show_question,
)
from ircotlib.command.figures import main as make_figures
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.setup import runs_folder
from ircotlib.files.paths import PROMPTS, ROOT
from ircotlib.program import SENTENCE

DIALS = {"knows": 0.3, "misreads": 0.1, "extractor_misreads": 0.1}
NAME = "simulated reader (knows 0.3, misreads 0.1, extractor_misreads 0.1)"
IRCOTS = ["IRCoT", "IRCoT QA w/o reader", "IRCoT QA"]


@pytest.fixture
def p(tmp_path, monkeypatch, laboratory):
    """A reader with some errors, and 8 test questions of each data set."""
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 6, "test": 8, "model": "simulated"}
    return read_parameters("mini", changes | {"dials": DIALS})


def first_setting(bench, system) -> dict:
    return {name: values[0] for name, values in bench.grid(system).items()}


@pytest.mark.parametrize("dataset", ["iirc", "strategyqa", "eli5"])
def test_every_system_is_run_replayed_explored_and_judged(p, dataset):
    bench, right = open_setup(p, dataset, "13_head_to_head"), {}
    for system in all_systems().values():
        setting = first_setting(bench, system)
        scores = run_system(bench, system, **setting)
        assert len(scores) == 8 and set(scores["model"]) == {NAME}
        folder = Run(bench, system, "test", setting).folder
        table = find_causes(folder)
        assert list(table["right"] == (table["cause"] == "")) == [True] * 8
        id = table["id"][0]
        [outcome] = replay(folder, [id]).values()
        assert outcome.result.answer == table["answer"][0]
        assert not any(step.cached for step in outcome.trace if isinstance(step.request, Generate))
        shown = show_question(folder, id)
        assert f"{NAME}</h4>answer: <b>" in unescape(shown) and "Replayed, it" not in shown
        assert set(list_runs([folder])["model"]) == {NAME}
        about = read_about(folder)
        assert about["parameters"]["dials"] == DIALS and about["model_fingerprint"] is None
        right[system.name] = table["right"].mean()
    assert len({*right.values()}) > 1  # systems differ
    named = p.change(datasets=[dataset])
    costs = read_costs(named, "13_head_to_head").set_index("system")
    assert list(costs.index) == list(all_systems())
    assert costs.at["SearChain", "extractions"] > 0 == costs.at["Self-Ask", "extractions"]
    model, tokens = costs.drop(["OneR"])["generations"], costs["tokens written"]
    assert (model > 0).all() and (tokens[model.index] > 0).all()
    runs = read_runs(named, "13_head_to_head")
    assert runs.groupby("system").size().to_dict() == dict.fromkeys(all_systems(), 8)
    census = count_causes([find_causes(f) for f in map(str, bench.runs.glob("test/*"))])
    assert set(census["model"]) == {NAME}


def test_ircot_is_tuned_and_compared(p):
    bench = open_setup(p.change(dials={}), "iirc", "04_ircot")
    systems = choose_systems(["NoR QA", "OneR QA", *IRCOTS])
    found = compare_systems([bench], systems, demonstration_sets=1)
    means = found.scores.groupby("system")[["f1", "recall"]].mean()
    # one that reads without error finds all of IIRC's pages, and answers right
    assert list(means.loc["IRCoT QA"]) == [1, 1] and means.loc["NoR QA", "f1"] < 0.2
    assert means.loc["IRCoT", "recall"] == 1 > means.loc["OneR QA", "recall"]
    assert set(found.tuning["m"].dropna()) == set()  # it reads no demonstrations
    claims = compare(found.scores).set_index("claim")
    assert claims.loc["IRCoT QA > OneR QA", "mean"] > 0


def test_other_dials_have_runs_of_their_own(p):
    folder = runs_folder(p, "04_ircot")
    assert runs_folder(p.change(dials=DIALS), "04_ircot") == folder
    others = [p.change(dials=DIALS | {name: 0.7}) for name in ("knows", "coincide", "obeys")]
    assert len({folder, *(runs_folder(other, "04_ircot") for other in others)}) == 4
    bench, again = (open_setup(p, "musique", "04_ircot") for _ in range(2))
    [system] = choose_systems(["IRCoT QA"])
    scores = [run_system(b, system, k=4)["f1"].tolist() for b in (bench, again)]
    perfect = open_setup(p.change(dials={"knows": 1}), "musique", "04_ircot")
    assert scores[0] == scores[1] != run_system(perfect, system, k=4)["f1"].tolist() == [1] * 8
    assert bench.runs != perfect.runs


def test_its_name_has_the_dials_that_are_set():
    plain = read_parameters("mini")
    assert name_model(plain) == plain.model == name_model(plain.model_dump())
    reader = plain.change(model="simulated")
    assert name_model(reader) == "simulated reader"
    dials = reader.change(dials={"obeys": 0, "knows": 0.25})
    assert name_model(dials) == "simulated reader (obeys 0, knows 0.25)"


def test_among_other_models_it_keeps_its_style(p):
    models = {"models": ["data/models/mini-base", "simulated"]}
    shipped = read_parameters("mini", models | {"dials": DIALS})
    reader = change_model(shipped, "simulated")
    assert (reader.style, reader.extractor) == ("agent", "simulated")
    assert reader.models == shipped.models and reader.dials == DIALS
    assert change_model(shipped, shipped.models[0]).style == shipped.style


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model": "simulated", "server": "http://127.0.0.1:1"}, "found a server and a simulated"),
        ({"models": ["x", "simulated"], "server": "http://127.0.0.1:1"}, "leave server out"),
        ({"model": "simulated", "data_dir": "docs"}, "data_dir: found no laboratory.json in docs"),
        ({"second_model": "simulated", "data_dir": "docs"}, "data_dir: found no laboratory.json"),
        ({"dials": {"misreads": 0.1}}, "found dials and no simulated reader; set model=simulated"),
    ],
)
def test_what_it_cannot_do_is_refused_before_work_begins(changes, error):
    with pytest.raises(UserError, match=re.escape(error)) as refused:
        check_places(read_parameters("mini", changes))
    assert "\n" not in str(refused.value)


def test_what_is_no_question_of_the_laboratory_is_refused(p, capsys):
    with pytest.raises(UserError, match="'Who is Ann\\?', expected one of the laboratory's"):
        list(ask(p, "Who is Ann?"))
    text = open_setup(p, "musique", "00_tour").test[0].text
    assert [str(asked).split("\n")[0] for asked in ask(p, text, ["ReAct"])] == [f"ReAct, {NAME}"]
    make_figures(["--only", "10_your_own", "--set", "model=simulated"])
    assert "10_your_own is left out" in capsys.readouterr().err


def asking(question, *, prompts, k, max_tokens):
    """Retrieve with the question, and write one sentence."""
    first = yield Retrieve(question.text, k)
    sentence = yield Generate(prompts["ask"](question, first), SENTENCE, max_tokens)
    return Prediction(sentence, first)


def test_a_system_of_ones_own_is_played_with_the_teachers_in_its_file(p, tmp_path, monkeypatch):
    """With those of docs/systems.md."""
    (tmp_path / "prompts/two_step").mkdir(parents=True)
    (tmp_path / "prompts/ircot").symlink_to(PROMPTS / "ircot")
    template = (PROMPTS / "self_ask/read.txt").read_text()
    (tmp_path / "prompts/two_step/ask.txt").write_text(template)
    monkeypatch.setattr("ircotlib.prompting.templates.PROMPTS", tmp_path / "prompts")
    module = ModuleType("ircotlib.systems.two_step")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(asking, "__module__", module.__name__)
    mine, bench = System("Mine", asking, stages=("ask",)), open_setup(p, "hotpotqa", "mine")
    with pytest.raises(UserError, match="Mine: found no teacher of its stages .two_step/ask."):
        run_system(bench, mine, k=2)
    page = (ROOT / "docs/systems.md").read_text(encoding="utf-8")
    [teachers] = re.findall(r"```python\n(def teach_ask.*?)```", page, re.DOTALL)
    exec(teachers, module.__dict__)
    run_system(bench, mine, k=2)
    table = find_causes(Run(bench, mine, "test", {"k": 2}).folder)
    first = [words.split()[0] for words in table["answer"]]
    assert len(set(first)) > 3 and all(words.endswith(".") for words in table["answer"])
