"""Downloads against a server on this machine that misbehaves in the ways that real ones do.

Whatever it does, there is the right file in the end, or none and an error that names the address.
"""

import hashlib
import json
import logging
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from download_server import (
    Behaviour,
    Fault,
    Handler,
    cut,
    flipped,
    login_page,
    redirect,
    served,
    serving,
    silent,
    status,
    wrong_start,
)

from triptych.core import download as module
from triptych.core.download import BusyError, DownloadError, ask, download
from triptych.core.errors import InputError

CONTENT, OTHER = (np.random.default_rng(seed).bytes(300_000) for seed in (0, 1))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
KNOWLEDGE: dict[str, dict[str, Any]] = {
    "size": {"size": len(CONTENT), "sha256": SHA256},
    "checksum": {"md5": hashlib.md5(CONTENT).hexdigest()},
    "nothing": {},
}
"""What may be published of a file."""
DOWN = "http://127.0.0.1:1/file"


@pytest.fixture
def behaviour():
    return Behaviour(CONTENT)


@pytest.fixture
def url(behaviour):
    with serving(behaviour) as address:
        yield f"{address}/data/file.hdf5"


def fetch(url: str, path: Path, **settings: Any) -> None:
    """`download` without the long pauses."""
    download(url, path, **{"wait_seconds": 0.001, "attempts": 3, **settings})


def resumed_from(request: dict[str, str]) -> int:
    return int(request.get("Range", "bytes=0-")[6:-1])


@dataclass
class Trouble:
    """What the server does: once each of `faults`, then `always`, or serve.

    error: what the message has in it, perhaps by what is known; "" where the file arrives.
    """

    faults: tuple[Fault, ...] = ()
    always: Fault | None = None
    ranges: bool = True
    error: str | dict[str, str] = ""
    timeout: float = 60.0


SIZE, SUM = r"expected \d+ bytes, the server has", "expected (sha256|md5) .*found"
OFTEN = "3 times in a row"
TROUBLES = {
    # What passes.
    "cut connections": Trouble((cut(0.4), cut(0.5), cut(0.1))),
    "cut, in chunks": Trouble((cut(0.4, chunked=True), served(chunked=True, pieces=5))),
    "cut, resumption ignored": Trouble((cut(0.4),), ranges=False),
    "cut, resumed from elsewhere": Trouble((cut(0.4), wrong_start)),
    "429 and 500": Trouble((status(429, Retry_After="0"), status(500), cut(0.4), status(503))),
    "redirect to another host": Trouble((redirect("localhost"), cut(0.4), redirect("localhost"))),
    "stall in the middle": Trouble((cut(0.4, pieces=2, pause=0.5),), timeout=0.1),
    # What does not.
    "cut for good": Trouble(always=cut(0.4), ranges=False, error=OFTEN),
    "wrong length": Trouble(
        always=served(told=1.5), error={"size": SIZE, "checksum": OFTEN, "nothing": OFTEN}
    ),
    "another file": Trouble(always=served(change=flipped), error={"size": SUM, "checksum": SUM}),
    "404": Trouble(always=status(404), error="answered 404"),
    "500 for good": Trouble(always=status(500), error="answered 500, 3 times"),
    "login page, after a cut": Trouble((cut(0.4),), login_page, error="a web page came"),
    "silence": Trouble(always=silent(0.3), error=OFTEN, timeout=0.05),
}


@pytest.mark.parametrize("known", KNOWLEDGE)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_download_ends_in_the_right_file_or_in_a_clear_error(
    url, behaviour, tmp_path, trouble, known
):
    what, path = TROUBLES[trouble], tmp_path / "f"
    behaviour.faults, behaviour.always = list(what.faults), what.always
    behaviour.ranges = what.ranges
    settings = {**KNOWLEDGE[known], "timeout_seconds": what.timeout}
    error = what.error if isinstance(what.error, str) else what.error.get(known, "")
    if error:
        with pytest.raises(DownloadError, match=rf"(?s){url}: .*{error}"):
            fetch(url, path, **settings)
        assert {file.suffix for file in tmp_path.iterdir()} <= {".part"}
        behaviour.behave()
        fetch(url, path, **KNOWLEDGE[known])
    else:
        fetch(url, path, **settings)
        assert behaviour.faults == []
    taken = what.always and not error and trouble == "another file"  # nobody can tell
    assert path.read_bytes() == (flipped(CONTENT) if taken else CONTENT)
    assert list(tmp_path.iterdir()) == [path]


