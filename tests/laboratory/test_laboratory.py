"""The laboratory: raw files that the official loaders can read, questions that can be answered but
only with all of their paragraphs, and demonstrations.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from statistics import median

import pytest
from solver import answer

from ircot_laboratory import make
from ircot_laboratory.make import main, make_dataset, make_laboratory, write_all_demonstrations
from ircot_laboratory.official.contexts import aliases
from ircot_laboratory.questions.contexts import gold_passages, ranks_of_gold
from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.names import LISTS
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.pooled import make_paragraph, sample_dev_test
from ircotlib.files.paths import PROMPTS, ROOT
from ircotlib.prompting.demonstrations import demonstration_sets, read_demonstrations
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.text import answer_from_chain

CONTENT = "b00caef0d774b4f8"  # a hash of all files of the default laboratory but laboratory.json
KEPT = "0650da8ea3801282"  # the same of that of seed 3, 2560 pages and 60 questions, with downloads
FILES = {
    "hotpotqa": "hotpot_dev_distractor_v1.json",
    "2wikimultihopqa": "dev.json",
    "musique": "musique_ans_v1.0_dev.jsonl",
    "iirc": "dev.json",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    target = tmp_path_factory.mktemp("laboratory") / "7"
    return make_laboratory(target, seed=7, size=1200, questions=200)


@pytest.fixture(scope="module")
def smallest(tmp_path_factory):
    target = tmp_path_factory.mktemp("laboratory") / "3"
    return make_laboratory(target, seed=3, size=700, questions=30)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A laboratory that has more pages than there are names of two words."""
    target = tmp_path_factory.mktemp("laboratory") / "8"
    return make_laboratory(target, seed=8, size=6000, questions=60)


@pytest.fixture(scope="module")
def loaded(folder):
    return {dataset: read(folder, dataset) for dataset in DATASETS}


def read(folder, dataset):
    questions, corpus = read_dataset(dataset, folder)
    return questions, {paragraph.id: paragraph for paragraph in corpus}


def records(folder, dataset):
    text = (folder / dataset / FILES[dataset]).read_text(encoding="utf-8")
    return [*map(json.loads, text.splitlines())] if dataset == "musique" else json.loads(text)


