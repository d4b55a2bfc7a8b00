"""Large files over HTTP: resumed, checked before they appear under their name, and remembered.

A download grows in `<path>.part`; `<path>.part.json` beside it holds what the server said the file
was (ETag or date), so that the next attempt, or the next run, continues only the same file. The
size and the checksums are those that the source publishes or, where it publishes none, those of a
lock file that the first download writes.
"""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import requests
import urllib3

from triptych.core.errors import InputError, public_address
from triptych.core.files import atomic_path, sha256_of
from triptych.core.progress import Progress

__all__ = ["DownloadError", "Expected", "download", "public_address"]

logger = logging.getLogger(__name__)

KILOBYTE, MEGABYTE = 1_000, 1_000_000
CHUNK_BYTES = 1 << 16
SLOWEST = 1_000  # bytes a second; what comes more slowly is given up
CONNECT_SECONDS = 15
LONGEST_WAIT_SECONDS = 300.0
WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}
PAGES = "docs/data.md, docs/style-data.md or docs/audio-data.md"
ADVICE = {
    401: f"The server wants a login: see {PAGES} for how to get this file by hand.",
    403: f"The server refuses: open the address in a browser to see why, and see {PAGES}.",
    404: "The file has moved: look for it at the source's homepage (resources/sources.yaml) and "
    "correct the address there.",
    410: f"The file was withdrawn: see {PAGES} for other sources.",
}


class DownloadError(RuntimeError):
    """A download that trying again at once would not help; the message says what would."""


class Interrupted(Exception):
    """A failure that may pass.

    after: how long the server asks to wait, in seconds;  slow: what came was too little to count
    """

    def __init__(self, reason: str, after: float = 0.0, slow: bool = False) -> None:
        super().__init__(reason)
        self.after, self.slow = after, slow


