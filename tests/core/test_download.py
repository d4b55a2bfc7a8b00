"""Downloads against a server on this machine that misbehaves in the ways that real ones do."""

import hashlib
import json
import logging
import shutil
import threading
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from download_server import (
    Behaviour,
    Handler,
    answer,
    cut,
    login_page,
    served,
    serving,
    status,
    wrong_start,
)

from triptych.core import download as module
from triptych.core.download import DownloadError, download
from triptych.core.errors import InputError

CONTENT = np.random.default_rng(0).bytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OTHER = np.random.default_rng(1).bytes(3_000_000)


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour(CONTENT)


@pytest.fixture
def url(behaviour: Behaviour) -> Iterator[str]:
    with serving(behaviour) as address:
        yield f"{address}/data/file.hdf5"


def fetch(url: str, path: Path, **settings: Any) -> None:
    """`download` without the long pauses."""
    download(url, path, **{"wait_seconds": 0.01, "attempts": 3, **settings})


def resumed_from(request: dict[str, str]) -> int:
    return int(request.get("Range", "bytes=0-")[6:-1])


def leftovers(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if item != path)


def test_a_good_file_arrives_and_nothing_else_stays(url: str, tmp_path: Path) -> None:
    fetch(url, tmp_path / "f.hdf5", size=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "f.hdf5").read_bytes() == CONTENT
    assert leftovers(tmp_path / "f.hdf5") == []


