"""Downloads against a server on this machine that misbehaves in the ways that real ones do."""

import hashlib
import json
import logging
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from download_server import (
    Behaviour,
    Handler,
    cut,
    login_page,
    serving,
    status,
)

from triptych.core import download as module
from triptych.core.download import DownloadError, download, missing
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


DOWN = "http://127.0.0.1:1/file"


@pytest.mark.parametrize(
    ("fault", "size", "mirror", "named"),
    [
        (None, len(CONTENT), None, None),
        (status(404), None, None, "404"),
        (login_page, None, None, "web page"),
        (None, 17, None, "17"),
        (status(503), None, None, "503"),
        (status(410), None, DOWN, "410"),
    ],
)
def test_a_file_is_asked_for_before_it_is_downloaded(behaviour, url, fault, size, mirror, named):
    behaviour.always = fault
    problem = missing({"url": url, "size": size, "mirror": mirror})
    assert (named in problem and url in problem) if named else problem == ""
    assert (DOWN in problem) == (mirror is not None)
    assert missing({"url": DOWN, "mirror": url, "size": size}) == "" or named


def test_a_file_that_the_caller_refuses_is_deleted_and_not_recorded(
    url: str, tmp_path: Path
) -> None:
    def check(file: Path) -> None:
        assert file.read_bytes() == CONTENT
        raise InputError("not what it should be")

    with pytest.raises(InputError, match="not what it should be"):
        fetch(url, tmp_path / "f", lock=tmp_path / "lock.json", check=check)
    assert list(tmp_path.iterdir()) == []


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
