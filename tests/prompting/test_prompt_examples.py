"""The examples that stages of systems show, and the keywords that programs get for a data set."""

from dataclasses import replace

import pytest
from replying import own_demonstrations

from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.experiment import backends, bench
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.files.paths import PROMPTS
from ircotlib.parameters import read_parameters
from ircotlib.prompting.examples import find_examples, read_examples
from ircotlib.prompting.prompt import AGENT, read_template
from ircotlib.systems import FOUR_EXAMPLES, IRCOT, SEARCHAIN, all_systems, choose_systems
from ircotlib.systems.readers import READER

S = all_systems()
DATASETS = "hotpotqa musique 2wikimultihopqa strategyqa zsre trex fever eli5".split()


@pytest.fixture
def opened(tmp_path, monkeypatch, laboratory):
    """A bench with the style and the window of GPT3."""
    monkeypatch.setattr(bench, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 4, "datasets": ["hotpotqa"]}
    changes |= {"model": "data/models/mini-causal", "style": "codex", "context_tokens": None}
    changes |= {"most_demonstrations": 16}
    return open_setup(read_parameters("mini", changes), "hotpotqa", "try")


def on(opened, dataset, **changes):
    """The bench as one of another data set."""
    changed = opened.parameters.change(**changes)
    return replace(opened, dataset=find_dataset(dataset), parameters=changed)


TABLE_11 = {  # SearChain, Table 11, of DATASETS in order; the other systems show all examples
    "Direct Prompting": [0] * 8,
    "Direct Retrieval": [0] * 8,
    "ReAct": [6, 4, 4, 6, 4, 4, 2, 2],
    "ReAct -> CoT-SC": [6, 4, 4, 6, 4, 4, 2, 2],
    "DSP": [16, 8, 8, 8, 8, 8, 2, 2],
    "Verify-and-Edit": [2] * 8,
    "SearChain w/o IR": [2, 2, 2, 6, 2, 2, 2, 2],
    **{f"SearChain{less}": [2] * 8 for less in ("", " w/o Verification", " w/o Completion")},
    # not in that table: those of the families' files
    **dict.fromkeys(("InterAug", "DecomP"), [15, 15, 15, 8, 8, 8, 8, 6]),
}
MOST_SYSTEMS = [4, 4, 4, 6, 4, 4, 2, 2]


@pytest.mark.parametrize("system", [s.name for s in choose_systems(study=SEARCHAIN)])
def test_each_stage_with_a_file_shows_as_many_as_in_table_11(opened, system):
    one, files = S[system], 0
    for dataset, count in zip(DATASETS, TABLE_11.get(system, MOST_SYSTEMS), strict=True):
        for stage in one.stages:
            shown = on(opened, dataset).prompt(stage, system=one).demonstrations
            family = find_dataset(dataset).example_family
            if (PROMPTS / "own" / one.module / f"{stage}.{family}.txt").is_file():
                files += 1
                assert len(set(shown)) == count, (dataset, stage)
                assert shown == own_demonstrations(one.module, stage, family)[:count]
            else:
                assert shown == []
    assert files or system in ("Direct Prompting", "Direct Retrieval", "Auto-CoT")


def test_every_data_set_has_a_family():
    assert {dataset.example_family for dataset in all_datasets().values()} == set(FOUR_EXAMPLES)


def test_examples_are_dropped_from_the_front_of_a_small_window(opened):
    wide = opened.prompt("cot", system=S["CoT"])
    question = opened.test[0]
    length = opened.model.count_tokens(wide(question))
    kept = replace(wide, max_prompt_tokens=length - 1)(question)
    assert wide(question).count("\nA:") == 5 and 1 < kept.count("\nA:") < 5
    assert wide(question).endswith(kept)


