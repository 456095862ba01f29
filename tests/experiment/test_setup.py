"""Setups: the parts that are opened, the demonstrations in prompts, and the systems'
programs.
"""

import json
import os
from unittest import mock

import pytest

from ircot_laboratory import make
from ircotlib.experiment.runs import Run, answer
from ircotlib.experiment.setup import change_model, open_setup, runs_folder
from ircotlib.parameters import OOD, SCALE
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.systems import all_systems

S = all_systems()
WINDOW = 700


@pytest.fixture
def shown(p):
    """Parameters with as many demonstrations as fit a small window."""
    return p.change(context_tokens=WINDOW, most_demonstrations=15, distractors=[1, 2])


def test_without_a_folder_the_laboratory_is_opened(
    tmp_path, p, monkeypatch, laboratory
):
    make_laboratory = mock.Mock(return_value=laboratory)
    monkeypatch.setattr(make, "make_laboratory", make_laboratory)
    opened = open_setup(p.change(data_dir=""), "musique", "04_ircot", with_model=False)
    make_laboratory.assert_called_once_with(tmp_path / "data/laboratory")
    assert len(opened.dev) == len(opened.test) == 4
    assert opened.test[0].dataset == "musique"
    assert len(opened.retriever.search(opened.test[0].text, 3)) == 3
    assert (tmp_path / "data/corpora/small-musique").is_dir()
    assert (tmp_path / "data/indexes/small-musique").is_dir()


def test_parts_that_setups_share_are_opened_once(p):
    one, two = (open_setup(p, "hotpotqa", name) for name in ("04_ircot", "06_scale"))
    assert one.retriever is two.retriever and one.calls is two.calls
    assert one.model is two.model and one.extractor is two.extractor
    other = open_setup(p.change(model="data/models/mini-large"), "hotpotqa", "04_ircot")
    assert other.model is not one.model and other.retriever is one.retriever


@pytest.mark.parametrize(
    "change", [{"model": "/none"}, {"extractor": "/none"}, {"data_dir": "/n"}]
)
def test_opening_a_missing_model_or_folder_is_an_error_of_one_line(p, change):
    with pytest.raises(FileNotFoundError) as error:
        open_setup(p.change(**change), "hotpotqa", "04_ircot")
    assert "\n" not in str(error.value)


def test_as_many_demonstrations_are_shown_as_fit_the_window_of_the_model(shown):
    opened = open_setup(shown, "hotpotqa", "04_ircot")
    question = opened.dev[0]
    found = [paragraph for paragraph, _ in opened.retriever.search(question.text, 8)]
    for stage in ("cot", "direct"):
        write = opened.prompt(stage, 1, 0)
        short, long = write(question, ()).text, write(question, found).text
        assert long.count("\nA:") < short.count("\nA:") < 16
        lengths = [opened.model.count_tokens(text) for text in (short, long)]
        assert all(0.4 * WINDOW < length <= WINDOW - 200 for length in lengths)
    wide = open_setup(shown.change(context_tokens=None), "hotpotqa", "04_ircot")
    assert wide.prompt("cot", 2, 1)(question, ()).text.count("\nA:") == 16
    assert wide.prompt("cot", 2, 1).max_prompt_tokens == 5800


def test_a_causal_model_is_prompted_as_gpt3(shown):
    causal = change_model(shown, "data/models/mini-causal")
    assert (causal.style, change_model(causal, shown.model).style) == ("codex", "codex")
    assert change_model(shown, "data/models/mini-large").style == "flan_t5"
    prompt = open_setup(causal, "hotpotqa", "06_scale", grid_of=SCALE).prompt("cot", 1)
    assert prompt.template.instruction is None
    assert prompt.max_prompt_tokens == WINDOW - 300


def test_demonstrations_of_another_data_set_are_another_experiment(shown):
    own = open_setup(shown, "hotpotqa", "07_ood", grid_of=OOD)
    other = open_setup(shown, "hotpotqa", "07_ood", shown="iirc", grid_of=OOD)
    one, two = own.prompt("cot", 1), other.prompt("cot", 1)
    shown_by_one, _, asked = one(own.dev[0], ()).text.rpartition("\n\n\n")
    shown_by_two, _, asked_too = two(own.dev[0], ()).text.rpartition("\n\n\n")
    assert shown_by_one != shown_by_two and asked == asked_too
    assert own.runs != other.runs


def test_each_demonstration_set_has_prompts_of_its_own(shown):
    opened = open_setup(shown, "hotpotqa", "04_ircot")
    system, question = S["NoR QA"], opened.dev[0]
    settings = [{"demonstration_set": number} for number in (0, 1, 2)]
    runs = [Run(opened, system, "dev", setting) for setting in settings]
    assert len({next(run.program(question)).prompt for run in runs}) == 3


