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
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, sha256_of
from triptych.core.transfer import (
    PAGES,
    DownloadError,
    Expected,
    Interrupted,
    TooSlow,
    discard,
    public_address,
    refuse_more,
    request_once,
    sidecar,
    size_of,
)

__all__ = ["DownloadError", "download", "public_address", "write_lock"]

logger = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 300.0


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
    expected = _with_lock(Expected(size, sha256, sha256_start, md5, git_blob), lock)
    problems = []
    for address in (url, *mirrors):
        try:
            _fetch_patiently(
                address, part, expected, attempts, wait_seconds, timeout_seconds, user_agent
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
            discard(part)
            raise
    part.replace(target)
    sidecar(part).unlink(missing_ok=True)
    if lock is not None and sha256 is None and not Path(lock).exists():
        write_lock(lock, address, target)


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


def _fetch_patiently(
    url: str,
    part: Path,
    expected: Expected,
    attempts: int,
    wait_seconds: float,
    timeout_seconds: float,
    user_agent: str | None,
) -> None:
    """Continue until the file is whole and right, or until nothing new comes any more."""
    failures, furthest = 0, size_of(part)
    while True:
        resumed = size_of(part) > 0
        try:
            request_once(url, part, expected, timeout_seconds, user_agent)
            _verify(url, part, expected, resumed)
            if expected.size is None and not expected.has_checksum:
                refuse_more(url, part, timeout_seconds, user_agent)
            return
        except Interrupted as interruption:
            # Only bytes beyond all earlier ones count: a server that cannot resume and always
            # breaks off would otherwise keep us here for ever. So would one that drips.
            new = size_of(part) > furthest and not isinstance(interruption, TooSlow)
            failures = 1 if new else failures + 1
            furthest = max(furthest, size_of(part))
            if failures >= attempts:
                kept = f"What came so far is kept in {part}: run again later to continue."
                raise DownloadError(
                    f"{public_address(url)}: {interruption}, {attempts} times in a row. "
                    f"{kept if size_of(part) else 'Run again later.'}"
                ) from None
            pause = wait_seconds * 2.0 ** (failures - 1)
            if interruption.after is not None:
                pause = max(pause, interruption.after)
            pause = min(pause, LONGEST_WAIT_SECONDS)
            logger.warning("%s: %s; again in %.0f s", public_address(url), interruption, pause)
            time.sleep(pause)


def _verify(url: str, part: Path, expected: Expected, resumed: bool) -> None:
    """Compare the whole part with what is expected; one that does not match is deleted."""
    for what in ("size", "sha256", "sha256_start", "md5", "git_blob"):
        wanted = getattr(expected, what)
        if wanted is None:
            continue
        if what == "size":
            got: int | str = size_of(part)
        elif what == "md5":
            got = _digest(part, "md5")
        elif what == "git_blob":
            got = _digest(part, "sha1", b"blob %d\0" % size_of(part))
        else:
            got = sha256_of(part)[: len(wanted)]
        if wanted == got:
            continue
        discard(part)
        if resumed:
            raise Interrupted("the parts do not belong together: from the start")
        raise DownloadError(
            f"{public_address(url)}: expected {what} {wanted}, found {got}; the file was deleted. "
            f"Run again; if the same comes, the file has changed at its source: see {PAGES} "
            "before correcting resources/sources.yaml or the lock file."
        )


def _digest(path: Path, algorithm: str, start: bytes = b"") -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, start)).hexdigest()
