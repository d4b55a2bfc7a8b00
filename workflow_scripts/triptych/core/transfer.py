"""One request for a large file: from where it broke off, appended as it comes, distrusted.

What the server said the file was lies in a sidecar, so that no two files are put together.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3

from triptych.core.files import atomic_path
from triptych.core.progress import Progress

KILOBYTE = 1_000
MEGABYTE = 1_000_000
CHUNK_BYTES = 1 << 16
SLOWEST = 1_000  # bytes a second; what comes more slowly is given up
CONNECT_SECONDS = 15
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
    """A failure that may pass: `after` is how long the server asks to wait, in seconds."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class TooSlow(Interrupted):
    """What came was too little to count."""


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


def public_address(url: str) -> str:
    """The address without user, password and query, any of which may hold a secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that is none)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def request_once(
    url: str, part: Path, expected: Expected, timeout_seconds: float, user_agent: str | None
) -> None:
    """One request: append to `part`, or write it from the start if the server wants that."""
    have = size_of(part)
    validator = _read_validator(part)
    if have and validator is None and not expected.has_checksum:
        # Nothing would tell whether the rest belongs to the same file.
        have = 0
    headers = _headers(user_agent)
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
            have, total = _accept(url, response, part, have, expected)
            _check_disk(part, total, have)
            try:
                if have == 0:
                    _write_validator(part, response)
                _append(_coming(response, timeout_seconds), part, have, total)
            except OSError as error:
                raise DownloadError(
                    f"{part}: {error.strerror}. Make room and run again: what came so far is kept."
                ) from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise Interrupted(_reason(error)) from None
    except urllib3.exceptions.ReadTimeoutError:
        raise Interrupted("the server fell silent") from None
    except urllib3.exceptions.HTTPError:
        raise Interrupted("the connection was cut") from None
    except requests.TooManyRedirects:
        raise DownloadError(
            f"{public_address(url)}: one redirect after another, without an end. Open the address "
            "in a browser to see where it leads, and correct it."
        ) from None
    except requests.RequestException as error:
        # Its text may hold the whole address, with whatever secret is in it.
        raise DownloadError(
            f"{public_address(url)}: {type(error).__name__}. Correct the address."
        ) from None
    if size_of(part) < (total or 1):
        raise Interrupted("the connection was cut" if total else "the answer was empty")


def refuse_more(url: str, part: Path, timeout_seconds: float, user_agent: str | None) -> None:
    """Ask for what follows the last byte: of a whole file there is nothing (416).

    For files of which nobody has told size or checksum. Raises DownloadError when there is more.
    """
    size = size_of(part)
    headers = {**_headers(user_agent), "Range": f"bytes={size}-"}
    try:
        with requests.get(
            url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, timeout_seconds)
        ) as response:
            more = response.status_code == 206 and _content_range(response)[0] == size
    except requests.RequestException:
        return
    if more:
        discard(part)
        raise DownloadError(
            f"{public_address(url)}: the server told a length of {size} bytes, and the file goes "
            f"on behind them. Run again, perhaps without a proxy; see {PAGES} for other sources."
        )


def _headers(user_agent: str | None) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}
    return headers if user_agent is None else {**headers, "User-Agent": user_agent}


def _accept(
    url: str, response: requests.Response, part: Path, have: int, expected: Expected
) -> tuple[int, int | None]:
    """From which byte the answer goes on, and the size of the whole file if it is told."""
    code = response.status_code
    if code in WORTH_RETRYING:
        raise Interrupted(f"the server answered {code}", _retry_after(response))
    if code not in (200, 206):
        advice = ADVICE.get(code, "Open the address in a browser to see what it says.")
        raise DownloadError(f"{public_address(url)}: the server answered {code}. {advice}")
    _refuse_other_content(url, response)
    length = response.headers.get("Content-Length")
    total = int(length) if length is not None and length.isdigit() else None
    if code == 206:
        start, total = _content_range(response)
        if start != have:
            discard(part)
            raise Interrupted(f"asked to go on from byte {have}, the server sent byte {start}")
    else:
        # The server does not resume, or the file is another one by now: from the start.
        have = 0
    if expected.size is not None and total is not None and total != expected.size:
        raise DownloadError(
            f"{public_address(url)}: expected {expected.size} bytes, the server has {total}. The "
            "file has changed at its source, or an error page came instead: see "
            f"{PAGES} before correcting resources/sources.yaml or the lock file."
        )
    total = expected.size if total is None else total
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "")
    if total is None and not chunked and not expected.has_checksum:
        raise DownloadError(
            f"{public_address(url)}: nobody says how long this file is, so that a half one would "
            f"pass for whole. Run again, perhaps without a proxy; see {PAGES} for other sources."
        )
    return have, total


def _refuse_other_content(url: str, response: requests.Response) -> None:
    """Raise DownloadError for a web page, and for a file packed though nobody asked for that."""
    kind = response.headers.get("Content-Type", "")
    packed = response.headers.get("Content-Encoding", "identity")
    if "html" in kind.lower():
        raise DownloadError(
            f"{public_address(url)}: a web page came instead of the file (a login, terms to agree "
            f"to, an error). Open the address in a browser to see which, and see {PAGES} for how "
            "to get this file by hand."
        )
    if packed != "identity":
        raise DownloadError(
            f"{public_address(url)}: the server sends the file packed ({packed}), though it was "
            f"asked not to. Run again, perhaps without a proxy; see {PAGES} for other sources."
        )


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
        raise Interrupted("the file at the source is shorter than what had come: from the start")


def _coming(response: requests.Response, seconds: float) -> Iterator[bytes]:
    """The answer's bytes as they come. Raises TooSlow when `seconds` bring next to nothing."""
    began, count = time.monotonic(), 0
    while chunk := response.raw.read1(CHUNK_BYTES):
        yield chunk
        count += len(chunk)
        if time.monotonic() - began > seconds:
            if count < SLOWEST * seconds:
                raise TooSlow(f"only {count} bytes came within {seconds:.0f} s")
            began, count = time.monotonic(), 0


