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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import requests

from triptych.core.files import atomic_path, sha256_of
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)

KILOBYTE = 1_000
MEGABYTE = 1_000_000
CHUNK_BYTES = 1 << 16  # what a cut connection loses at most
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


class _Interrupted(Exception):
    """A failure that passes: `after` is how long the server asks to wait, in seconds."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class Expected:
    """What the whole file must be; None where nobody has said."""

    size: int | None = None
    sha256: str | None = None
    sha256_start: str | None = None
    md5: str | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether a wrong file of the right size would be noticed."""
        return any((self.sha256, self.sha256_start, self.md5))


def download(
    url: str,
    path: str | os.PathLike[str],
    size: int | None = None,
    sha256: str | None = None,
    lock: str | os.PathLike[str] | None = None,
    mirrors: Sequence[str] = (),
    attempts: int = 6,
    wait_seconds: float = 2.0,
    timeout_seconds: float = 60.0,
    *,
    md5: str | None = None,
    sha256_start: str | None = None,
    user_agent: str | None = None,
) -> None:
    """Fetch `url` (or, when it fails, the first mirror that works) into `path`.

    `size` (bytes), `sha256`, its first digits `sha256_start` (which some publish in the file's
    name) and `md5` are the published ones. Where size and sha256 are None, those in the file
    `lock` hold; where that is absent too, it is written. After `attempts` failures in a row that
    brought nothing new the next address is tried; the pause between two doubles from
    `wait_seconds`, or is what the server asks for. `user_agent` is how to introduce ourselves,
    where a server wants that. Raises DownloadError.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    expected = _with_lock(Expected(size, sha256, sha256_start, md5), lock)
    problems = []
    for address in (url, *mirrors):
        try:
            _fetch_patiently(
                address, target, expected, attempts, wait_seconds, timeout_seconds, user_agent
            )
            break
        except DownloadError as error:
            problems.append(str(error))
            logger.warning("%s", error)
    else:
        raise DownloadError("\n".join(problems))
    if lock is not None and sha256 is None and not Path(lock).exists():
        _write_lock(lock, address, target)


def _with_lock(published: Expected, lock: str | os.PathLike[str] | None) -> Expected:
    """What is published, completed by what the first download recorded."""
    if lock is None or not Path(lock).exists():
        return published
    recorded = json.loads(Path(lock).read_text(encoding="utf-8"))
    return replace(
        published,
        size=recorded["size"] if published.size is None else published.size,
        sha256=recorded["sha256"] if published.sha256 is None else published.sha256,
    )


def _write_lock(lock: str | os.PathLike[str], address: str, target: Path) -> None:
    record = {
        "url": public_address(address),
        "size": target.stat().st_size,
        "sha256": sha256_of(target),
    }
    with atomic_path(lock) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    logger.info("recorded size and checksum of the first download in %s", lock)


def public_address(url: str) -> str:
    """The address without user, password and query, any of which may hold a secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that is none)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def _fetch_patiently(
    url: str,
    target: Path,
    expected: Expected,
    attempts: int,
    wait_seconds: float,
    timeout_seconds: float,
    user_agent: str | None,
) -> None:
    """Continue until the file is whole and right, or until nothing new comes any more."""
    part = target.with_name(target.name + ".part")
    failures, furthest = 0, _size_of(part)
    while True:
        resumed = _size_of(part) > 0
        try:
            _fetch_once(url, part, expected, timeout_seconds, user_agent)
            _verify(url, part, expected, resumed)
            break
        except _Interrupted as interruption:
            # Only bytes beyond all earlier ones count: a server that cannot resume and always
            # breaks off would otherwise keep us here for ever.
            failures = 1 if _size_of(part) > furthest else failures + 1
            furthest = max(furthest, _size_of(part))
            if failures >= attempts:
                raise DownloadError(
                    f"{public_address(url)}: {interruption}, {attempts} times in a row. What came "
                    f"so far is kept in {part}: run again later to continue."
                ) from None
            pause = wait_seconds * 2.0 ** (failures - 1)
            if interruption.after is not None:
                pause = max(pause, interruption.after)
            pause = min(pause, LONGEST_WAIT_SECONDS)
            logger.warning("%s: %s; again in %.0f s", public_address(url), interruption, pause)
            time.sleep(pause)
    part.replace(target)
    _sidecar(part).unlink(missing_ok=True)


