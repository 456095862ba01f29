"""Wrong command lines and surroundings: one line, before any notebook starts (docs/faults.md)."""

import json
import socket
import time

import pytest

from ircotlib.command import checks
from ircotlib.command import figures as regenerate
from ircotlib.explore import ask
from ircotlib.files import options as commands
from ircotlib.files.options import parse_changes
from ircotlib.parameters import read_parameters
from ircotlib.running import setup as bench


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run a command line up to the first notebook; return its status and its stderr."""
    started = []
    monkeypatch.setattr(regenerate, "run_notebooks", lambda names, *_: started.extend(names) or [])
    monkeypatch.setattr(checks, "DATA", tmp_path / "data")
    monkeypatch.setattr(regenerate, "DATA", tmp_path / "data")
    monkeypatch.setenv("IRCOT_BATCH", "")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")

    def run(*arguments: str) -> tuple[int, str]:
        try:
            status = regenerate.main([one.replace("TMP", str(tmp_path)) for one in arguments])
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr().err.replace(str(tmp_path), "TMP")
        return (status, said) if not started else (0, f"started {', '.join(started)}")

    return run


WRONG = [
    # the parameters' values (more of them: test_parameters)
    ("seed=x", "seed: found 'x', expected a whole number"),
    ("seed=1.5", "seed: found 1.5, expected a whole number"),
    ("test=2024-01-01", "test: found datetime.date(2024, 1, 1), expected a whole number"),
    ("test=2024-99-99", "found --set 'test=2024-99-99', expected a value in YAML"),
    ("models=x", "models: found 'x', expected a list, as [a, b]"),
    ("models=['']", "models: found '', expected a text that is not empty"),
    ("model=' '", "model: found ' ', expected a text that is not empty"),
    ("chat=maybe", "chat: found 'maybe', expected true or false"),
    ("prices=[1]", "prices: found [1], expected at least 2"),
    ("prices=[1,2,3]", "prices: found [1, 2, 3], expected at most 2"),
    ("timeout=.inf", "timeout: found inf, expected a finite number"),
    ("in_flight=1000000", "in_flight: found 1000000, expected less than or equal to 1024"),
    ("worlds=[]", "worlds: found [], expected at least 1"),
    # what YAML makes of a value
    ("test=010", "found --set 'test=010': YAML reads 010 as 8, expected a plain number"),
    ("ircot_k=[2, 010]", "YAML reads 010 as 8"),
    ("test=1:30", "YAML reads 1:30 as 90"),
    ("test=1_0", "YAML reads 1_0 as 10"),
    ("model=!!python/object/apply:os.system [id]", "expected a value in YAML (could not determine"),
    # a profile is no parameter
    ("profile=paper", "found the parameter 'profile' changed, expected --profile paper"),
    ("profile=../../../c/escape", "found the parameter 'profile' changed"),
    # addresses
    (
        "server=x",
        "server: found the address 'x', expected http://127.0.0.1:8000 or https://host/v1",
    ),
    ("server=http://h:port", "server: found the address 'http://h:port', expected"),
    ("server=http://h:99999", "server: found the address 'http://h:99999', expected"),
    ("server=http://h#x", "server: found the address 'http://h#x', expected"),
    ("server=http://[::1", "server: found the address 'http://[::1', expected"),
    ("server=http://u:p@h", "server: found an address with a user or a password"),
    (
        "retriever=http://host",
        "retriever: found the address 'http://host', expected http://host:9200",
    ),
    ("retriever=http://a:9200,ftp://b:1", "retriever: found the address 'ftp://b:1', expected"),
    ("retriever=https://a:9200/?x=1", "retriever: found the address 'https://a:9200/?x=1', exp"),
    ("retriever=http://u:p@h:9200", "retriever: found an address with a user or a password"),
    # what is named and not there
    ("data_dir=/nonexistent", "data_dir: found no folder /nonexistent, expected one"),
    ("data_dir=TMP/file", "data_dir: found no folder TMP/file, expected one"),
    ("data_dir=TMP/empty", "no questions of hotpotqa: looked for hotpot_dev_distractor_v1.json"),
    ("corpus=full", "corpus: found full and no data_dir, expected the official files' folder"),
    ("demonstrations=TMP/empty", "no prompt file TMP/empty/hotpotqa/gold_with_1_distractors_"),
    ("distractors=[9]", "no prompt file "),
    ("demonstrations=''", "no prompt file hotpotqa/gold_with_1_distractors_context_cot_qa_"),
    ("model=/nonexistent", "model: found no folder /nonexistent, expected a folder of a model, or"),
    ("model=no/such/model", "model: found no folder no/such/model, expected a folder of a model"),
    ("model=../../x", "model: found no folder ../../x, expected a folder of a model"),
    ("model=TMP/empty", "model: found no config.json in TMP/empty, expected a folder of a model"),
    ("model=TMP/file", "model: found no folder TMP/file, expected a folder of a model"),
    ("models=[/nonexistent]", "models: found no folder /nonexistent, expected a folder of a model"),
    ("agent=/nonexistent", "agent: found no folder /nonexistent, expected a folder of a model"),
    ("extractor=/nonexistent", "extractor: found no folder /nonexistent, expected a folder of"),
    ("duplicates=/nonexistent", "duplicates: found no folder /nonexistent, expected a folder of"),
    ("retriever=dense:/nonexistent", "retriever: found no folder /nonexistent, expected a folder"),
    # a question
    ("question=", "found no question, expected one, such as: Who was the mother of"),
    ("question=   ", "found no question, expected one"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[change for change, _ in WRONG])
def test_a_wrong_change_is_one_line_before_any_notebook(command, change, message):
    status, said = command("--set", change)
    assert (status, said.count("\n")) == (2, 1) and message in said
    assert said.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "seed=1", "--set", "seed=2"], "found --set seed 2 times, expected it once"),
        (["--jobs", "x"], "argument --jobs: found 'x', expected a whole number, 1 or more; --help"),
        (["--jobs", "-1"], "argument --jobs: found '-1', expected a whole number, 1 or more"),
        (["--seed", "1"], "unrecognized arguments: --seed 1; --help says more"),
        (["--prof", "mini"], "unrecognized arguments: --prof mini"),
        (["mini"], "unrecognized arguments: mini"),
        (["--set"], "argument --set: expected one argument"),
        (["--only", ""], "found --only , expected one of 00_tour"),
        (["--profile", "../../escape"], "found the profile '../../escape', expected one of mini"),
        (["--set", "corpus=full", "--set", "data_dir=TMP/empty", "--set", "datasets=[eli5]"],
         "no questions of eli5"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)  # fmt: skip
def test_a_wrong_command_line_is_one_line(command, arguments, message):
    status, said = command(*arguments)
    assert (status, said.count("\n")) == (2, 1) and message in said


def test_a_corpus_whose_files_are_not_there_is_told_before_its_questions_are_read(
    command, tmp_path
):
    (tmp_path / "empty/hotpot_dev_distractor_v1.json").write_text("[]")
    changes = ("data_dir=TMP/empty", "datasets=[hotpotqa]", "corpus=full")
    arguments = [word for change in changes for word in ("--set", change)]
    status, said = command(*arguments)
    assert status == 2 and "no full corpus of hotpotqa: looked for enwiki-20171001" in said
    archive = "enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2"
    (tmp_path / "empty" / archive).write_bytes(b"")
    assert command(*arguments)[1].startswith("started")


@pytest.mark.parametrize(
    "changes",
    [
        ("test=100000000000000000000000",),
        ("seed=-1",),
        ("chat=yes",),
        ("released=true",),
        ("demonstrations=''", "distractors=[]"),
        ("systems=[OneR]", "demonstrations=TMP/empty"),
        ("distractors=[]", "demonstrations=/nonexistent"),
        ("server=http://127.0.0.1:1", "model=gpt-x"),
    ],
    ids=" ".join,
)
def test_what_is_right_starts(command, changes):
    status, said = command(*(word for change in changes for word in ("--set", change)))
    assert said.startswith("started 00_tour, ")


def test_an_elasticsearch_that_is_away_is_one_line(command):
    there = socket.create_server(("127.0.0.1", 0))
    port = there.getsockname()[1]
    away, here = "http://127.0.0.1:1", f"http://127.0.0.1:{port}"
    started = time.monotonic()
    for retriever in (f"retriever={away}", f"retrievers=[embedded, {away}]"):
        status, said = command("--set", retriever)
        assert (status, said.count("\n")) == (2, 1)
        assert f"no Elasticsearch answers at {away} (Connection refused); start one" in said
    assert time.monotonic() - started < 10
    assert command("--set", f"retriever={away}", "--only", "05_laboratory")[1].startswith("started")
    assert command("--set", f"retriever={away},{here}")[1].startswith("started")
    there.close()


def test_a_model_server_that_is_away_is_told_and_kept_replies_are_used(capsys, monkeypatch):
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    there = socket.create_server(("127.0.0.1", 0))
    here = f"http://127.0.0.1:{there.getsockname()[1]}"
    p = read_parameters("mini", {"model": "x", "server": f"http://127.0.0.1:1,{here}"})
    checks.check_places(p)
    assert capsys.readouterr().err == (
        "http://127.0.0.1:1/v1 does not answer (Connection refused): only replies that are kept can"
        " be used\n"
    )
    checks.check_places(p, model=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("https_proxy", here)  # only the proxy can find out
    checks.check_places(p.change(server="http://no.such.host"))
    assert capsys.readouterr().err == ""
    there.close()


def test_a_model_of_the_hub_is_looked_for_only_by_notebooks_that_ask_it(command, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    asked = []
    monkeypatch.setattr(checks, "_missing_on_hub", lambda name: asked.append(name) or "no answer")
    some = ("--set", "models=[a/b]", "--set", "model=c/d")
    assert command("--only", "04_ircot", *some)[1] == (
        "error: model: found no folder 'c/d', and the Hugging Face hub gives no model of that name "
        "(no answer); give a folder, or a name on the hub with a network connection\n"
    )
    assert command("--only", "02_index", *some)[1] == "started 02_index"
    assert asked == ["c/d"]


def test_the_hub_that_does_not_answer_is_one_line(monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    started = time.monotonic()
    reason = checks._missing_on_hub("no-such-owner/no-such-model")
    assert reason and "\n" not in reason and time.monotonic() - started < 60


@pytest.mark.parametrize("name", ["IRCOT_DATA", "IRCOT_FIGURES"])
def test_a_file_in_the_place_of_a_folder_is_one_line(command, monkeypatch, tmp_path, name):
    module = {"IRCOT_DATA": "DATA", "IRCOT_FIGURES": "FIGURES"}[name]
    monkeypatch.setattr(checks, module, tmp_path / "file")
    status, said = command()
    assert (status, said.count("\n")) == (2, 1)
    assert (
        f"error: TMP/file: cannot be written to (Not a directory); free it, or set {name}" in said
    )


def test_a_client_that_is_not_installed_is_told(command, monkeypatch):
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    status, said = command("--set", "server=http://127.0.0.1:1")
    assert status == 2 and "found no openai, expected it: pip install -e '.[server]'" in said
    status, said = command("--set", "retriever=http://127.0.0.1:9200")
    assert "pip install -e '.[elasticsearch]'" in said


def test_a_damaged_profile_is_one_line(command, monkeypatch, tmp_path):
    from ircotlib import parameters

    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    for content, message in (
        (b"a: [", "found no YAML"),
        (b"\xff\xfe", "found no YAML"),
        (b"", "found no profile, expected lines as in profiles/mini.yaml"),
        (b"- a", "found no profile"),
        (b"seed: 1", "found no profile"),
    ):
        (tmp_path / "mine.yaml").write_bytes(content)
        status, said = command("--profile", "mine")
        assert (status, said.count("\n")) == (2, 1) and message in said


def test_a_question_is_asked_of_the_systems_and_printed(command, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench, "DATA", tmp_path / "data")
    paragraphs = [{"title": title, "text": f"{title} is old."} for title in ("Ann", "Bob")]
    asked = {"id": "1", "question": "Who?", "answers": ["Ann"], "paragraphs": paragraphs}
    (tmp_path / "empty" / "questions.jsonl").write_text(json.dumps(asked) + "\n")
    changes = ["data_dir=TMP/empty", "datasets=[own]", "model=data/models/mini-base", "dev=0"]
    changes += ["distractors=[]", "systems=[OneR QA]", "question=Who: is 'Ann' #1?"]
    changes = [one.replace("TMP", str(tmp_path)) for one in changes]
    assert regenerate.main([word for one in changes for word in ("--set", one)]) == 0
    retrieved, *_, said = capsys.readouterr().out.strip().split("\n")
    assert retrieved == "1. retrieve 4 with “Who: is 'Ann' #1?” → Ann"
    assert said.startswith("OneR QA answers: ")


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_an_empty_question_is_refused(text):
    with pytest.raises(ValueError, match="found no question, expected one, such as"):
        ask.own_question(text, "musique")


def test_a_long_question_is_cut_with_a_word(capsys):
    question = ask.own_question("Who is the father of " + "the father of " * 500, "musique")
    assert len(question.text) <= 1000
    assert capsys.readouterr().err == "the question is cut after 1,000 of its 7,020 characters\n"


def test_the_same_change_twice_is_refused():
    with pytest.raises(ValueError, match="found --set seed 3 times, expected it once"):
        parse_changes(["seed=1", "test=2", "seed=1", "seed=3"])


def test_an_error_of_the_system_is_one_line_with_its_kind(capsys):
    assert commands.say_error(OSError(28, "No space left\non device"), 1) == 1
    assert capsys.readouterr().err == "error: OSError: [Errno 28] No space left on device\n"