def files_of(folder):
    """The content of all files, by path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def shown(question, corpus):
    """The gold paragraphs and the main passage, each text once."""
    paragraphs = [corpus[id] for id in question.gold]
    paragraphs += [question.passage] if question.passage else []
    return list({paragraph.text: paragraph for paragraph in paragraphs}.values())


# The raw files and the loaders


@pytest.mark.parametrize("dataset", DATASETS)
def test_loaders_give_back_questions_gold_and_the_pages_as_corpus(loaded, dataset):
    (questions, corpus), (world, riddles) = loaded[dataset], make_dataset(dataset)
    by_text = {riddle.text: riddle for riddle in riddles}
    assert list(map(len, sample_dev_test(questions))) == [100, 500]
    for question in questions:
        riddle = by_text[question.text]
        gold = gold_passages(world, riddle)
        assert question.answers[0] == riddle.answer
        assert {p.text for p in shown(question, corpus)} == {passage.text for passage in gold}
        if dataset == "iirc":
            assert question.passage.text == world.passage(*riddle.main).text
            assert question.kind == ("span" if riddle.kind == "span" else "value")
        else:
            ids = {make_paragraph(passage.title, passage.text).id for passage in gold}
            assert set(question.gold) == ids and question.kind == riddle.kind
    texts = {(p.title, p.text) for page in world.pages.values() for p in page}
    texts = {(title.lower(), text) for title, text in texts} if dataset == "iirc" else texts
    assert {(paragraph.title, paragraph.text) for paragraph in corpus.values()} == texts


def test_hotpotqa_and_2wikimultihopqa_point_at_the_sentences_that_state_the_facts(folder):
    for dataset in ("hotpotqa", "2wikimultihopqa"):
        world, riddles = make_dataset(dataset)
        for record, riddle in zip(records(folder, dataset), riddles, strict=True):
            context = dict(record["context"])
            assert len(record["context"]) == len(context) == 10
            for (title, number), fact in zip(record["supporting_facts"], riddle.facts, strict=True):
                assert title == fact.subject and world.value(*fact) in context[title][number]


def test_decompositions_of_musique_name_their_paragraphs(folder):
    for record in records(folder, "musique"):
        paragraphs, steps = record["paragraphs"], record["question_decomposition"]
        assert [p["idx"] for p in paragraphs] == list(range(20))
        hops, ids = f"{len(steps)}hop{'1' * (len(steps) > 2)}", [str(step["id"]) for step in steps]
        assert record["id"] == f"{hops}__{'_'.join(ids)}"
        supporting = {p["idx"] for p in paragraphs if p["is_supporting"]}
        assert {step["paragraph_support_idx"] for step in steps} == supporting
        for n, step in enumerate(steps):
            support = paragraphs[step["paragraph_support_idx"]]
            assert (f"#{n}" if n else support["title"]) in step["question"]
            assert step["answer"] in support["paragraph_text"]
        assert steps[-1]["answer"] == record["answer"]


def test_places_in_iirc_are_where_they_say(folder):
    articles = json.loads((folder / "iirc/context_articles.json").read_text(encoding="utf-8"))
    pages = make_dataset("iirc").world.pages.items()
    plain = {title.lower(): "\n".join(passage.text for passage in page) for title, page in pages}
    assert articles.keys() == plain.keys()
    for passage in records(folder, "iirc"):
        texts, links = plain | {"main": passage["text"]}, passage["links"]
        assert links and all(passage["text"][slice(*x["indices"])] == x["target"] for x in links)
        targets = {link["target"] for link in links} | {passage["title"]}
        for question in passage["questions"]:
            contexts = question["context"]
            assert all(texts[c["passage"]][slice(*c["indices"])] == c["text"] for c in contexts)
            named = {context["passage"] for context in contexts} - {"main"}
            assert named == {link.lower() for link in question["question_links"]}
            assert set(question["question_links"]) <= targets
            for span in question["answer"].get("answer_spans", []):
                assert texts[span["passage"]][span["start"] : span["end"]] == span["text"]


# What the questions need


@pytest.mark.parametrize("laboratory", ["folder", "small", "large"])
def test_questions_are_answered_by_all_their_paragraphs_and_not_by_fewer(laboratory, request):
    for dataset in DATASETS:
        questions, corpus = read(request.getfixturevalue(laboratory), dataset)
        for question in questions:
            paragraphs = shown(question, corpus)
            assert answer(dataset, question.text, paragraphs) == question.answers[0], question
            for missing in paragraphs:
                fewer = [paragraph for paragraph in paragraphs if paragraph != missing]
                assert answer(dataset, question.text, fewer) is None, (question, missing)


def test_nothing_in_the_whole_corpus_gives_another_answer(loaded, large):
    for dataset, (questions, corpus) in loaded.items():
        for question in questions[:20]:
            assert answer(dataset, question.text, corpus.values()) == question.answers[0]
    questions, corpus = read(large, "iirc")  # which has all pages, with any number of questions
    assert len(corpus) > 6000
    for question in questions[:5]:
        assert answer("iirc", question.text, corpus.values()) == question.answers[0]


@pytest.mark.parametrize("size", [2400, 6000])
def test_aliases_are_of_one_thing_only(size):
    world, _ = make_dataset("musique", size=size)
    names = [*world.entities, *(name for names in LISTS.values() for name in names)]
    forms = Counter(form.casefold() for name in names for form in (name, *aliases(world, name)))
    assert forms.most_common(1)[0][1] == 1
    country = world.by_kind["country"][0].name
    *first, last = country.split()
    assert aliases(world, country) == (f"{last} of {' '.join(first)}",)
    assert aliases(world, "1931") == aliases(world, "yes") == ()
    short = {e.name: f"{e.name[0]}. {e.name.split(maxsplit=1)[1]}" for e in world.by_kind["person"]}
    counts = Counter(short.values())
    assert 1 in counts.values() and max(counts.values()) > 1
    expected = {name: (form,) if counts[form] == 1 else () for name, form in short.items()}
    assert {name: aliases(world, name) for name in short} == expected


def test_later_paragraphs_are_found_by_the_right_thought_only(loaded, tmp_path):
    """This is why retrieval with thoughts helps: the question does not find later paragraphs, but
    the sentence before them does.
    """
    for dataset, (questions, corpus) in loaded.items():
        stored = write_corpus(tmp_path / dataset, corpus.values())
        retriever = open_index(stored, tmp_path / f"{dataset} index")
        ranks = ranks_of_gold(questions[:100], make_dataset(dataset).riddles, retriever)
        later = [rank for rank in ranks if rank.by_thought]
        by_question, by_thought = zip(*((r.by_question, r.by_thought) for r in later), strict=True)
        assert len(later) > 50 and median(by_question) > 200 and median(by_thought) <= 3
        assert sum(rank <= 15 for rank in by_question) < 0.05 * len(later)
        assert sum(rank <= 15 for rank in by_thought) > 0.99 * len(later)
        named = [rank for rank in ranks if not rank.by_thought]
        assert {rank.kind for rank in named} <= {"comparison", "bridge_comparison", "count"}
        if dataset != "iirc":  # there the main passage names them, not the question
            assert sum(rank.by_question <= 15 for rank in named) >= 0.97 * len(named)


# Writing it


def test_the_same_bytes_again_by_the_command(folder, tmp_path):
    command = [sys.executable, "-m", "ircotlib", "laboratory", str(tmp_path / "again")]
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    content, again = files_of(folder), files_of(tmp_path / "again")
    assert content == again and len(content) == 1 + 6 + 66 + 7 + 1
    del content["laboratory.json"]
    whole = b"".join(f"{name}\n".encode() + text for name, text in content.items())
    assert blake2b(whole, digest_size=8).hexdigest() == CONTENT


def test_another_seed_and_size(loaded, small):
    for dataset in DATASETS:
        questions, corpus = read(small, dataset)
        assert len(questions) == 200 and len(corpus) > 1000
        same = {q.text for q in loaded[dataset][0]} & {q.text for q in questions}
        assert len(same) < 0.2 * 200  # questions about popular entities, which are in every world


def test_a_smaller_laboratory_keeps_its_bytes(tmp_path):
    """The largest that names of two words suffice for, with the files of the papers' corpora."""
    made = make_laboratory(tmp_path / "kept", seed=3, size=2560, questions=60, downloads=True)
    content = files_of(made)
    del content["laboratory.json"]
    whole = b"".join(f"{name}\n".encode() + text for name, text in content.items())
    assert blake2b(whole, digest_size=8).hexdigest() == KEPT


