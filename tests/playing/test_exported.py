"""Call caches that travel: their union, and replies exported into one file."""

import json
import lzma
import random
from dataclasses import replace
from shutil import copytree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ircotlib.engine.exported import Replaying, open_calls, read_exported, write_exported
from written import write_half

from ircot_laboratory.make import make_laboratory
from ircotlib.__main__ import main
from ircotlib.command import calls as command
from ircotlib.engine import exported
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import parameters_of, read_about, read_lines, write_about
from ircotlib.files.options import say_error
from ircotlib.files.progress import show_progress
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, key
from ircotlib.systems import all_systems

# any text but halves of surrogate pairs, which no reply holds (JSON escapes them)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TABLES = st.dictionaries(st.text("0123456789abcdef", min_size=1, max_size=2), TEXTS, max_size=20)
# tables that agree, because a key decides its reply
AGREEING = st.lists(st.sets(st.integers(0, 30)), min_size=3, max_size=3)
HEAD = {"profile": ["mini"], "seed": [0], "model": [["m", "12345678"]], "torch": ["2"]}
FIRST = {"ircotlib calls": 1, "replies": 1} | HEAD
few = settings(max_examples=20, deadline=None, derandomize=True)


def cache_of(replies):
    calls = Calls()
    calls.put_many(replies)
    return calls


def all_of(calls) -> dict[str, str]:
    return {key: reply for page in calls.pages() for key, reply in page.items()}


def union(*tables) -> dict[str, str]:
    first, *others = map(cache_of, tables)
    before = len(first)
    added = first.merge(others)
    assert added == len(first) - before
    return all_of(first)


@few
@given(AGREEING)
def test_a_union_is_commutative_associative_and_idempotent(sets):
    a, b, c = ({f"{n:02}": f"reply {n}" for n in numbers} for numbers in sets)
    assert union(a, b) == union(b, a) == a | b
    assert union(union(a, b), c) == union(a, union(b, c)) == union(a, b, c) == a | b | c
    assert union(a, a) == union(a) == a


@few
@given(TABLES, TABLES, TABLES)
def test_a_union_of_tables_that_differ_is_refused_and_adds_nothing(a, b, c):
    into, others = cache_of(a), [cache_of(b), cache_of(c)]
    into.path, others[0].path, others[1].path = "A", "B", "C"
    pairs = [*a.items(), *b.items(), *c.items()]
    if len(dict(pairs)) == len(set(pairs)):
        into.merge(others)
        assert all_of(into) == a | b | c
    else:
        with pytest.raises(DataError, match="expected the same reply; .* Nothing was added") as e:
            into.merge(others)
        assert all_of(into) == a
        name = str(e.value).split(":")[0].removeprefix("call ")
        holders = {p: t[name] for p, t in {"A": a, "B": b, "C": c}.items() if name in t}
        told = [path for path, reply in holders.items() if f"{reply!r} in {path}" in str(e.value)]
        assert len({holders[path] for path in told}) == 2


def test_a_union_of_many_pages_in_files_with_a_damaged_reply(tmp_path, capsys):
    replies = {f"{number:032x}": str(number) for number in range(12_000)}
    halves = [dict([*replies.items()][:11_000]), dict([*replies.items()][9_000:])]
    with Calls(tmp_path / "a") as a, Calls(tmp_path / "b") as b:
        a.put_many(halves[0])
        b.put_many(halves[1])
        b._connection.execute("UPDATE calls SET reply = 'x' WHERE reply = '9500'")
        assert a.merge([b, a, b]) == 1_000 and all_of(a) == replies
    assert "found 1 damaged replies" in capsys.readouterr().err