@pytest.mark.parametrize("tells_length", [True, False])
def test_cut_connections_are_continued_where_they_broke(
    url: str, behaviour: Behaviour, tmp_path: Path, tells_length: bool
) -> None:
    behaviour.faults = [cut(1_200_000), cut(900_000)]
    behaviour.tells_length = tells_length
    fetch(url, tmp_path / "f", size=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert [resumed_from(request) for request in behaviour.requests] == [0, 1_200_000, 2_100_000]
    assert {request.get("If-Range") for request in behaviour.requests[1:]} == {'"one"'}


def test_a_cut_answer_without_a_length_is_noticed_by_its_checksum(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.tells_length = False
    behaviour.faults = [cut(1_200_000)]
    with pytest.raises(DownloadError, match=f"expected sha256 {SHA256}, found .*Run again"):
        fetch(url, tmp_path / "f", sha256=SHA256)
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_tells_length_or_checksum_nothing_is_taken(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.tells_length = False
    with pytest.raises(DownloadError, match="nobody says how long this file is"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cuts", [0, 1])
def test_an_answer_in_chunks_says_itself_where_it_ends(
    url: str, behaviour: Behaviour, tmp_path: Path, cuts: int
) -> None:
    behaviour.faults = [cut(1_200_000, chunked=True)] * cuts + [served(chunked=True, pieces=9)]
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_file_longer_than_its_server_tells_is_refused(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.always = served(told=0.5)
    with pytest.raises(DownloadError, match="a length of 1500000 bytes, and the file goes on"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json")
    assert list(tmp_path.iterdir()) == []


def test_a_web_page_is_not_the_file_and_costs_nothing_of_what_came(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [cut(1_200_000), login_page]
    with pytest.raises(DownloadError, match="a web page came instead of the file"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json")
    assert leftovers(tmp_path / "f") == ["f.part", "f.part.json"]
    assert (tmp_path / "f.part").stat().st_size == 1_200_000
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_packed_file_is_refused(url: str, behaviour: Behaviour, tmp_path: Path) -> None:
    behaviour.faults = [answer(200, b"packed", Content_Encoding="gzip")]
    with pytest.raises(DownloadError, match=r"sends the file packed \(gzip\)"):
        fetch(url, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_answer_is_no_file(url: str, behaviour: Behaviour, tmp_path: Path) -> None:
    behaviour.always = answer(200, b"")
    with pytest.raises(DownloadError, match=r"the answer was empty, 3 times.*Run again later"):
        fetch(url, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_a_server_that_drips_is_given_up(url: str, behaviour: Behaviour, tmp_path: Path) -> None:
    behaviour.always = served(pieces=3_000_000, pause=0.05)
    with pytest.raises(DownloadError, match=r"only \d+ bytes came within 0 s, 3 times in a row"):
        fetch(url, tmp_path / "f", timeout_seconds=0.2, sha256=SHA256)
    behaviour.behave()
    fetch(url, tmp_path / "f", sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert resumed_from(behaviour.requests[-1]) > 0


def test_a_file_that_the_caller_refuses_is_deleted_and_not_recorded(
    url: str, tmp_path: Path
) -> None:
    def check(file: Path) -> None:
        assert file.read_bytes() == CONTENT
        raise InputError("not what it should be")

    with pytest.raises(InputError, match="not what it should be"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json", check=check)
    assert list(tmp_path.iterdir()) == []


def test_a_whole_file_that_could_not_be_used_yet_is_not_fetched_again(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    def check(file: Path) -> None:
        raise OSError("no room to unpack")

    with pytest.raises(OSError, match="no room"):
        fetch(url, tmp_path / "f", check=check)
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert resumed_from(behaviour.requests[-2]) == len(CONTENT)


def test_the_next_run_continues_what_an_earlier_one_left(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [cut(1_000_000), status(503), status(503), status(503)]
    with pytest.raises(DownloadError, match=r"503, 3 times in a row.*f\.part: run again later"):
        fetch(url, tmp_path / "f")
    assert not (tmp_path / "f").exists()
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert resumed_from(behaviour.requests[-1]) > 900_000


def test_many_cuts_are_borne_as_long_as_something_new_comes(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [cut(250_000) for _ in range(9)]
    fetch(url, tmp_path / "f", attempts=2)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_server_without_ranges_that_always_cuts_is_given_up(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.ranges = False
    behaviour.faults = [cut(1_000_000) for _ in range(50)]
    with pytest.raises(DownloadError, match="connection was cut, 3 times in a row"):
        fetch(url, tmp_path / "f")
    assert len(behaviour.requests) < 6


def test_a_server_that_ignores_the_range_starts_over(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.ranges = False
    behaviour.faults = [cut(2_000_000)]
    fetch(url, tmp_path / "f", sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("by", ["etag", "date"])
def test_a_file_that_changed_between_the_parts_starts_over(
    url: str, behaviour: Behaviour, tmp_path: Path, by: str
) -> None:
    if by == "date":
        behaviour.etag, behaviour.last_modified = 'W/"weak"', formatdate(0, usegmt=True)

    def cut_then_change(handler: Handler) -> None:
        handler.serve(cut_after=1_000_000)
        behaviour.content = OTHER
        behaviour.etag = '"two"' if by == "etag" else behaviour.etag
        behaviour.last_modified = formatdate(9e8, usegmt=True) if by == "date" else None

    behaviour.faults = [cut_then_change]
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == OTHER


def test_without_a_validator_only_a_checksum_permits_to_resume(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.etag = None
    behaviour.faults = [cut(1_000_000)]
    fetch(url, tmp_path / "f", size=len(CONTENT))
    assert "Range" not in behaviour.requests[-1]
    behaviour.faults = [cut(1_000_000)]
    fetch(url, tmp_path / "g", sha256=SHA256)
    assert resumed_from(behaviour.requests[-1]) > 900_000
    assert (tmp_path / "g").read_bytes() == CONTENT


def test_parts_of_two_files_are_noticed_by_the_checksum(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    """A silent change: no validator, and what came first belongs to another file."""
    behaviour.etag = None
    (tmp_path / "f.part").write_bytes(OTHER[:1_000_000])
    fetch(url, tmp_path / "f", sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_part_that_is_whole_already_is_taken(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    (tmp_path / "f.part").write_bytes(CONTENT)
    fetch(url, tmp_path / "f", sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert len(behaviour.requests) == 1


def test_a_part_longer_than_the_file_starts_over(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    (tmp_path / "f.part").write_bytes(CONTENT + b"more")
    fetch(url, tmp_path / "f", sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_the_file_deleted(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"expected sha256 {'0' * 64}, found {SHA256}"):
        fetch(url, tmp_path / "f", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_length_is_refused_before_anything_is_written(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="expected 77 bytes, the server has 3000000"):
        fetch(url, tmp_path / "f", size=77)
    assert list(tmp_path.iterdir()) == []


def test_first_download_is_recorded_and_enforced_after(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    lock = tmp_path / "locks" / "file.json"
    fetch(url + "?token=s3cret", tmp_path / "f", lock=lock)
    assert json.loads(lock.read_text()) == {"url": url, "size": len(CONTENT), "sha256": SHA256}
    behaviour.content = OTHER
    with pytest.raises(DownloadError, match=f"expected sha256 {SHA256}"):
        fetch(url, tmp_path / "g", lock=lock)
    behaviour.content = CONTENT
    fetch(url, tmp_path / "g", lock=lock)
    assert (tmp_path / "g").read_bytes() == CONTENT


def test_a_published_checksum_needs_no_lock(url: str, tmp_path: Path) -> None:
    fetch(url, tmp_path / "f", sha256=SHA256, lock=tmp_path / "lock.json")
    assert not (tmp_path / "lock.json").exists()


@pytest.mark.parametrize("code", [429, 500, 503])
def test_passing_troubles_are_waited_out(
    url: str, behaviour: Behaviour, tmp_path: Path, code: int
) -> None:
    behaviour.faults = [status(code), status(code)]
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_obeyed(
    url: str,
    behaviour: Behaviour,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    as_date: bool,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    value = formatdate(module.time.time() + 42, usegmt=True) if as_date else "42"
    behaviour.faults = [status(429, Retry_After=value), status(503, Retry_After="soon")]
    fetch(url, tmp_path / "f")
    assert pauses[0] == pytest.approx(42, abs=3)
    assert pauses[1] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("code", "advice"), [(403, "open the address in a browser"), (404, "has moved"), (418, "Open")]
)
def test_lasting_troubles_fail_at_once_with_advice(
    url: str, behaviour: Behaviour, tmp_path: Path, code: int, advice: str
) -> None:
    behaviour.faults = [status(code)]
    with pytest.raises(DownloadError, match=f"answered {code}.*{advice}"):
        fetch(url, tmp_path / "f")
    assert len(behaviour.requests) == 1


def test_the_mirror_is_taken_when_the_first_address_fails(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [status(404)]
    fetch(url, tmp_path / "f", mirrors=[url + ".mirror"], sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_all_failures_are_told_when_every_address_fails(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [status(404), status(403)]
    with pytest.raises(DownloadError, match=r"404[\s\S]*mirror: the server answered 403"):
        fetch(url, tmp_path / "f", mirrors=[url + ".mirror"])


def test_a_full_disk_is_told_before_the_download(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1_900_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DownloadError, match="3 MB are still to come and 2 MB are free"):
        fetch(url, tmp_path / "f")
    (tmp_path / "f.part").write_bytes(CONTENT[:2_000_000])
    fetch(url, tmp_path / "f", sha256=SHA256)


def test_no_server_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="connection failed"):
        fetch("http://127.0.0.1:9/file", tmp_path / "f", attempts=2)


def test_a_silent_server_is_not_waited_for_for_ever(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    hold = threading.Event()

    def silent(handler: Handler) -> None:
        hold.wait(5)

    behaviour.faults = [silent]
    fetch(url, tmp_path / "f", timeout_seconds=0.2)
    hold.set()
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_secrets_of_an_address_reach_neither_log_nor_error(
    url: str, behaviour: Behaviour, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = url.replace("http://", "http://me:pa55word@") + "?token=s3cret"
    closed = "http://me:pa55word@127.0.0.1:9/x?token=s3cret"  # pragma: allowlist secret
    invalid = "http://me:pa55word@[bad/x?token=s3cret"  # pragma: allowlist secret
    behaviour.faults = [status(500), status(404)]
    messages = []
    with caplog.at_level(logging.DEBUG, logger="triptych"):
        for address in (secret, closed, invalid):
            with pytest.raises(DownloadError) as caught:
                fetch(address, tmp_path / "f", attempts=2)
            messages.append(str(caught.value))
    text = "\n".join(messages) + caplog.text
    assert "404" in text
    assert "s3cret" not in text
    assert "pa55word" not in text


def test_an_answer_that_starts_elsewhere_is_refused_and_the_file_fetched_anew(
    url: str, behaviour: Behaviour, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    behaviour.faults = [cut(1_000_000), wrong_start]
    fetch(url, tmp_path / "f")
    assert "from byte 1000000, the server sent byte 0" in caplog.text
    assert (tmp_path / "f").read_bytes() == CONTENT


BLOB = hashlib.sha1(b"blob 3000000\0" + CONTENT).hexdigest()  # as git hash-object says
CHECKSUMS = [("md5", hashlib.md5(CONTENT).hexdigest()), ("git_blob", BLOB)]
CHECKSUMS.append(("sha256_start", SHA256[:8]))


@pytest.mark.parametrize(("kind", "right"), CHECKSUMS, ids=[kind for kind, _ in CHECKSUMS])
def test_other_checksums_are_held_to_as_well(
    url: str, behaviour: Behaviour, tmp_path: Path, kind: str, right: str
) -> None:
    fetch(url, tmp_path / "f", **{kind: right})
    assert (tmp_path / "f").read_bytes() == CONTENT
    behaviour.content = OTHER
    with pytest.raises(DownloadError, match=f"expected {kind} {right}, found"):
        fetch(url, tmp_path / "g", **{kind: right})
    assert leftovers(tmp_path / "f") == []


@pytest.mark.parametrize(("kind", "right"), CHECKSUMS, ids=[kind for kind, _ in CHECKSUMS])
def test_any_checksum_permits_to_resume(
    url: str, behaviour: Behaviour, tmp_path: Path, kind: str, right: str
) -> None:
    behaviour.etag = None
    behaviour.faults = [cut(1_000_000)]
    fetch(url, tmp_path / "f", **{kind: right})
    assert resumed_from(behaviour.requests[-1]) > 900_000
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_of_several_checksums_all_must_hold(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"expected md5 {'0' * 32}"):
        fetch(url, tmp_path / "f", sha256=SHA256, md5="0" * 32)
    assert list(tmp_path.iterdir()) == []


def test_the_first_digits_alone_leave_the_whole_checksum_to_the_lock(
    url: str, tmp_path: Path
) -> None:
    lock = tmp_path / "lock.json"
    fetch(url, tmp_path / "f", sha256_start=SHA256[:8], lock=lock)
    assert json.loads(lock.read_text())["sha256"] == SHA256


def test_a_server_is_told_who_asks_also_when_a_download_is_resumed(
    url: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.faults = [cut(1_000_000)]
    fetch(url, tmp_path / "f", user_agent="Someone/1.0 (someone@example.org)")
    agents = [request["User-Agent"] for request in behaviour.requests]
    assert agents == ["Someone/1.0 (someone@example.org)"] * 3  # the third asks for more
