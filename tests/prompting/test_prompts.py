"""Prompts: the authors' released files, the template word for word, damaged files."""

import re
from functools import partial

import pytest
from replying import TextWriter, count_words

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.errors import DataError
from ircotlib.files import PROMPTS
from ircotlib.prompting import demonstrations as files
from ircotlib.prompting import prompt as prompts
from ircotlib.prompting.demonstrations import demonstration_sets, read_demonstrations
from ircotlib.prompting.prompt import (
    FLAN_T5,
    PLAIN,
    read_template,
    render_demonstration,
    render_paragraph,
)

DIRECT = "Answer the following question."
ENDS = {"cot_qa": "cot", "direct_qa": "direct", "open_llm_retrieval": "titles"}
TEMPLATES = {f"{end}_flan_t5": FLAN_T5.template(stage) for end, stage in ENDS.items()}


def test_every_released_file_comes_back_as_it_was(shared):
    paths = sorted((shared / "ircot_prompts").glob("*/*.txt"))
    assert len(paths) == 50
    for path in paths:
        ends = [end for end in TEMPLATES if path.stem.endswith(end)]
        template = TEMPLATES[ends[0]] if ends else PLAIN
        demonstrations = read_demonstrations(path)
        text = path.read_text(encoding="utf-8")
        rendered = [render_demonstration(one, template) for one in demonstrations]
        assert "\n\n\n".join(rendered) == re.sub(r"(?m)^# METADATA: .*\n", "", text), (
            path
        )
        questions = [one.question for one in demonstrations]
        assert not any("Answer the following" in asked for asked in questions), path


@pytest.mark.parametrize("dataset", ["2wikimultihopqa", "iirc"])
def test_the_authors_sets_are_in_their_files(shared, dataset):
    path = shared / f"ircot_prompts/{dataset}/no_context_cot_qa_codex.txt"
    demonstrations = read_demonstrations(path)
    sets = demonstration_sets(demonstrations, dataset)
    assert [len(set(chosen)) for chosen in sets] == [15, 15, 15]
    with pytest.raises(ValueError, match="three lists of different ids of these 10: "):
        demonstration_sets(demonstrations[:10], dataset)


def test_only_long_paragraphs_are_cut_and_only_in_the_test_example():
    words = [f"w{i}" for i in range(351)]
    just, over = " ".join(words[:350]), " ".join(words)

    def body(text, **most):
        return render_paragraph(Paragraph("1", "T", text), **most)[19:]

    assert body(just) == body(over) == just
    assert body(" a  b\nc ") == "a  b\nc"
    assert body("a  b\nc d", max_words=3) == "a  b\nc"  # an empty word between
    shown = Demonstration("d", (Paragraph("1", "T", over),), "Who?", "He.")
    assert over in render_demonstration(shown)


@pytest.mark.parametrize("style", ["flan_t5", "codex"])
def test_the_main_passage_stands_where_it_does_in_the_authors_files(shared, style):
    folder = shared / "ircot_prompts/iirc"
    alone, whole = (
        read_demonstrations(folder / f"{name}_cot_qa_{style}.txt")
        for name in ("no_context", "gold_with_2_distractors_context")
    )
    for shown, demonstration in zip(alone, whole, strict=True):
        [passage] = shown.paragraphs
        [main] = [p for p in demonstration.paragraphs if p.text == passage.text]
        assert main.title == passage.title
        question = Question("q", demonstration.question, (), (), "iirc", passage=main)
        # as systems collect them
        given = [main, *(p for p in demonstration.paragraphs if p != main)]
        prompt = TextWriter((), count_words, arrange=prompts.STYLES[style].arrange)
        expected = render_demonstration(demonstration)
        assert prompt(question, given, demonstration.answer.split(" ")) == expected
        only = Demonstration("", (main,), question.text, "")
        assert prompt(question, [main]) == render_demonstration(only)
        assert prompt(question, ()) == prompt(question, [main])  # always shown


def test_a_template_is_its_file():
    titles = read_template("ircot", "titles", "flan_t5")
    assert titles.instruction == DIRECT and PLAIN.instruction is None
    asked = titles.ask("Who {was} it?", n=3)
    start = "The question is: 'Who {was} it?'. Generate titles of 3 Wikipedia"
    assert asked.startswith(start)
    shown = Demonstration("d", (Paragraph("1", "A", "a"),), asked, "B")
    text = render_demonstration(shown, titles)
    assert text == f"Wikipedia Title: A\na\n\nQ: {DIRECT}\n{asked}\nA: B"
    assert read_template("ircot", "cot", "codex") == PLAIN  # no file of its own
    with pytest.raises(FileNotFoundError, match="nothing.txt"):
        read_template("ircot", "nothing", "codex")