@few
@given(TABLES)
def test_what_is_exported_is_read_again_and_equal_replies_make_equal_files(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("exported")
    table = {key: json.dumps(text, ensure_ascii=False) for key, text in table.items()}
    write_exported(folder / "a", cache_of(table), HEAD)
    write_exported(folder / "b", cache_of(dict(reversed(table.items()))), HEAD)
    about, calls = read_exported(folder / "a")
    assert all_of(calls) == table and (about["seed"], about["replies"]) == ([0], len(table))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_a_file_that_was_cut_off_or_changed_by_a_bit_or_is_another_is_one_line(tmp_path):
    path = tmp_path / "paper.xz"
    write_exported(path, cache_of({f"{n:032x}": f'"text {n}"' for n in range(20)}), HEAD)
    whole, chance = path.read_bytes(), random.Random(2)
    contents = [whole[:length] for length in range(len(whole))]
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << chance.randrange(8)
        contents.append(bytes(changed))
    lines = [b"", b"5", b"[]", b"{}", b'{"ircotlib calls": 2}', b"\xff", b'{"ircotlib calls": 1}']
    for n in (1, 2):
        first = json.dumps(FIRST | {"replies": n}).encode()
        lines.append(first + b'\n["\\"a\\"", "k"]\n["\\"b\\"", "k"]')
    contents += [*map(lzma.compress, lines), b"my notes", b"PK\x03\x04"]
    refused = 0
    for content in contents:
        path.write_bytes(content)
        try:
            read_exported(path)
        except DataError as error:
            refused += 1
            assert str(error).startswith(f"{path}: found no whole file") and "\n" not in str(error)
    assert refused == len(contents) - 1  # lines[7]: the first of two replies to a key, as told
    with pytest.raises(UserError, match="found no such file"):
        read_exported(tmp_path / "none")


@pytest.mark.parametrize(
    ("first", "row"),
    [
        *((name, None) for name in ("replies", "profile", "seed", "model")),  # is missing
        ({"model": None}, None),
        ({"model": [["m"]]}, None),
        ({"model": [["m", 5]]}, None),
        ({"model": {"m": "12345678"}}, None),
        ({"profile": "mini"}, None),
        ({"seed": ["0"]}, None),
        ({"torch": None}, None),
        ({"torch": "2"}, None),
        ({"numpy": [2]}, None),
        ({"replies": "1"}, None),
        ({"replies": True}, None),
        ({}, '[5, "k"]'),
        ({}, "[null, null]"),
        ({}, '["5", 5]'),
        ({}, '[["5"], "k"]'),
        ({}, '["5", "k", "k"]'),
        ({}, '["no JSON", "k"]'),
        ({}, '["", "k"]'),
        ({}, r'["\"\ud800\"", "k"]'),
        ({}, "7"),
        ({}, "[["),
        ({}, "\n"),
    ],
)
def test_of_exported_calls_with_anything_odd_nothing_is_used(first, row, tmp_path, capsys):
    head = {name: value for name, value in FIRST.items() if name != first}
    head |= first if isinstance(first, dict) else {}
    pairs = ['["5", "k"]'] if row is None else ['["6", "j"]', row]
    path, into = tmp_path / "odd.xz", tmp_path / "into.sqlite"
    head |= {"replies": 2} if row else {}
    path.write_bytes(lzma.compress("\n".join([json.dumps(head), *pairs]).encode()))
    assert main(["calls", "merge", str(into), str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: found no whole file") and error.count("\n") == 1
    with pytest.raises(DataError, match="found no whole file of exported calls"):
        with command.exchanging(read_parameters("mini"), path):
            pass
    assert not into.exists()


ODD = ["\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\u202etxt.exe", "a\r\nb\tc", "\x00\x08"]


@pytest.mark.parametrize("odd", ODD)
def test_what_others_wrote_reaches_no_terminal_as_control_codes(odd, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "DATA", tmp_path)
    head = HEAD | {"profile": [odd], "torch": [odd], "model": [[odd, odd]]}
    write_exported(tmp_path / "file", cache_of({"k": '"5"'}), head)
    with command.exchanging(read_parameters("mini"), tmp_path / "file"):
        command._compare({"k": json.dumps(odd, ensure_ascii=False)}, {"k": '"5"'})
    say_error(DataError(f"found {odd}, expected something else"), 1)
    with show_progress(f"data set {odd}", 10) as show:
        show(5, 10)
    for told in capsys.readouterr():
        lines = told.replace("\r", "\n").replace("\x1b[A", "").split("\n")  # of the bar itself
        assert all(line.isprintable() for line in lines), told


class Capitals:
    """Writes the prompt in capitals, and remembers what it was asked."""

    answers, fingerprint, decode = Generate, "capitals", staticmethod(json.loads)

    def __init__(self):
        self.asked = []

    def answer(self, requests):
        for number, request in enumerate(requests):
            self.asked.append(request.prompt)
            yield number, json.dumps({"text": request.prompt.upper()})


def ask(*prompts):
    def program(prompt):
        return (yield Generate(prompt))["text"]

    return {prompt: program(prompt) for prompt in prompts}


def test_a_cache_that_plays_exported_replies_asks_only_for_what_is_drawn():
    keys = {prompt: key(Generate(prompt), "capitals") for prompt in "abc"}
    published = cache_of({keys["a"]: '{"text": "A"}', keys["b"]: '{"text": "published"}'})
    own = cache_of({keys["a"]: '{"text": "own"}', keys["c"]: '{"text": "C"}'})
    calls, capitals = Replaying(own, published, remedy="ask your aunt"), Capitals()

    def play(*prompts):
        return [o.result for o in run(ask(*prompts), [capitals], calls)[0].values()]

    assert play("a", "b", "c") == ["A", "published", "C"] and capitals.asked == []
    with pytest.raises(RuntimeError, match=r"found 1 requests .*ask your aunt.*Generate.*'new'"):
        play("a", "new")
    again = replace(calls, again=frozenset([keys["a"], keys["b"]]), used=Calls())
    calls = again
    assert play("a", "b", "c") == ["A", "published", "C"] and capitals.asked == ["a", "b"]
    texts = {prompt: json.loads(again.used.get_many([k])[k])["text"] for prompt, k in keys.items()}
    assert texts == {"a": "A", "b": "B", "c": "C"}  # what came again, and what was read
    assert play("a", "b") == ["A", "published"] and capitals.asked == ["a", "b"]
    assert calls.again == set() and len(own) == 2


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """A run of IRCoT QA with a shipped model, all files in the test's folder."""
    for module in (setup, command):
        monkeypatch.setattr(module, "DATA", tmp_path)
    for name in (exported.EXPORTED, exported.ASK_AGAIN, exported.USED):
        monkeypatch.setenv(name, "")
    laboratory = make_laboratory(tmp_path / "world" / "small", 5, 100, 10)
    changes = {"data_dir": str(laboratory), "dev": 0, "test": 2, "datasets": ["hotpotqa"]}
    changes |= {"distractors": [], "model": "data/models/mini-base", "max_steps": 2}
    bench = setup.open_setup(read_parameters("mini", changes), "hotpotqa", "mine")
    run_system(bench, all_systems()["IRCoT QA"], k=2)
    open_calls.cache_clear()
    [path] = tmp_path.glob("runs/**/run.json")
    return path.parent


def test_runs_are_exported_and_played_elsewhere_without_asking(run_folder, tmp_path, capsys):
    file = tmp_path / "paper.xz"
    other = key(Generate("not of this run"), "some model")
    with Calls(tmp_path / "calls.sqlite") as calls:
        needed = all_of(calls)
        calls.put_many({other: '"x"'})
    write_half(run_folder)
    of_notebook = tmp_path / "runs" / "mine"  # as 10_your_own leaves some
    copytree(run_folder, of_notebook)
    about = {k: v for k, v in read_about(run_folder).items() if k != "checksum"}
    write_about(of_notebook, about | {"system": "Mine"})
    gone = {"two_step_k": [3]}, {"dataset_of_mine": "x"}, {"systems": ["Two-step"]}
    for number, parameters in enumerate(gone):  # of systems that are there no longer
        copytree(run_folder, tmp_path / f"runs/gone{number}")
        changed = about | {"parameters": about["parameters"] | parameters}
        write_about(tmp_path / f"runs/gone{number}", changed)
    other = setup.runs_folder(parameters_of(about).other_reader(), "mine")
    other.mkdir()
    assert main(["calls", "export", str(tmp_path / "runs"), str(file)]) == 0
    told = capsys.readouterr()
    assert f"{file}: {len(needed)} replies, " in told.out
    assert f"{of_notebook}: left out, as no system 'Mine' is installed; figures --exp" in told.err
    for number in range(len(gone)):
        assert f"{tmp_path}/runs/gone{number}: left out, as " in told.err
    assert f"{other}: not exported, but the same notebook reads it: name it, or" in told.err
    assert told.err.count("\n") == 2 + len(gone)
    assert main(["calls", "export", str(of_notebook), str(tmp_path / "none.xz")]) == 2
    assert "found 1 runs, all left out" in capsys.readouterr().err
    open_calls.cache_clear()
    about, replies = read_exported(file)
    assert all_of(replies) == needed and about["profile"] == ["mini"] and about["seed"] == [0]
    [[name, fingerprint]] = about["model"]
    assert name == "data/models/mini-base" and len(fingerprint) == 32

    (tmp_path / "calls.sqlite").unlink()  # another machine
    p = read_parameters("mini", json.loads((run_folder / "run.json").read_text())["parameters"])
    lines = read_lines(run_folder, json.loads((run_folder / "run.json").read_text()))
    with command.exchanging(p, file, recompute=3):
        open_calls.cache_clear()
        bench = setup.open_setup(p, "hotpotqa", "mine")
        run_system(bench, all_systems()["IRCoT QA"], k=2)
    about = json.loads((run_folder / "run.json").read_text())
    assert read_lines(run_folder, about) == lines
    computed = sum(kind["computed"] for kind in about["counts"].values())
    assert computed == 3 and len(needed) > 5
    assert "asked for 3 of 3 replies again: 3 are equal, 0 are not" in capsys.readouterr().out
    with pytest.raises(
        RuntimeError, match="found 2 requests without a reply in .*leave --calls out"
    ):
        run_system(bench, all_systems()["IRCoT QA"], k=3)

    (tmp_path / "calls.sqlite").unlink()
    assert main(["calls", "merge", str(tmp_path / "calls.sqlite"), str(file), str(file)]) == 0
    assert f"added {len(needed)} replies" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("again", "equal"),
    [
        ('{"samples": [["Iron Castle", -0.212261025]], "tokens": 3}', True),
        ('{"samples": [["Iron Castle", -0.2132]], "tokens": 3}', False),
        ('{"samples": [["Iron Castles", -0.21226092]], "tokens": 3}', False),
        ('{"samples": [["Iron Castle", -0.21226092]], "tokens": 4}', False),
        ('{"samples": [["Iron Castle", -0.21226092], ["a", -1.5]], "tokens": 3}', False),
    ],
)
def test_a_reply_is_equal_but_for_the_last_decimals_of_its_log_probability(again, equal, capsys):
    published = '{"samples": [["Iron Castle", -0.21226092]], "tokens": 3}'
    command._compare({"a": published, "b": "null"}, {"a": again})
    told = capsys.readouterr().out
    assert f"of 2 replies again: {int(equal)} are equal, {int(not equal)} are not" in told
    assert (again in told) is not equal


def test_replies_of_another_model_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "DATA", tmp_path)
    p = read_parameters("mini", {"model": "data/models/mini-base", "agent": ""})
    write_exported(tmp_path / "file", Calls(), HEAD | {"model": [[p.model, "12345678"]]})
    with pytest.raises(UserError, match="file: found replies of .*mini-base with fingerprint 123"):
        with command.exchanging(p, tmp_path / "file"):
            pass
    for file, to in ((None, None), (tmp_path / "file", tmp_path / "to")):
        with pytest.raises(UserError, match="found --recompute, expected --calls with it, and no"):
            with command.exchanging(p, file, 5, to):
                pass


def test_runs_whose_replies_are_gone_or_differ_are_not_exported(run_folder, tmp_path, capsys):
    with Calls(tmp_path / "calls.sqlite") as calls:
        replies = all_of(calls)
        texts = {k: reply for k, reply in replies.items() if "prompt_tokens" in reply}
        (first, reply), *_ = texts.items()
        changed = json.dumps(json.loads(reply) | {"text": "So the answer is: no."})
        calls._connection.execute("DELETE FROM calls WHERE key = ?", [first])
        calls.put_many({first: changed})
    arguments = ["calls", "export", str(run_folder), str(tmp_path / "file")]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "run its notebook again" in error and error.count("\n") == 1
    with Calls(tmp_path / "calls.sqlite") as calls:
        calls._connection.execute("DELETE FROM calls")
    open_calls.cache_clear()
    assert main(arguments) == 1
    assert "found 2 requests without a reply" in capsys.readouterr().err
    assert main(["calls", "export", str(tmp_path / "world"), str(tmp_path / "file")]) == 2
    assert "found no run.json, expected finished runs" in capsys.readouterr().err
    assert not (tmp_path / "file").exists()
