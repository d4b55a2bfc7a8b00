"""The records of what was tried, and the table made from them."""

import pytest
import reliability


def test_records_of_several_processes_add_up_in_the_table(tmp_path):
    (tmp_path / "1.jsonl").write_text(
        '{"kind": "kill", "subject": "rl_train", "outcome": "same bytes", "times": 3}\n'
        '{"kind": "download", "subject": "one: 404", "outcome": "clear error", "times": 1}\n'
        '{"kind": "download", "subject": "other: 404", "outcome": "clear error", "times": 2}\n'
        '{"kind": "download", "subject": "other: 500", "outcome": "clear error", "times": 1}\n'
    )
    (tmp_path / "2.jsonl").write_text(
        '{"kind": "kill", "subject": "rl_train", "outcome": "same bytes", "times": 4}\n'
    )
    page = tmp_path / "page.md"
    page.write_text(f"before\n{reliability.BEGIN}\nold\n{reliability.END}\nafter\n")
    reliability.main(tmp_path, page)
    lines = page.read_text().splitlines()
    assert lines[:2] == ["before", reliability.BEGIN]
    assert lines[2].endswith(": 11 faults.")
    assert lines[6:] == [
        "| SIGKILL, then run again | rl_train | 7 | same bytes |",
        "| a download | 404, in 2 rules or variants | 3 | clear error |",
        "| a download | 500 | 1 | clear error |",
        reliability.END,
        "after",
    ]


def test_a_kind_that_the_table_lacks_is_refused():
    with pytest.raises(SystemExit, match="unknown kinds \\['kil'\\]"):
        reliability.table({("kil", "rl_train", "same bytes"): 1}, "2026-11-20", "2 cores")


def test_a_page_is_left_as_it_is_when_nothing_was_recorded(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text")
    with pytest.raises(SystemExit, match="no records"):
        reliability.main(tmp_path, page)
    assert page.read_text() == "text"
