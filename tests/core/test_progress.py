"""Progress in a log: now and then a line with what is done, how fast, and what remains."""

import logging
import time

from triptych.core.progress import Progress


def test_lines_tell_rate_and_remaining_time(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO), Progress("hopper", 100, "updates", every=20) as progress:
        for _ in range(30):
            now[0] += 1.0
            progress.advance()
    assert [record.message for record in caplog.records] == [
        "hopper: 20 of 100 updates (1.0 a second, 80 s left)",
        "hopper: 30 of 100 updates (1.0 a second, 70 s left)",
    ]


def test_what_comes_once_does_not_count_in_the_remaining_time(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO), Progress("index", 10, "files") as progress:
        now[0] += 90.0
        progress.restart()
        now[0] += 2.0
        progress.advance()
    assert "1 of 10 files (0.5 a second, 18 s left)" in caplog.text


def test_a_resumed_job_counts_its_rate_from_where_it_resumed(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO), Progress("hopper", 100, "updates", done=90) as progress:
        now[0] += 5.0
        progress.advance(5)
    assert "95 of 100 updates (1.0 a second, 5 s left)" in caplog.text