def _fetch_once(
    url: str, part: Path, expected: Expected, timeout_seconds: float, user_agent: str | None
) -> None:
    """One request: append to `part`, or write it from the start if the server wants that."""
    have = _size_of(part)
    validator = _read_validator(part)
    if have and validator is None and not expected.has_checksum:
        # Nothing would tell whether the rest belongs to the same file.
        have = 0
    headers = {"Accept-Encoding": "identity"}
    if user_agent is not None:
        headers["User-Agent"] = user_agent
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator is not None:
            headers["If-Range"] = validator
    try:
        with requests.get(
            url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, timeout_seconds)
        ) as response:
            if response.status_code == 416:
                _settle_unsatisfiable(response, part, have)
                return
            have, total = _accept(url, response, have, expected)
            _check_disk(part, total, have)
            if have == 0:
                _write_validator(part, response)
            _append(response, part, have, total)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _Interrupted(_reason(error)) from None
    except requests.exceptions.ChunkedEncodingError:
        raise _Interrupted("the connection was cut") from None
    except requests.RequestException as error:
        # Its text may hold the whole address, with whatever secret is in it.
        raise DownloadError(
            f"{public_address(url)}: {type(error).__name__}. Correct the address."
        ) from None
    if total is not None and _size_of(part) < total:
        raise _Interrupted("the connection was cut")


def _accept(
    url: str, response: requests.Response, have: int, expected: Expected
) -> tuple[int, int | None]:
    """From which byte the answer goes on, and the size of the whole file if it is told."""
    code = response.status_code
    if code in WORTH_RETRYING:
        raise _Interrupted(f"the server answered {code}", _retry_after(response))
    if code not in (200, 206):
        advice = ADVICE.get(code, "Open the address in a browser to see what it says.")
        raise DownloadError(f"{public_address(url)}: the server answered {code}. {advice}")
    length = response.headers.get("Content-Length")
    total = int(length) if length is not None and length.isdigit() else None
    if code == 206:
        start, total = _content_range(response)
        if start != have:
            raise DownloadError(
                f"{public_address(url)}: asked to go on from byte {have}, the server sent byte "
                f"{start}. Delete the .part file and run again."
            )
    else:
        # The server does not resume, or the file is another one by now: from the start.
        have = 0
    if expected.size is not None and total is not None and total != expected.size:
        raise DownloadError(
            f"{public_address(url)}: expected {expected.size} bytes, the server has {total}. The "
            "file has changed at its source, or a login or error page came instead: see "
            f"{PAGES} before correcting resources/sources.yaml or the lock file."
        )
    return have, total


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Start and total of a header such as `bytes 100-199/200`; None for what is not told."""
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    start = span.partition("-")[0]
    if unit != "bytes":
        return None, None
    return (int(start) if start.isdigit() else None, int(total) if total.isdigit() else None)


def _settle_unsatisfiable(response: requests.Response, part: Path, have: int) -> None:
    """416: the part is the whole file already, or belongs to one that has become shorter."""
    if _content_range(response)[1] != have:
        part.unlink(missing_ok=True)
        raise _Interrupted("the file at the source is shorter than what had come: from the start")


def _append(response: requests.Response, part: Path, have: int, total: int | None) -> None:
    with (
        part.open("r+b" if have else "wb") as stream,
        Progress(part.stem, (total or 0) // KILOBYTE, "kB", have // KILOBYTE) as progress,
    ):
        stream.seek(have)
        stream.truncate()
        done = have
        for chunk in response.iter_content(CHUNK_BYTES):
            try:
                stream.write(chunk)
            except OSError as error:
                raise DownloadError(
                    f"{part}: {error.strerror}. Make room and run again: what came so far is kept."
                ) from error
            progress.advance((done + len(chunk)) // KILOBYTE - done // KILOBYTE)
            done += len(chunk)


def _check_disk(part: Path, total: int | None, have: int) -> None:
    needed = (total or 0) - have
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise DownloadError(
            f"{part.parent}: {needed / MEGABYTE:.0f} MB are still to come and "
            f"{free / MEGABYTE:.0f} MB are free. Make room there and run again."
        )


def _verify(url: str, part: Path, expected: Expected, resumed: bool) -> None:
    """Compare the whole part with what is expected; one that does not match is deleted."""
    for what in ("size", "sha256", "sha256_start", "md5"):
        wanted = getattr(expected, what)
        if wanted is None:
            continue
        if what == "size":
            got: int | str = _size_of(part)
        elif what == "md5":
            got = _md5_of(part)
        else:
            got = sha256_of(part)[: len(wanted)]
        if wanted == got:
            continue
        part.unlink()
        _sidecar(part).unlink(missing_ok=True)
        if resumed:
            raise _Interrupted("the parts do not belong together: from the start")
        raise DownloadError(
            f"{public_address(url)}: expected {what} {wanted}, found {got}; the file was deleted. "
            f"Run again; if the same comes, the file has changed at its source: see {PAGES} "
            "before correcting resources/sources.yaml or the lock file."
        )


def _md5_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()


def _retry_after(response: requests.Response) -> float | None:
    """Seconds of a Retry-After header, which holds a number or a date."""
    value = response.headers.get("Retry-After")
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _reason(error: requests.RequestException) -> str:
    """A failure in words; the exception's own text may hold a secret of the address."""
    if isinstance(error, requests.exceptions.SSLError):
        return "the server's certificate was refused"
    if isinstance(error, requests.Timeout):
        return "the server did not answer in time"
    return "the connection failed or was cut (no network, wrong host name, or the server is down)"


def _sidecar(part: Path) -> Path:
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


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
