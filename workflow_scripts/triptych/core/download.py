"""Downloads over HTTP that resume, and are verified before they appear under their name.

A download grows in `<path>.part`; `<path>.version.part` holds the server's ETag or date of the
file, so that the next attempt or run continues only the same file. Size and checksums are the
published ones or, if there are none, those in a lock file that the first download writes.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
import urllib3

from triptych.core.errors import InputError, public_address
from triptych.core.files import atomic_path, sha256_of
from triptych.core.progress import Progress

INFRASTRUCTURE = True

logger = logging.getLogger(__name__)

KILOBYTE, MEGABYTE = 1_000, 1_000_000
CHUNK_BYTES = 1 << 16
CONNECT_SECONDS = 15
LONGEST_WAIT_SECONDS = 300.0
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
PASSING_ERRORS = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
)
PAGE = "see docs/own-study.md"
LOOK = f"Open the address in a browser to see why, and {PAGE} for how to get a file by hand."
CHANGED = f"{PAGE} before correcting resources/sources.yaml or the lock file."


class DownloadError(RuntimeError):
    """A failure that an immediate retry would not fix; the message says what to do."""


class BusyError(DownloadError):
    """A server that may have the file, and stayed busy."""


class TransientError(Exception):
    """A failure that may pass. after: seconds that the server asks to wait."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