def test_demonstrations_are_found_by_data_set_stage_style_and_m():
    folder = PROMPTS / "laboratory"
    for m, paragraphs in ((0, 0), (2, 4)):
        found = files.find_demonstrations(folder, "hotpotqa", "cot", "codex", m, 1)
        assert len(found) == 15 and min(len(d.paragraphs) for d in found) == paragraphs
    titles = files.prompt_path(folder, "iirc", "titles", "flan_t5", 2).name
    assert titles == "no_context_open_llm_retrieval_flan_t5.txt"
    with pytest.raises(FileNotFoundError, match="no prompt file .*gold_with_4_dist"):
        files.prompt_path(folder, "hotpotqa", "cot", "flan_t5", 4)


@pytest.mark.parametrize(("given", "size"), [(29, 15), (20, 15), (19, 14), (1, 1)])
def test_three_sets_of_fifteen_or_three_quarters(given, size):
    numbered = [Demonstration(f"d{i:02}", (), "q", "a") for i in range(given)]
    sets = demonstration_sets(numbered)
    assert [len({one.id for one in drawn}) for drawn in sets] == [size] * 3


GOOD = '# METADATA: {"qid": "x1"}\nWikipedia Title: A\ntext\n\nQ: who?\nA: he\n\n\n'
GOOD += '# METADATA: {"qid": "x2"}\nQ: when?\nA: now'


def written(tmp_path, text: str):
    path = tmp_path / "own.txt"
    path.write_bytes(text.encode())
    return path


IRREGULAR = ["\n" + GOOD + "\n\n", "\ufeff" + GOOD]
IRREGULAR += [GOOD.replace("\n", "\r\n")]
IRREGULAR += [GOOD.replace("he\n\n\n#", "he#")]  # two files joined without a line break


@pytest.mark.parametrize("text", IRREGULAR)
def test_small_irregularities_are_read(tmp_path, text):
    assert read_demonstrations(written(tmp_path, text)) == [
        Demonstration("x1", (Paragraph("x1/1", "A", "text"),), "who?", "he"),
        Demonstration("x2", (), "when?", "now"),
    ]


DAMAGED = {
    "": "found ''",
    "Q: who?\nA: he": "found 'Q: who",
    GOOD.replace('{"qid": "x2"}', "{qid: x2}"): "found '{qid: x2}",
    GOOD.replace("Q: when?\n", ""): "found .*x2",
    GOOD.replace('# METADATA: {"qid": "x2"}\n', ""): "found .*x1",
    GOOD.replace("x2", "x1"): "found .*x1",
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.items())
def test_damaged_files_are_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=f"own.txt: {message}.*expected"):
        read_demonstrations(written(tmp_path, text))


SETS = ['[["x1"]', '[["x1"], ["x2"], []]}', '[["x1"], ["x2"], ["x3"]]}']


@pytest.mark.parametrize("sets", SETS)
def test_damaged_sets_are_refused(tmp_path, sets):
    demonstrations = read_demonstrations(written(tmp_path, GOOD))
    (tmp_path / "demonstration_sets.json").write_text(f'{{"own": {sets}')
    with pytest.raises(DataError, match="demonstration_sets.json"):
        demonstration_sets(demonstrations, "own", folder=tmp_path)


def test_demonstrations_too_few_or_without_an_answer_are_named(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/demonstrations.txt").write_text(GOOD)
    find = partial(files.find_demonstrations, str(tmp_path), "own", style="codex")
    with pytest.raises(DataError, match="s.txt, 'x1': found 0 para.*expected 2"):
        find("cot", m=2, number=0)
    with pytest.raises(DataError, match="demonstrations.txt, 'x1'.*'he'.*answer"):
        find("direct", m=0, number=0)


EXAMPLE = "Q: Who wrote Emma?\nA: Jane Austen wrote it. The answer is Jane Austen."


def test_examples_are_the_users_or_ours_and_a_family_without_any_is_named(tmp_path):
    path = tmp_path / "mine" / "cot" / "cot.multihop.txt"
    path.parent.mkdir(parents=True)
    path.write_text(f"\ufeff# source me\n{EXAMPLE}\n\n\n{EXAMPLE}?\n", encoding="utf-8")
    find = partial(files.find_examples, str(tmp_path / "mine"), "cot", "cot")
    assert find("multihop") == [EXAMPLE, f"{EXAMPLE}?"]
    assert len(find("strategyqa")) >= 6  # ours
    with pytest.raises(FileNotFoundError, match="claims.txt: no such .*cot.eli5.txt"):
        find("claims")