def test_where_the_first_address_fails_the_mirror_serves(url, behaviour, tmp_path):
    fetch(DOWN, tmp_path / "f", mirrors=[url], sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == CONTENT
    with pytest.raises(DownloadError, match=rf"(?s){DOWN}: the connection failed.*{DOWN}: "):
        fetch(DOWN, tmp_path / "g", mirrors=[DOWN])


@pytest.mark.parametrize(
    ("fault", "size", "mirror", "named", "requests"),
    [
        (None, len(CONTENT), None, None, 1),
        (status(404), None, None, "404", 1),
        (login_page, None, None, "web page", 1),
        (None, 17, None, "17", 1),
        (status(503), None, None, "503, 3 times in a row", 3),
        (status(429), None, DOWN, "429, 3 times in a row", 3),
        (status(410), None, DOWN, "410", 1),
    ],
)
def test_a_file_is_asked_for_before_it_is_downloaded(
    behaviour, url, fault, size, mirror, named, requests
):
    behaviour.always = fault
    patience = {"attempts": 3, "wait_seconds": 0.001}
    problem = ask({"url": url, "size": size, "mirror": mirror}, **patience)
    assert len(behaviour.requests) == requests
    assert (named in str(problem) and url in str(problem)) if named else problem is None
    assert (DOWN in str(problem)) == (mirror is not None)
    assert isinstance(problem, BusyError) == ("in a row" in str(named))
    mirrored = ask({"url": DOWN, "mirror": url, "size": size}, **patience)
    assert mirrored is None or named


def test_a_server_that_was_busy_is_asked_again(behaviour, url):
    behaviour.faults = [status(429), status(503)]
    assert ask({"url": url}, wait_seconds=0.001) is None
    assert len(behaviour.requests) == 3


def test_a_file_that_the_caller_refuses_is_deleted_and_not_recorded(url, tmp_path):
    def check(file: Path) -> None:
        assert file.read_bytes() == CONTENT
        raise InputError("not what it should be")

    with pytest.raises(InputError, match="not what it should be"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json", check=check)
    assert list(tmp_path.iterdir()) == []


def test_the_next_run_continues_what_an_earlier_one_left(url, behaviour, tmp_path):
    behaviour.faults = [cut(200_000), status(503), status(503), status(503)]
    with pytest.raises(DownloadError, match=r"503, 3 times in a row.*f\.part: run again later"):
        fetch(url, tmp_path / "f")
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert resumed_from(behaviour.requests[-1]) > 100_000


@pytest.mark.parametrize("by", ["etag", "date"])
def test_a_file_that_changed_between_the_parts_starts_over(url, behaviour, tmp_path, by):
    if by == "date":
        behaviour.etag, behaviour.last_modified = 'W/"weak"', formatdate(0, usegmt=True)

    def cut_then_change(handler: Handler) -> None:
        handler.serve(cut_after=100_000)
        behaviour.content = OTHER
        behaviour.etag = '"two"' if by == "etag" else behaviour.etag
        behaviour.last_modified = formatdate(9e8, usegmt=True) if by == "date" else None

    behaviour.faults = [cut_then_change]
    fetch(url, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == OTHER


def test_without_a_validator_only_a_checksum_permits_to_resume_and_notices_other_parts(
    url, behaviour, tmp_path
):
    behaviour.etag = None
    for known, resumes in (({"size": len(CONTENT)}, False), ({"sha256": SHA256}, True)):
        behaviour.faults = [cut(200_000)]
        fetch(url, tmp_path / "f", **known)
        assert (resumed_from(behaviour.requests[-1]) > 0) == resumes
    (tmp_path / "g.part").write_bytes(OTHER[:100_000])
    fetch(url, tmp_path / "g", sha256=SHA256)
    assert (tmp_path / "g").read_bytes() == CONTENT


def test_first_download_is_recorded_and_enforced_after(url, behaviour, tmp_path):
    lock = tmp_path / "locks" / "file.json"
    fetch(url + "?token=s3cret", tmp_path / "f", lock=lock)
    assert json.loads(lock.read_text()) == {"url": url, "size": len(CONTENT), "sha256": SHA256}
    behaviour.content = OTHER
    with pytest.raises(DownloadError, match=f"expected sha256 {SHA256}"):
        fetch(url, tmp_path / "g", lock=lock)
    behaviour.content = CONTENT
    fetch(url, tmp_path / "g", lock=lock)
    assert (tmp_path / "g").read_bytes() == CONTENT


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_obeyed(url, behaviour, tmp_path, monkeypatch, as_date):
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    value = formatdate(module.time.time() + 42, usegmt=True) if as_date else "42"
    behaviour.faults = [status(429, Retry_After=value), status(503, Retry_After="soon")]
    fetch(url, tmp_path / "f")
    assert pauses == [pytest.approx(42, abs=3), pytest.approx(0.002)]


def test_secrets_of_an_address_reach_neither_log_nor_error(url, behaviour, tmp_path, caplog):
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
    assert "404" in text and "s3cret" not in text and "pa55word" not in text


PAGE = 4096


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own, of memory (tmpfs)."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={len(CONTENT) // 2 // PAGE * PAGE}"
    command = ["mount", "-t", "tmpfs", "-o", size, "triptych-test", str(folder)]
    mount = subprocess.run(command, capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"a disk to fill can't be mounted here: {mount.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("way", ["told before", "not told", "filled by another"])
def test_a_download_that_a_full_disk_ends_goes_on_when_there_is_room(way, url, disk, behaviour):
    def resize(pages: int) -> None:
        command = ["mount", "-o", f"remount,size={pages * PAGE}", str(disk)]
        subprocess.run(command, check=True)

    filled = Event()

    def fill() -> None:
        if not filled.is_set():
            with suppress(OSError):
                (disk / "filler").write_bytes(bytes(1024 * PAGE))
        filled.set()

    behaviour.always = served(chunked=way == "not told")
    if way == "filled by another":
        resize(1024)
        behaviour.faults.append(served(pieces=3, pause=0.05, meanwhile=fill))
    with pytest.raises(DownloadError, match=r"(?i)make room") as refused:
        fetch(url, disk / "f")
    begun = way != "told before"
    assert (os.strerror(28) in str(refused.value)) == begun == (disk / "f.part").exists()
    if way == "filled by another":
        assert filled.wait(10)
        (disk / "filler").unlink()
    resize(1024)
    behaviour.behave()
    fetch(url, disk / "f")
    assert (disk / "f").read_bytes() == CONTENT
    assert (resumed_from(behaviour.requests[-1]) > 0) == begun