def _append(chunks: Iterator[bytes], part: Path, have: int, total: int | None) -> None:
    with (
        part.open("r+b" if have else "wb") as stream,
        Progress(part.stem, (total or 0) // KILOBYTE, "kB", have // KILOBYTE) as progress,
    ):
        stream.seek(have)
        stream.truncate()
        done = have
        for chunk in chunks:
            stream.write(chunk)
            progress.advance((done + len(chunk)) // KILOBYTE - done // KILOBYTE)
            done += len(chunk)
        stream.flush()
        os.fsync(stream.fileno())  # before the file gets its name, lest a power cut halve it


def _check_disk(part: Path, total: int | None, have: int) -> None:
    needed = (total or 0) - have
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise DownloadError(
            f"{part.parent}: {needed / MEGABYTE:.0f} MB are still to come and "
            f"{free / MEGABYTE:.0f} MB are free. Make room there and run again."
        )


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


def sidecar(part: Path) -> Path:
    """The file beside a partial download that tells which version of the source it is of."""
    return part.with_name(part.name + ".json")


def _write_validator(part: Path, response: requests.Response) -> None:
    """Keep what names this version of the file. A weak ETag may not be used to resume."""
    etag = response.headers.get("ETag", "")
    strong = etag if etag and not etag.startswith("W/") else None
    validator = strong or response.headers.get("Last-Modified")
    with atomic_path(sidecar(part)) as temporary:
        temporary.write_text(json.dumps({"validator": validator}) + "\n", encoding="utf-8")


def _read_validator(part: Path) -> str | None:
    try:
        stored = json.loads(sidecar(part).read_text(encoding="utf-8"))["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stored if isinstance(stored, str) else None


def discard(part: Path) -> None:
    """Delete a partial download and what is known of it."""
    part.unlink(missing_ok=True)
    sidecar(part).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    return path.stat().st_size if path.exists() else 0