def test_without_m_ircots_systems_show_none_and_in_the_style_agent_all(opened):
    asked = f"Q: {opened.test[0].text}\nA:"
    for changes in ({"distractors": []}, {"demonstrations": ""}):
        no = on(opened, "hotpotqa", **changes)
        assert not no.demonstrated
        assert next(program_of(no, S["NoR QA"])(no.test[0])).prompt == asked
        shown = own_demonstrations("cot", "cot", "multihop")
        own = next(program_of(no, S["CoT"])(no.test[0])).prompt
        assert own == "\n\n\n".join([*shown, asked])
    agent = on(opened, "hotpotqa", style="agent")
    assert not agent.demonstrated and agent.window == AGENT.context_tokens
    for name in ("CoT", "SearChain", "ReAct -> CoT-SC", "DSP"):
        for stage in S[name].stages:
            assert agent.prompt(stage, system=S[name]).demonstrations == []
    assert agent.prompt("cot").demonstrations == []


GOOD = "Q: Who wrote Emma?\nA: Jane Austen wrote it. The answer is Jane Austen."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine" / "cot").mkdir(parents=True)
    return tmp_path / "mine"


def test_the_users_own_files_take_the_place_of_ours(opened, folder):
    (folder / "cot" / "cot.multihop.txt").write_text(f"# source me\n{GOOD}\n\n\n{GOOD}?\n")
    mine = on(opened, "hotpotqa", demonstrations=str(folder))
    assert mine.prompt("cot", system=S["CoT"]).demonstrations == [GOOD, f"{GOOD}?"]
    # of another stage, and of another family, ours
    assert len(mine.prompt("act", system=S["ReAct"]).demonstrations) == 6
    others = on(opened, "strategyqa", demonstrations=str(folder))
    assert len(others.prompt("cot", system=S["CoT"]).demonstrations) == 6


@pytest.mark.parametrize(
    "text", [GOOD, f"# source me\n{GOOD}", f"\ufeff{GOOD}\n\n", f"\n# source me\n\n{GOOD}"]
)
def test_small_irregularities_are_read(folder, text):
    path = folder / "cot.txt"
    path.write_text(text)
    assert read_examples(path, read_template("cot", "cot")) == (GOOD,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ", example 1: "),
        (b"# source me\n", ", example 1: "),
        (f"{GOOD}\n\n\nQ: Who?".encode(), r", example 2: found 'Q: Who\?'"),
        (b"Question: Who?\nA: He.", ", example 1: found 'Question: Who"),
        (f"{GOOD}\n\n\n\n\n\n{GOOD}".encode(), ", example 2: "),
        (b"Q: \xff", ": .* 0xff is not UTF-8"),
    ],
)
def test_damaged_files_are_refused_in_one_line(opened, folder, text, message):
    (folder / "cot" / "cot.multihop.txt").write_bytes(text)
    mine = on(opened, "hotpotqa", demonstrations=str(folder))
    with pytest.raises(ValueError, match="cot.multihop.txt" + message) as error:
        mine.prompt("cot", system=S["CoT"])
    assert "\n" not in str(error.value)


def test_all_files_of_the_repository_are_read():
    """Each has the form of its template."""
    count = 0
    for path in (PROMPTS / "own").glob("*/*.*.txt"):
        stage, family, _ = path.name.split(".")
        template = read_template(path.parent.name, stage)
        count += len(read_examples(path, template))
        for dataset in all_datasets().values():
            if dataset.example_family == family:
                assert find_examples("prompts/own", path.parent.name, stage, dataset, template)
    assert count > 300


def told(opened, system):
    """The keywords that a bench gives to a program."""
    return dict(program_of(opened, S[system])(opened.test[0]).gi_frame.f_locals)


def test_programs_are_told_what_the_data_set_asks_for(opened):
    assert told(opened, "SearChain")["long_form"] is False
    assert told(on(opened, "eli5"), "SearChain")["long_form"] is True
    assert told(on(opened, "eli5"), "SearChain w/o IR")["long_form"] is True
    assert told(opened, "ReAct")["max_actions"] == 7
    assert told(on(opened, "fever"), "ReAct")["max_actions"] == 5
    examples = [told(on(opened, dataset), "Auto-CoT")["examples"] for dataset in DATASETS]
    assert examples == MOST_SYSTEMS


