"""A lock on a job's checkpoint and outputs, on local and on network file systems.

A lock is a folder of numbered files; the highest is the owner's. A process becomes the owner by
creating the next one, which a file system grants to one process only. An owner on the same machine
has ended when its process has, one on another machine when it no longer rewrites its file.
"""

import contextlib
import json
import logging
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from triptych.core.files import atomic_path
from triptych.core.stopping import SAVED_EXIT_CODE

INFRASTRUCTURE = True

logger = logging.getLogger(__name__)

BEAT = 5.0
"""Seconds after which an owner rewrites its file."""

SILENCE = 90.0
"""Seconds without rewriting after which an owner on another machine has ended. Network file systems
may show an old file for a minute."""

SAVING = 15.0
"""Seconds in which a job whose Snakemake has ended must save and end."""

SNAKEMAKE = "TRIPTYCH_SNAKEMAKE"
"""Environment variable with the name of Snakemake's process, for its jobs."""


@dataclass(frozen=True)
class Owner:
    """Contents of an owner's file. process: as `this_process` names it."""

    token: str
    process: str
    host: str
    beat: int = 0
    ended: bool = False


@contextmanager
def owning(folder: Path, on_beat: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Wait for the lock of `folder`, and hold it while the block runs.

    `on_beat` is called every BEAT seconds, in another thread. The process ends at once if another
    one took the lock in a pause longer than SILENCE. If the Snakemake that started it has ended,
    it gets SIGTERM, and is killed after SAVING.
    """
    owner = Owner(uuid.uuid4().hex, this_process(), socket.gethostname())
    mine = _acquire(folder, owner)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(mine, owner, done, on_beat), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
        with contextlib.suppress(OSError):
            _rewrite(mine, replace(owner, ended=True))


def this_process() -> str:
    """A unique name of this process, which `_process_exists` can look up on the same machine."""
    return f"{_machine()} {os.getpid()} {_started(os.getpid())}"


def abandoned(folder: Path) -> bool:
    """Whether the last owner of a lock was killed: it neither noted its end nor runs any more."""
    number, holder = _latest(folder)
    if holder is None or holder.ended:
        return False
    with contextlib.suppress(OSError):
        return not _holder_runs(
            holder, time.time() - (folder / f"{number:06}.json").stat().st_mtime
        )
    return False


def _acquire(folder: Path, owner: Owner) -> Path:
    """Wait for the lock, take it, and return the owner's file."""
    folder.mkdir(parents=True, exist_ok=True)
    previous: Owner | None = None
    unchanged_since = warned = -1e9  # by this process's own clock
    while True:
        number, holder = _latest(folder)
        if holder != previous:
            previous = holder
            unchanged_since = time.monotonic()
        if holder is None or not _holder_runs(holder, time.monotonic() - unchanged_since):
            mine = folder / f"{number + 1:06}.json"
            if _created(mine, owner):
                older = [path for path in _numbered(folder) if path != mine]
                if all(path < mine for path in older):
                    for path in older:
                        path.unlink(missing_ok=True)
                    return mine
                mine.unlink()  # another owner, who has ended since, had a higher number
            continue
        if time.monotonic() - warned > 60:
            warned = time.monotonic()
            pid = holder.process.split()[-2]
            logger.warning(
                "waiting for process %s on %s, which is working on this job", pid, holder.host
            )
        time.sleep(min(1.0, BEAT))


def _holder_runs(holder: Owner, silent: float) -> bool:
    """Whether an owner whose file has not changed for `silent` seconds still runs."""
    if holder.ended or holder.process == this_process():  # an earlier job that failed to note it
        return False
    known = _process_exists(holder.process)
    return silent < SILENCE if known is None else known


def _process_exists(process: str) -> bool | None:
    """Whether a named process runs; None on another machine."""
    machine, pid, started = process.rsplit(" ", 2)
    return _started(int(pid)) == started if machine == _machine() else None


def _machine() -> str:
    """Name of this machine since its start, and of the container of its processes."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def _started(pid: int) -> str:
    """Start of a process in the system's ticks; "gone" if it has ended, "" if unknown."""
    with contextlib.suppress(OSError):
        state, *_, started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:20]
        return "gone" if state in "ZX" else started
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return "gone"
    return ""


def _numbered(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.stem.isdigit())


def _latest(folder: Path) -> tuple[int, Owner | None]:
    """The highest number and its owner; 0 and None if there is none, None if none can be read."""
    for _ in range(10):
        numbered = _numbered(folder)
        if not numbered:
            return 0, None
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
            text = numbered[-1].read_text(encoding="utf-8")
            return int(numbered[-1].stem), Owner(**json.loads(text))
        time.sleep(0.1)  # removed by a later owner, or still being written
    return int(numbered[-1].stem), None


def _created(path: Path, owner: Owner) -> bool:
    """Create an owner's file; return False if another process was quicker."""
    try:
        stream = path.open("x", encoding="utf-8")
    except FileExistsError:
        return False
    try:
        with stream:
            json.dump(asdict(owner), stream)
    except OSError:  # a full disk
        path.unlink()
        raise
    return True


def _rewrite(path: Path, owner: Owner) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(asdict(owner)), encoding="utf-8")


def _watch(mine: Path, owner: Owner, done: threading.Event, on_beat: Callable[[], object]) -> None:
    """Every BEAT seconds rewrite the owner's file, and end the process if it must."""
    snakemake = os.environ.get(SNAKEMAKE)
    signalled: float | None = None
    while not done.wait(BEAT):
        with contextlib.suppress(OSError):  # a full disk, a file system that is away
            number, latest = _latest(mine.parent)
            if number != int(mine.stem) or latest is None or latest.token != owner.token:
                logger.error("another process owns this job now: ending without saving")
                os._exit(SAVED_EXIT_CODE)
            owner = replace(owner, beat=owner.beat + 1)
            _rewrite(mine, owner)
            on_beat()
        if snakemake and _process_exists(snakemake) is False:
            if signalled is None:
                logger.warning("the Snakemake that started this job is gone: saving and ending")
                signalled = time.monotonic()
                os.kill(os.getpid(), signal.SIGTERM)
            elif time.monotonic() - signalled > SAVING:
                os._exit(SAVED_EXIT_CODE)
