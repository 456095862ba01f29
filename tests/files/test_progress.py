"""Progress: items pass through unchanged, and batch mode prints plain lines instead of bars."""

from ircotlib.files import progress
from ircotlib.files.progress import show_progress, track


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