def test_a_setting_comes_before_what_a_program_is_told(opened):
    playing = program_of(on(opened, "fever"), S["ReAct"], max_actions=3)(opened.test[0])
    assert playing.gi_frame.f_locals["max_actions"] == 3


@pytest.mark.parametrize("dataset", ["hotpotqa", "fever", "eli5"])
@pytest.mark.parametrize("system", [s.name for s in choose_systems()])
def test_what_searchains_systems_are_told_reaches_none_of_ircots(opened, system, dataset):
    """Otherwise, programs that pass keywords on would give them to one that does not take them."""
    one, bare = S[system], on(opened, dataset, distractors=[])
    setting = {name: values[0] for name, values in bare.grid(one).items()}
    assert one.study == IRCOT and next(program_of(bare, one, **setting)(opened.test[0]))
    assert on(opened, dataset).tokens(one) == {"max_tokens": 300}


def test_a_chain_has_room_in_every_window(opened):
    searchain, recite, cot = S["SearChain"], S["Recite-and-answer"], S["CoT"]
    tree = S["Tree-of-Thought w/ IR"]
    assert opened.tokens(searchain) == {"max_tokens": 512}
    assert opened.tokens(tree) == on(opened, "eli5").tokens(tree) == {"max_tokens": 1000}
    assert opened.prompt("vote", system=tree).max_prompt_tokens == 7000
    assert opened.tokens(S["DSP"]) == {"max_tokens": 150}
    assert on(opened, "eli5").tokens(S["DSP"]) == {"max_tokens": 512}
    assert opened.tokens(recite) == {"recite_tokens": 128, "max_tokens": 16}
    assert opened.prompt("recite", system=recite).max_prompt_tokens == 8000 - 128
    assert on(opened, "eli5").tokens(recite) == {"recite_tokens": 128, "max_tokens": 512}
    assert on(opened, "eli5").tokens(S["ReAct"]) == {"tokens": 512}
    small = on(opened, "hotpotqa", context_tokens=700)
    assert small.tokens(searchain) == {"max_tokens": 350}
    assert small.prompt("chain", system=searchain).max_prompt_tokens == 350
    assert small.prompt("vote", system=tree).max_prompt_tokens == 350
    assert small.tokens(cot) == {"max_tokens": 256}
    agent = on(opened, "hotpotqa", style="agent")
    assert agent.tokens(searchain) == agent.tokens(tree) == {"max_tokens": 160}
    assert agent.prompt("chain", system=searchain).max_prompt_tokens == 1024 - 160


def test_prompts_show_at_most_so_many_and_perhaps_with_wrong_answers(opened):
    _, every = opened.examples("cot", 1, 0, READER)
    _, last = on(opened, "hotpotqa", most_demonstrations=4).examples("cot", 1, 0, READER)
    assert len(every) == 15 and last == every[-4:]
    changes = {"most_demonstrations": 4, "wrong_answers": True}
    _, wrong = on(opened, "hotpotqa", **changes).examples("cot", 1, 0, READER)
    assert [d.answer for d in wrong] == [d.answer for d in (*last[1:], last[0])]
    assert [(d.question, d.paragraphs) for d in wrong] == [(d.question, d.paragraphs) for d in last]
    mini = on(opened, "hotpotqa", context_tokens=2200, most_demonstrations=4)
    write, found = mini.prompt("cot", 1), [p for one in every for p in one.paragraphs][:15]
    assert [write(mini.test[0], found[:k]).demonstrations for k in (0, 15)] == [4, 4]


def test_the_agent_takes_the_place_of_the_model_where_there_is_one(opened):
    p = opened.parameters.change(context_tokens=700, agent="")
    assert p.for_agent() is p
    agent = p.change(agent="data/models/agent").for_agent()
    assert (agent.model, agent.style, agent.context_tokens) == ("data/models/agent", "agent", None)
    served = p.change(agent="data/models/agent", server="http://127.0.0.1:1")
    assert served.for_agent() is served
