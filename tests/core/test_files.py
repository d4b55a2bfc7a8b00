"""A file is whole or absent, and a result replaces nothing."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.core.files import Results, atomic_path, clear_partial


def test_a_block_that_fails_leaves_the_earlier_file_and_no_litter(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_has_the_rights_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "x") as temporary:
            temporary.write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


@pytest.fixture(params=["hard links", "none"])
def links(request, monkeypatch):
    """With hard links, or as on FAT."""
    if request.param == "none":

        def refused(*_: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refused)
    return request.param


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_result_takes_the_next_name_where_one_is_taken_meanwhile(tmp_path, links):
    (tmp_path / "A.png").write_text("other")
    results = Results()
    for text in ("one", "two"):
        with results.new(tmp_path / "a.png") as temporary:
            temporary.write_text(text)
            if text == "two":
                (tmp_path / "a-3.png").write_text("made meanwhile")
    assert contents(tmp_path) == {
        "A.png": "other",
        "a-2.png": "one",
        "a-3.png": "made meanwhile",
        "a-4.png": "two",
    }
    assert [path.name for path in results.written] == ["a-2.png", "a-4.png"]


def test_a_name_that_is_too_long_with_its_number_is_cut(tmp_path):
    for _ in range(2):
        results = Results()
        with results.new(tmp_path / f"{'é' * 127}.png") as temporary:  # of two bytes each
            temporary.write_text("")
    names = {f"{'é' * 125}.png", f"{'é' * 124}-2.png"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_what_another_made_is_replaced_if_asked_but_never_an_own_result(tmp_path, links):
    (tmp_path / "a.png").write_text("old")
    (tmp_path / "a-2.png").write_text("old, too")
    results = Results(overwrite=True)
    for text in ("one", "two", "three"):
        with results.new(tmp_path / "a.png") as temporary:
            temporary.write_text(text)
    assert contents(tmp_path) == {"a.png": "one", "a-2.png": "two", "a-3.png": "three"}


def test_a_repeated_result_is_known_by_its_bytes_and_an_edited_one_stays(tmp_path, links):
    (tmp_path / "a.png").write_text("one")
    (tmp_path / "b.png").write_text("edited")
    os.utime(tmp_path / "a.png", (1, 1))
    results = Results(repeated=True)
    for name, text in (("a.png", "one"), ("b.png", "two"), ("a.png", "one")):
        with results.new(tmp_path / name) as temporary:
            temporary.write_text(text)
    assert contents(tmp_path) == {"a.png": "one", "b.png": "edited", "b-2.png": "two"} | {
        "a-2.png": "one"  # another input's: it is of the same call
    }
    assert (tmp_path / "a.png").stat().st_mtime == 1


MANY = """
import errno, os, sys
from pathlib import Path
from triptych.core.files import Results
def refused(*_): raise OSError(errno.EOPNOTSUPP, "Operation not supported")
if sys.argv[2] == "none": os.link = refused
sys.stdin.readline()
for number in range(40):
    with Results().new(Path("out/x.txt")) as temporary:
        temporary.write_text(f"{sys.argv[1]} {number}")
"""


def test_of_two_calls_at_once_no_result_replaces_another(tmp_path, links):
    calls = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, name, links],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path("workflow_scripts").resolve())},
        )
        for name in ("one", "other")
    ]
    for call in calls:
        call.stdin.write("\n")
        call.stdin.flush()
    assert [call.wait(60) for call in calls] == [0, 0]
    expected = {f"{name} {number}" for name in ("one", "other") for number in range(40)}
    found = contents(tmp_path / "out")
    assert len(found) == 80 and set(found.values()) == expected


def test_a_stop_at_the_moment_of_the_name_leaves_a_whole_file(tmp_path, monkeypatch):
    link = os.link

    def stopped(*paths: object) -> None:
        link(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", stopped)
    with pytest.raises(KeyboardInterrupt), Results().new(tmp_path / "a") as temporary:
        temporary.write_text("whole")
    assert contents(tmp_path) == {"a": "whole"}


def test_old_temporary_files_go_and_those_that_are_written_stay(tmp_path):
    for name in (".partial-0123abcd-old", ".partial-0123abcd-new", ".partial-mine"):
        (tmp_path / name).touch()
    os.utime(tmp_path / ".partial-0123abcd-old", (1, 1))
    clear_partial(tmp_path, hours=24)
    assert set(contents(tmp_path)) == {".partial-0123abcd-new", ".partial-mine"}