def test_what_a_large_laboratory_will_take_is_said_before(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(make, "LARGE", 700)
    make_laboratory(tmp_path / "1", seed=3, size=400, questions=30)
    assert capsys.readouterr().err == ""
    make_laboratory(tmp_path / "2", seed=3, size=400, questions=31)
    first, *bar = re.split(r"[\r\n]+", capsys.readouterr().err)
    assert first.startswith("the laboratory of 400 pages and 31 questions for each of 9 data sets ")
    assert "will take about" in first and "/9 [" in "".join(bar)
    monkeypatch.undo()
    make_laboratory(tmp_path / "3", seed=3, size=400, questions=31)
    assert files_of(tmp_path / "2") == files_of(tmp_path / "3")


def test_a_laboratory_is_left_as_it_is_or_replaced_as_a_whole(tmp_path, capsys):
    made = make_laboratory(tmp_path / "x", seed=3, size=700, questions=40)
    before = (made / "musique/musique_ans_v1.0_dev.jsonl").stat()
    assert make_laboratory(made, seed=3, size=700, questions=40) == made
    assert (made / "musique/musique_ans_v1.0_dev.jsonl").stat() == before
    with pytest.raises(SystemExit):
        main([str(made), "--size", "60", "--questions", "150"])
    [line] = capsys.readouterr().err.splitlines()
    assert "make the world larger" in line and len(read_dataset("iirc", made)[0]) == 40
    make_laboratory(made, seed=4, size=700, questions=30)
    assert len(read_dataset("iirc", made)[0]) == 30
    assert {path.name for path in tmp_path.iterdir()} == {"x", "x.lock"}


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("laboratory.json", lambda text: text[:40]),
        ("laboratory.json", lambda text: text.replace(b"musique", b"mosique")),
        ("iirc/context_articles.json", lambda text: text.replace(b"a", b"o")),
        ("musique/musique_ans_v1.0_dev.jsonl", lambda text: None),
    ],
)
def test_a_damaged_laboratory_is_made_anew_and_that_is_said(
    smallest, tmp_path, capsys, name, damage
):
    folder = Path(shutil.copytree(smallest, tmp_path / "copy"))
    about = json.loads((folder / "laboratory.json").read_text())
    setting = {key: about[key] for key in ("seed", "size", "questions")}
    whole = (folder / name).read_bytes()
    damaged = damage(whole)
    (folder / name).unlink() if damaged is None else (folder / name).write_bytes(damaged)
    make_laboratory(folder, **setting)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(str(folder / name)) and line.endswith("; the laboratory is made again")
    assert (folder / name).read_bytes() == whole
    make_laboratory(folder, **setting)
    assert capsys.readouterr().err == ""