@dataclass(frozen=True)
class Expected:
    """What the whole file must be; None where nobody has said."""

    size: int | None = None
    sha256: str | None = None
    sha256_start: str | None = None
    md5: str | None = None
    git_blob: str | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether a wrong file of the right size would be noticed."""
        return any((self.sha256, self.sha256_start, self.md5, self.git_blob))


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

    `size` (bytes), `sha256`, its first digits `sha256_start` (which some publish in the file's
    name), `md5` and `git_blob` (git's hash of the content) are the published ones. Where size and
    sha256 are None, those in the file `lock` hold; where that is absent too, it is written. After
    `attempts` failures in a row that brought nothing new the next address is tried; the pause
    between two doubles from `wait_seconds`, or is what the server asks for. An answer that stops
    for `timeout_seconds`, or all but stops, is such a failure. `user_agent` is how to introduce
    ourselves, where a server wants that. `check` is given the whole file before it gets its name,
    and raises InputError if it isn't what it should be. Raises DownloadError, and that InputError.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    expected = Expected(size, sha256, sha256_start, md5, git_blob)
    if lock is not None and Path(lock).exists():
        known = json.loads(Path(lock).read_text(encoding="utf-8"))
        expected = replace(
            expected,
            size=known["size"] if size is None else size,
            sha256=known["sha256"] if sha256 is None else sha256,
        )
    problems = []
    for address in (url, *mirrors):
        try:
            _Fetch(address, part, expected, timeout_seconds, user_agent).patiently(
                attempts, wait_seconds
            )
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
    _sidecar(part).unlink(missing_ok=True)
    if lock is not None and sha256 is None and not Path(lock).exists():
        write_lock(lock, address, target)


def write_lock(lock: str | os.PathLike[str], address: str, target: Path) -> None:
    """Record what a first download brought, so that every later one is held to it."""
    record = {
        "url": public_address(address),
        "size": target.stat().st_size,
        "sha256": sha256_of(target),
    }
    with atomic_path(lock) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    logger.info("recorded size and checksum of the first download in %s", lock)


class _Fetch:
    """One address, asked as often as it takes until the part is the whole file."""

    def __init__(
        self, url: str, part: Path, expected: Expected, timeout: float, user_agent: str | None
    ) -> None:
        self._url, self._part, self._expected, self._timeout = url, part, expected, timeout
        self._public = public_address(url)
        self._headers = {"Accept-Encoding": "identity"}
        if user_agent is not None:
            self._headers["User-Agent"] = user_agent

    def patiently(self, attempts: int, wait_seconds: float) -> None:
        """Continue until the file is whole and right, or until nothing new comes any more."""
        failures, furthest = 0, _size_of(self._part)
        while True:
            resumed = _size_of(self._part) > 0
            try:
                self._request()
                self._verify(resumed)
                if self._expected.size is None and not self._expected.has_checksum:
                    self._refuse_more()
                return
            except Interrupted as interruption:
                # Only bytes beyond all earlier ones count: a server that cannot resume and always
                # breaks off would otherwise keep us here for ever. So would one that drips.
                have = _size_of(self._part)
                failures = 1 if have > furthest and not interruption.slow else failures + 1
                furthest = max(furthest, have)
                if failures >= attempts:
                    kept = f"What came so far is kept in {self._part}: run again later to continue."
                    raise DownloadError(
                        f"{self._public}: {interruption}, {attempts} times in a row. "
                        f"{kept if have else 'Run again later.'}"
                    ) from None
                pause = max(wait_seconds * 2.0 ** (failures - 1), interruption.after)
                pause = min(pause, LONGEST_WAIT_SECONDS)
                logger.warning("%s: %s; again in %.0f s", self._public, interruption, pause)
                time.sleep(pause)

    def _get(self, **headers: str) -> requests.Response:
        return requests.get(
            self._url,
            headers={**self._headers, **headers},
            stream=True,
            timeout=(CONNECT_SECONDS, self._timeout),
        )

    def _request(self) -> None:
        """One request: append to the part, or write it from the start if the server wants that."""
        part, have, headers = self._part, _size_of(self._part), {}
        validator = _read_validator(part)
        if have and validator is None and not self._expected.has_checksum:
            have = 0  # nothing would tell whether the rest belongs to the same file
        if have:
            headers = {"Range": f"bytes={have}-", **({"If-Range": validator} if validator else {})}
        try:
            with self._get(**headers) as response:
                if response.status_code == 416:
                    # The part is the whole file already, or of one that has become shorter.
                    if _content_range(response)[1] != have:
                        part.unlink(missing_ok=True)
                        raise Interrupted("the file at the source is shorter: from the start")
                    return
                have, total = self._accept(response, have)
                self._write(response, have, total)
        except requests.exceptions.SSLError:
            raise Interrupted("the server's certificate was refused") from None
        except requests.Timeout:
            raise Interrupted("the server did not answer in time") from None
        except requests.ConnectionError:
            raise Interrupted(
                "the connection failed or was cut (no network, wrong host name, or the server is "
                "down)"
            ) from None
        except urllib3.exceptions.ReadTimeoutError:
            raise Interrupted("the server fell silent") from None
        except urllib3.exceptions.HTTPError:
            raise Interrupted("the connection was cut") from None
        except requests.TooManyRedirects:
            raise DownloadError(
                f"{self._public}: one redirect after another, without an end. Open the address in "
                "a browser to see where it leads, and correct it."
            ) from None
        except requests.RequestException as error:
            # Its text may hold the whole address, with whatever secret is in it.
            raise DownloadError(
                f"{self._public}: {type(error).__name__}. Correct the address."
            ) from None
        if _size_of(part) < (total or 1):
            raise Interrupted("the connection was cut" if total else "the answer was empty")

    def _accept(self, response: requests.Response, have: int) -> tuple[int, int | None]:
        """From which byte the answer goes on, and the size of the whole file if it is told."""
        code, expected = response.status_code, self._expected
        if code in WORTH_RETRYING:
            raise Interrupted(f"the server answered {code}", _retry_after(response))
        if code not in (200, 206):
            advice = ADVICE.get(code, "Open the address in a browser to see what it says.")
            raise DownloadError(f"{self._public}: the server answered {code}. {advice}")
        if "html" in response.headers.get("Content-Type", "").lower():
            raise DownloadError(
                f"{self._public}: a web page came instead of the file (a login, terms to agree to, "
                f"an error). Open the address in a browser to see which, and see {PAGES} for how "
                "to get this file by hand."
            )
        if (packed := response.headers.get("Content-Encoding", "identity")) != "identity":
            raise DownloadError(
                f"{self._public}: the server sends the file packed ({packed}), though it was asked "
                f"not to. Run again, perhaps without a proxy; see {PAGES} for other sources."
            )
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        if code == 206:
            start, total = _content_range(response)
            if start != have:
                _discard(self._part)
                raise Interrupted(f"asked to go on from byte {have}, the server sent byte {start}")
        else:
            have = 0  # the server does not resume, or the file is another one by now
        if expected.size is not None and total not in (None, expected.size):
            raise DownloadError(
                f"{self._public}: expected {expected.size} bytes, the server has {total}. The file "
                "has changed at its source, or an error page came instead: see "
                f"{PAGES} before correcting resources/sources.yaml or the lock file."
            )
        total = expected.size if total is None else total
        chunked = "chunked" in response.headers.get("Transfer-Encoding", "")
        if total is None and not chunked and not expected.has_checksum:
            raise DownloadError(
                f"{self._public}: nobody says how long this file is, so that a half one would pass "
                f"for whole. Run again, perhaps without a proxy; see {PAGES} for other sources."
            )
        return have, total

    def _write(self, response: requests.Response, have: int, total: int | None) -> None:
        """Append what comes behind byte `have`. Raises DownloadError where the disk is full."""
        part = self._part
        needed, free = (total or 0) - have, shutil.disk_usage(part.parent).free
        if needed > free:
            raise DownloadError(
                f"{part.parent}: {needed / MEGABYTE:.0f} MB are still to come and "
                f"{free / MEGABYTE:.0f} MB are free. Make room there and run again."
            )
        try:
            if have == 0:
                _write_validator(part, response)
            with (
                part.open("r+b" if have else "wb") as stream,
                Progress(part.stem, (total or 0) // KILOBYTE, "kB", have // KILOBYTE) as progress,
            ):
                stream.seek(have)
                stream.truncate()
                done = have
                for chunk in _coming(response, self._timeout):
                    stream.write(chunk)
                    progress.advance((done + len(chunk)) // KILOBYTE - done // KILOBYTE)
                    done += len(chunk)
                stream.flush()
                os.fsync(
                    stream.fileno()
                )  # before the file gets its name, lest a power cut halve it
        except OSError as error:
            raise DownloadError(
                f"{part}: {error.strerror}. Make room and run again: what came so far is kept."
            ) from error

    def _verify(self, resumed: bool) -> None:
        """Compare the whole part with what is expected; one that does not match is deleted."""
        size = _size_of(self._part)
        for what, wanted in vars(self._expected).items():
            if wanted is None:
                continue
            if what == "size":
                got: int | str = size
            elif what == "md5":
                got = _digest(self._part, "md5")
            elif what == "git_blob":
                got = _digest(self._part, "sha1", b"blob %d\0" % size)
            else:
                got = sha256_of(self._part)[: len(wanted)]
            if wanted == got:
                continue
            _discard(self._part)
            if resumed:
                raise Interrupted("the parts do not belong together: from the start")
            raise DownloadError(
                f"{self._public}: expected {what} {wanted}, found {got}; the file was deleted. "
                f"Run again; if the same comes, the file has changed at its source: see {PAGES} "
                "before correcting resources/sources.yaml or the lock file."
            )

    def _refuse_more(self) -> None:
        """Ask for what follows the last byte: of a whole file there is nothing (416).

        For files of which nobody has told size or checksum. Raises DownloadError when there is
        more.
        """
        size = _size_of(self._part)
        try:
            with self._get(Range=f"bytes={size}-") as response:
                more = response.status_code == 206 and _content_range(response)[0] == size
        except requests.RequestException:
            return
        if more:
            _discard(self._part)
            raise DownloadError(
                f"{self._public}: the server told a length of {size} bytes, and the file goes on "
                f"behind them. Run again, perhaps without a proxy; see {PAGES} for other sources."
            )


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Start and total of a header such as `bytes 100-199/200`; None for what is not told."""
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    start = span.partition("-")[0]
    if unit != "bytes":
        return None, None
    return (int(start) if start.isdigit() else None, int(total) if total.isdigit() else None)