def download(
    url: str,
    path: str | os.PathLike[str],
    size: int | None = None,
    sha256: str | None = None,
    lock: str | os.PathLike[str] | None = None,
    mirrors: Sequence[str] = (),
    *,
    attempts: int = 6,
    wait_seconds: float = 2.0,
    timeout_seconds: float = 60.0,
    md5: str | None = None,
    sha256_start: str | None = None,
    git_blob: str | None = None,
    user_agent: str | None = None,
    check: Callable[[Path], None] | None = None,
) -> None:
    """Fetch `url` (or, when it fails, the first mirror that works) into `path`.

    size (bytes), sha256, its first digits sha256_start, md5, git_blob: the published ones. Where
    size or sha256 is None, that in the file `lock` holds, which the first download writes.
    attempts: failures in a row that brought nothing new, after which the next address is tried; the
    pause between two doubles from `wait_seconds`, or is what the server asks for. timeout_seconds:
    of silence. check: is given the whole file before it gets its name, and raises InputError if it
    isn't what it should be. Raises DownloadError, and that InputError.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    recorded = Path(lock) if lock and Path(lock).exists() else None
    known = json.loads(recorded.read_text(encoding="utf-8")) if recorded else {}
    size = known.get("size") if size is None else size
    checksum = known.get("sha256") if sha256 is None else sha256
    published = {"size": size, "sha256": checksum, "sha256_start": sha256_start, "md5": md5}
    expected = {k: v for k, v in (published | {"git_blob": git_blob}).items() if v is not None}
    problems = []
    for address in (url, *mirrors):
        fetch = _Fetch(address, part, expected, timeout_seconds, user_agent)
        try:
            fetch.patiently(attempts, wait_seconds)
            break
        except DownloadError as error:
            problems.append(str(error))
            logger.warning("%s", error)
    else:
        raise DownloadError("\n".join(problems))
    if check is not None:
        try:
            check(part)
        except InputError:
            _discard(part)
            raise
    part.replace(target)
    _discard(part)
    if lock is not None and checksum is None:
        record = {"url": public_address(address), "size": target.stat().st_size}
        record["sha256"] = sha256_of(target)
        with atomic_path(lock) as temporary:
            temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        logger.info("recorded size and checksum of the first download in %s", lock)


def ask(
    entry: Mapping[str, Any],
    *,
    attempts: int = 4,
    wait_seconds: float = 2.0,
    timeout_seconds: float = 20.0,
    user_agent: str | None = None,
) -> DownloadError | None:
    """Ask the addresses of a file for its beginning: why none has it, a BusyError where one may.

    entry: its `url`, and where known `mirror` and `size`; the others as for `download`.
    """
    problems = []
    for address in filter(None, (entry["url"], entry.get("mirror"))):
        fetch = _Fetch(address, Path(), entry, timeout_seconds, user_agent)
        try:
            fetch.ask(attempts, wait_seconds)
            return None
        except DownloadError as error:
            problems.append(error)
    busy = any(isinstance(problem, BusyError) for problem in problems)
    return (BusyError if busy else DownloadError)("\n".join(map(str, problems)))


class _Fetch:
    """Requests to one address until the part is the whole file."""

    def __init__(
        self, url: str, part: Path, expected: Mapping[str, Any], timeout: float, agent: str | None
    ) -> None:
        self._url, self._part, self._timeout = url, part, timeout
        self._size, self._expected = expected.get("size"), expected
        self._has_checksum = bool(expected.keys() - {"size"})
        self._public = public_address(url)
        self._headers = {"Accept-Encoding": "identity", **({"User-Agent": agent} if agent else {})}

    def patiently(self, attempts: int, wait_seconds: float) -> None:
        """Continue until the file is complete and verified, or no new bytes come."""
        failures, furthest = 0, _size_of(self._part)
        while True:
            resumed = _size_of(self._part) > 0
            try:
                self._request()
                self._verify(resumed)
                return
            except TransientError as failure:
                # Only bytes beyond all earlier ones count: a server that always breaks off and
                # cannot resume would never end.
                have = _size_of(self._part)
                failures = 1 if have > furthest else failures + 1
                furthest = max(furthest, have)
                if failures >= attempts:
                    resume = (
                        f"What came so far is kept in {self._part}: run again later to continue."
                    )
                    advice = resume if have else "Run again later."
                    text = f"{failure}, {attempts} times in a row. {advice}"
                    raise self._error(text) from None
                self._pause(failure, wait_seconds * 2.0 ** (failures - 1))

    def ask(self, attempts: int, wait_seconds: float) -> None:
        """Look at an answer's head, and read nothing of it. Raises DownloadError."""
        for failures in range(1, attempts + 1):
            try:
                with self._get() as response:
                    self._accept(response, 0)
                return
            except PASSING_ERRORS as error:
                kind, failure = DownloadError, TransientError(type(error).__name__)
            except requests.RequestException as error:
                raise self._error(type(error).__name__) from None
            except TransientError as error:
                kind, failure = BusyError, error
            if failures < attempts:
                self._pause(failure, wait_seconds * 2.0 ** (failures - 1))
        raise kind(f"{self._public}: {failure}, {attempts} times in a row")

    def _pause(self, failure: TransientError, seconds: float) -> None:
        """Sleep as long, or as the server asks for."""
        seconds = min(max(seconds, failure.after), LONGEST_WAIT_SECONDS)
        logger.warning("%s: %s; again in %.0f s", self._public, failure, seconds)
        time.sleep(seconds)

    def _error(self, text: str) -> DownloadError:
        return DownloadError(f"{self._public}: {text}")

    def _get(self, **headers: str) -> requests.Response:
        timeout = (CONNECT_SECONDS, self._timeout)
        headers = {**self._headers, **headers}
        return requests.get(self._url, headers=headers, stream=True, timeout=timeout)

    def _request(self) -> None:
        """Make one request; the answer is appended to the part, or replaces it."""
        part, have, headers = self._part, _size_of(self._part), {}
        version = _version(part).read_text(encoding="utf-8") if _version(part).exists() else ""
        if not version and not self._has_checksum:
            have = 0  # nothing would tell whether the rest belongs to the same file
        if have:
            headers = {"Range": f"bytes={have}-", **({"If-Range": version} if version else {})}
        try:
            with self._get(**headers) as response:
                if have and response.status_code == 416:
                    return  # the part is the whole file, or `_verify` refuses it
                have, total = self._accept(response, have)
                self._write(response, have, total)
        except PASSING_ERRORS as error:
            # Its text may hold the whole address, with whatever secret is in it.
            raise TransientError(f"the connection failed ({type(error).__name__})") from None
        except requests.RequestException as error:
            raise self._error(f"{type(error).__name__}. Correct the address.") from None
        if _size_of(part) < (total or 1):
            raise TransientError("the connection was cut")

    def _accept(self, response: requests.Response, have: int) -> tuple[int, int | None]:
        """The byte at which the answer continues, and the size of the whole file if known."""
        code, headers = response.status_code, response.headers
        if code in PASSING_STATUS:
            raise TransientError(f"the server answered {code}", _retry_after(response))
        if code not in (200, 206):
            raise self._error(f"the server answered {code}. {LOOK}")
        if "html" in headers.get("Content-Type", "").lower():
            raise self._error(f"a web page came instead of the file. {LOOK}")
        length = headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        if code == 206:
            span = re.match(r"bytes (\d+)-\d+/(\d+)$", headers.get("Content-Range", ""))
            if span is None or int(span[1]) != have:
                _discard(self._part)
                raise TransientError(f"asked to go on from byte {have}, the server did not")
            total = int(span[2])
        else:
            have = 0  # the server does not resume, or the file is another one by now
        if self._size is not None and total not in (None, self._size):
            raise self._error(
                f"expected {self._size} bytes, the server has {total}. The file has changed at its "
                f"source, or an error page came instead: {CHANGED}"
            )
        total = self._size if total is None else total
        chunked = "chunked" in headers.get("Transfer-Encoding", "")
        if total is None and not chunked and not self._has_checksum:
            raise self._error(
                "nobody says how long this file is, so that a half one would pass for whole. Run "
                f"again, perhaps without a proxy; {PAGE} for other sources."
            )
        return have, total

    def _write(self, response: requests.Response, have: int, total: int | None) -> None:
        """Append the bytes after `have` to the part. Raises DownloadError if the disk is full."""
        part = self._part
        needed, free = (total or 0) - have, shutil.disk_usage(part.parent).free
        if needed > free:
            raise DownloadError(
                f"{part.parent}: {needed / MEGABYTE:.0f} MB are still to come and "
                f"{free / MEGABYTE:.0f} MB are free. Make room there and run again."
            )
        try:
            if have == 0:  # A weak ETag may not be used to resume.
                etag = response.headers.get("ETag", "W/")
                dated = response.headers.get("Last-Modified", "")
                _version(part).write_text(dated if etag.startswith("W/") else etag, "utf-8")
            with (
                part.open("r+b" if have else "wb") as stream,
                Progress(part.stem, (total or 0) // KILOBYTE, "kB", have // KILOBYTE) as progress,
            ):
                stream.seek(have)
                stream.truncate()
                done = have
                for chunk in response.iter_content(CHUNK_BYTES):
                    stream.write(chunk)
                    progress.advance((done + len(chunk)) // KILOBYTE - done // KILOBYTE)
                    done += len(chunk)
                stream.flush()
                os.fsync(stream.fileno())  # before it gets its name, lest a power cut halve it
        except requests.RequestException:  # which are OSErrors, too
            raise
        except OSError as error:
            raise DownloadError(
                f"{part}: {error.strerror}. Make room and run again: what came so far is kept."
            ) from error

    def _verify(self, resumed: bool) -> None:
        """Compare the whole part with the expected size and checksums; delete it if it differs."""
        for what, expected in self._expected.items():
            if what == "size":
                got: int | str = _size_of(self._part)
            else:
                got = _digest(self._part, what)[: len(str(expected))]
            if expected == got:
                continue
            _discard(self._part)
            if resumed:
                raise TransientError("the parts do not belong together: from the start")
            raise self._error(
                f"expected {what} {expected}, found {got}; the file was deleted. Run again; if the "
                f"same comes, the file has changed at its source: {CHANGED}"
            )


def _retry_after(response: requests.Response) -> float:
    """Seconds of a Retry-After header, which holds a number or a date; 0 without one."""
    try:
        return urllib3.Retry().get_retry_after(response.raw) or 0.0
    except urllib3.exceptions.InvalidHeader:
        return 0.0


def _version(part: Path) -> Path:
    """The file beside a partial download with the version of its source."""
    return part.with_name(f"{part.stem}.version.part")


def _discard(part: Path) -> None:
    """Delete a partial download and the file with its version."""
    part.unlink(missing_ok=True)
    _version(part).unlink(missing_ok=True)


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest(path: Path, kind: str) -> str:
    """Hexadecimal checksum of a file; git's is of a header and the content."""
    start = b"blob %d\0" % _size_of(path) if kind == "git_blob" else b""
    algorithm = {"git_blob": "sha1", "md5": "md5"}.get(kind, "sha256")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, start)).hexdigest()
