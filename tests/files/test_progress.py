"""Progress: items pass through unchanged, and batch mode prints plain lines instead of bars."""

import time

from ircotlib.files import progress
from ircotlib.files.progress import say_if_long, show_progress, track


def test_tracked_items_are_the_items():
    assert list(track(list(range(2500)), "numbers")) == list(range(2500))


def test_batch_prints_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setenv("IRCOT_BATCH", "1")
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with show_progress("index", 10) as show:
        for done, now[0] in ((1, 1.0), (4, 31.0), (5, 40.0), (10, 62.0)):
            show(done, 10)
    assert capsys.readouterr().err == "index: 4 of 10\nindex: 10 of 10\n"


def test_only_long_work_is_told_and_not_in_batch(monkeypatch, capsys):
    monkeypatch.delenv("IRCOT_BATCH", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.2)
    with say_if_long("short work"):
        pass
    with say_if_long("long work"):
        time.sleep(0.5)
    monkeypatch.setenv("IRCOT_BATCH", "1")
    with say_if_long("work in batch"):
        time.sleep(0.5)
    assert capsys.readouterr() == ("", "long work\n")