def _coming(response: requests.Response, seconds: float) -> Iterator[bytes]:
    """The answer's bytes as they come. Raises Interrupted when `seconds` bring next to nothing."""
    began, count = time.monotonic(), 0
    while chunk := response.raw.read1(CHUNK_BYTES):
        yield chunk
        count += len(chunk)
        if time.monotonic() - began > seconds:
            if count < SLOWEST * seconds:
                raise Interrupted(f"only {count} bytes came within {seconds:.0f} s", slow=True)
            began, count = time.monotonic(), 0


def _retry_after(response: requests.Response) -> float:
    """Seconds of a Retry-After header, which holds a number or a date; 0 without one."""
    value = response.headers.get("Retry-After", "0")
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _sidecar(part: Path) -> Path:
    """The file beside a partial download that tells which version of the source it is of."""
    return part.with_name(part.name + ".json")


def _write_validator(part: Path, response: requests.Response) -> None:
    """Keep what names this version of the file. A weak ETag may not be used to resume."""
    etag = response.headers.get("ETag", "")
    strong = etag if etag and not etag.startswith("W/") else None
    validator = strong or response.headers.get("Last-Modified")
    with atomic_path(_sidecar(part)) as temporary:
        temporary.write_text(json.dumps({"validator": validator}) + "\n", encoding="utf-8")


def _read_validator(part: Path) -> str | None:
    try:
        stored = json.loads(_sidecar(part).read_text(encoding="utf-8"))["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stored if isinstance(stored, str) else None


def _discard(part: Path) -> None:
    """Delete a partial download and what is known of it."""
    part.unlink(missing_ok=True)
    _sidecar(part).unlink(missing_ok=True)


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest(path: Path, algorithm: str, start: bytes = b"") -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, start)).hexdigest()