def test_pages_of_iirc_are_asked_for_with_demonstrations_of_titles(shown):
    opened = open_setup(shown, "iirc", "04_ircot")
    question = opened.test[0]
    for name, setting in (("IRCoT QA", {"k": 2, "m": 1}), ("OneR", {"k": 2})):
        program = Run(opened, S[name], "test", setting).program(question)
        asked = next(program)
        assert isinstance(asked, Generate)
        assert asked.prompt.count("Generate titles of") > 3
        assert opened.model.count_tokens(asked.prompt) <= WINDOW - 200
        assert asked.purpose == "the reader names pages to look at"
        title = question.passage.title
        assert program.send(f"{title}, Nothing Like It") == NearestTitle(title)
        program.send((title.lower(),))
        first = program.send(())
        assert first == Retrieve(question.text, 2, titles=(title.lower(),))


def test_a_program_gets_the_other_questions_if_it_takes_them(opened):
    run = Run(opened, S["Auto-CoT"], "test", {"examples": 2})
    request = next(run.program(opened.test[0]))
    asked = {f"Q: {other.text}\nA: Let's think step by step." for other in opened.test}
    assert request.prompt in asked and len(asked) == len(opened.test) > 1


def test_the_released_program_is_reached_from_the_parameters(p):
    opened = open_setup(p.change(released=True, max_steps=1), "hotpotqa", "04_ircot")
    found = answer(opened, S["IRCoT QA"], opened.test[0], k=2)
    queries = [s.request for s in found.trace if isinstance(s.request, Retrieve)]
    assert len(queries) == 1 and queries[0].distinct and len(found.result.thoughts) == 1


def test_a_keyword_that_a_program_does_not_take_is_an_error_and_not_chosen(opened):
    with pytest.raises(RuntimeError, match="unexpected keyword argument 'kk'"):
        answer(opened, S["IRCoT QA"], opened.test[0], k=2, kk=4)
    assert opened.choose(S["OneR QA"], k=3, m=1) == {"k": 3}  # no demonstrations, no m
    assert opened.choose(S["NoR QA"], k=3, m=1) == {}


def test_parameters_change_the_folder_unless_they_change_no_outcome(p):
    changes = [{"model": "data/models/mini-large"}, {"seed": 1}, {"reader": "direct"}]
    changes += [{"test": 27}, {"dtype": "bfloat16"}, {"context_tokens": 900}]
    changes += [{"ircot_k": [2]}, {"distractors": [1]}, {"released": True}]
    changes += [{"demonstrations": "elsewhere"}, {"data_dir": "elsewhere"}]
    # as it is, but behind a server
    changes += [{}, p.model_dump() | {"server": "http://host:1"}]
    folders = {runs_folder(p.change(**change), "04_ircot") for change in changes}
    folders.add(runs_folder(p, "06_scale"))
    folders.add(runs_folder(p, "04_ircot", grid_of=SCALE))
    assert len(folders) == len(changes) + 2 == 15
    same = {"datasets": ["musique"], "systems": ["OneR"], "judged": 3, "workers": 2}
    same |= {"prices": [1, 2]}
    assert runs_folder(p.change(**same), "04_ircot") == runs_folder(p, "04_ircot")


def write_own(folder, answer="Oslo", text="Ann lives in Oslo."):
    page = {"title": "Ann", "text": text, "is_supporting": True}
    row = {"id": "007", "question": "Where?", "answers": answer, "paragraphs": [page]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n")
    os.utime(folder / "questions.jsonl", (0, 0))  # as of a copy


def test_questions_that_are_edited_are_read_again(p, tmp_path):
    """In the same kernel, of the same size, and with the same time of change."""
    folder = tmp_path / "raw[1] *"
    folder.mkdir()
    p = p.change(data_dir=str(folder), datasets=["own"], dev=0)

    def opened():
        setup = open_setup(p, "own", "mine", with_model=False)
        [question] = setup.test
        [(page, _)] = setup.retriever.search("Ann", 1)
        return question, page.text, setup.retriever

    write_own(folder)
    question, text, first = opened()
    assert (question.id, question.answers) == ("007", ("Oslo",))
    assert text == "Ann lives in Oslo."
    assert opened()[2] is first  # once, as long as nothing changes
    write_own(folder, answer="Rome")
    assert opened()[0].answers == ("Rome",)
    write_own(folder, answer="Rome", text="Ann lives in Rome.")
    assert opened()[1] == "Ann lives in Rome."
    before = (folder / "questions.jsonl").stat()
    write_own(folder, answer="Lund", text="Ann lives in Rome.")
    os.utime(folder / "questions.jsonl", ns=(0, before.st_mtime_ns))  # as `cp -p`
    assert opened()[0].answers == ("Lund",)
    (folder / "corpus.jsonl").write_text('{"title": "Bo", "text": "Bo is old."}')
    assert len(opened()[2].corpus) == 2
