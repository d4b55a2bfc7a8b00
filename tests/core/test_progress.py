"""Progress in a log: now and then a line with what is done, how fast, and what remains."""

import logging
import time

import pytest

from triptych.core.progress import Progress


@pytest.fixture
def lines(monkeypatch, caplog):
    """Runs a progress by steps of (seconds, units); gives the lines that it logs."""

    def run(steps, *about, **more):
        now = [0.0]
        caplog.clear()
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        with caplog.at_level(logging.INFO), Progress("hopper", *about, **more) as progress:
            for seconds, units in steps:
                now[0] += seconds
                progress.advance(units)
        return [record.message.removeprefix("hopper: ") for record in caplog.records]

    return run


def test_lines_tell_rate_and_remaining_time(lines):
    assert lines(30 * [(1, 1)], 100, "updates") == [
        "20 of 100 updates (1.0 a second, 80 s left)",
        "30 of 100 updates (1.0 a second, 70 s left)",
    ]


def test_a_resumed_job_counts_its_rate_from_where_it_resumed(lines):
    said = lines([(5, 5)], 100, "updates", done=90)
    assert said == ["95 of 100 updates (1.0 a second, 5 s left)"]


def test_the_last_line_is_said_once_and_one_unit_not_at_all(lines):
    assert len(lines([(25, 2)], 2, "inputs")) == 1
    assert lines([(25, 1)], 1, "inputs") == lines([], 9, "inputs") == []


def test_a_film_that_has_more_frames_than_it_promises_is_never_more_than_whole(lines):
    assert lines([(1, 50)], 48, "frames") == ["50 of 50 frames (50.0 a second, 0 s left)"]


def test_units_that_differ_are_weighed_for_the_time_that_is_left(lines):
    """Ten take a second each, then ten four: of 50 seconds 22 are over."""
    cost = [*range(0, 10), *range(10, 51, 4)].__getitem__
    steps = 10 * [(1, 1)] + 3 * [(4, 1)]
    assert lines(steps, 20, "evaluations", work=cost)[0].endswith("28 s left)")


def test_what_comes_once_does_not_count_in_the_remaining_time(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO), Progress("index", 10, "files") as progress:
        now[0] += 90.0
        progress.restart()
        now[0] += 2.0
        progress.advance()
    assert "1 of 10 files (0.5 a second, 18 s left)" in caplog.text