def test_the_hash_of_the_generator_covers_programs_and_tables(monkeypatch, tmp_path):
    shutil.copytree(Path(make.__file__).parent, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(make, "__file__", str(tmp_path / "make.py"))
    hashes = {make.hash_generator()}
    tables = [*tmp_path.glob("world/*.csv")]
    for path in (*tables, tmp_path / "questions/walks.py"):
        path.write_bytes(path.read_bytes() + b"\n")
        hashes.add(make.hash_generator())
    assert len(hashes) == 2 + len(tables) > 6


def test_nothing_heavy_is_imported_and_nothing_of_training():
    here = Path(make.__file__).parent
    light = [
        path for room in ("world", "questions", "official") for path in here.glob(f"{room}/*.py")
    ]
    paths = [here / "make.py", here / "judge/laboratory_facts.py", *light]
    names = [".".join(path.relative_to(here.parent).with_suffix("").parts) for path in paths]
    heavy = "torch transformers tokenizers pandas numpy tantivy training".split()
    code = f"import sys, {', '.join(names)}; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
    for path in [*(ROOT / "ircotlib").rglob("*.py"), *here.rglob("*.py")]:
        assert not re.search(r"^\s*(from|import) training\b", path.read_text(), re.M), path


def test_other_files_are_not_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("notes")
    with pytest.raises(ValueError, match="mine holds files that are no laboratory"):
        make_laboratory(tmp_path / "mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "notes"


# Demonstrations


def test_kept_demonstrations_are_what_the_generator_makes(tmp_path):
    made = [(dataset, make_dataset(dataset)) for dataset in DATASETS]
    written = {str(path.relative_to(tmp_path)) for path in write_all_demonstrations(tmp_path, made)}
    assert files_of(PROMPTS / "laboratory") == files_of(tmp_path)
    assert written == {*files_of(tmp_path)}


@pytest.mark.parametrize("laboratory", ["folder", "small", "large"])
def test_demonstrations_are_not_among_the_questions_and_show_what_they_need(laboratory, request):
    folder = request.getfixturevalue(laboratory)
    for dataset in DATASETS:
        asked = {question.text for question in read_dataset(dataset, folder)[0]}
        prompts = folder / "prompts" / dataset
        chains = read_demonstrations(prompts / "no_context_cot_qa_flan_t5.txt")
        answers = {d.id: answer_from_chain(d.answer) for d in chains}
        paths = sorted(prompts.glob("*_qa_flan_t5.txt"))
        assert len(paths) == 8 and len(answers) == 20
        for path in paths:
            for shot in read_demonstrations(path):
                assert shot.question not in asked
                assert "_direct_" not in path.name or shot.answer == answers[shot.id]
                expected = None if path.name.startswith("no_context") else answers[shot.id]
                assert answer(dataset, shot.question, shot.paragraphs) == expected
        named = [
            prompts / f"gold_with_{m}_distractors_context_cot_qa_flan_t5.txt" for m in (1, 2, 3)
        ]
        for shots in zip(*map(read_demonstrations, named), strict=True):
            least, *more = [len(shot.paragraphs) for shot in shots]
            assert more == [least + 1, least + 2]


def test_demonstrations_of_iirc_end_with_the_main_passage_and_know_the_pages(folder):
    names = ("no_context_open_llm_retrieval", "gold_with_2_distractors_context_cot_qa")
    paths = [folder / f"prompts/iirc/{name}_flan_t5.txt" for name in names]
    for titles, chain in zip(*map(read_demonstrations, paths), strict=True):
        [main], needed = titles.paragraphs, titles.answer.split(", ")
        last = chain.paragraphs[-1]
        assert (last.title, last.text) == (main.title, main.text)
        assert main.title not in needed and set(needed) < {p.title for p in chain.paragraphs}
        asked = f"The question is: '{chain.question}'. Generate titles of {len(needed)} Wikipedia"
        assert titles.question.startswith(asked)


def test_three_fixed_sets_of_fifteen_with_all_kinds(folder):
    for dataset in DATASETS:
        examples = read_demonstrations(folder / f"prompts/{dataset}/no_context_cot_qa_flan_t5.txt")
        sets = demonstration_sets(examples, dataset, folder=folder / "prompts")
        assert [len({d.id for d in chosen}) for chosen in sets] == [15, 15, 15]
        assert len({tuple(d.id for d in chosen) for chosen in sets}) == 3
    with pytest.raises(ValueError, match="found no demonstration with id"):
        demonstration_sets(examples, "iirc")  # the authors' own sets, if no folder has others
