"""Memory of the process and of the device; smaller portions where a GPU's runs out."""

import ctypes
import gc
import logging
import re
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from triptych.core.errors import InputError

if TYPE_CHECKING:
    import torch

INFRASTRUCTURE = True

logger = logging.getLogger(__name__)

T = TypeVar("T")

# M_MMAP_MAX, M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
MMAP_MAX, TRIM_THRESHOLD, MMAP_THRESHOLD = -4, -1, -3
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let glibc reuse large blocks instead of returning them to the kernel; True if it worked.

    By default every tensor of some megabytes is mapped again, page by page: a fifth to a quarter
    of the time of a convolutional network's training on a CPU. The process keeps its peak until it
    ends; under `ulimit -v`, where what is kept counts, large blocks are returned instead.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        mallopt(MMAP_THRESHOLD, 2**20)  # which glibc would raise with each large block
        return False
    return bool(mallopt and mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, NEVER))


def return_freed_memory() -> None:
    """Return glibc's free memory to the kernel, for libraries that map their own."""
    trim = _of_glibc("malloc_trim")
    if trim:
        trim(0)


def _of_glibc(name: str) -> Any:
    """A function of glibc's, or None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL("libc.so.6"), name)
    except (OSError, AttributeError):  # musl has neither the file nor the functions
        return None


def peak_memory() -> int:
    """Peak memory of this process in bytes. On Linux from /proc, since getrusage's peak begins at
    the parent's memory when it started this process."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        if peak:
            return 1024 * int(peak[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def free_memory(device: "torch.device") -> float:
    """Bytes that this process may still take on the device.

    On a CPU: what the kernel calls available, or less where a control group has a limit (a
    container, SLURM). Infinite where there is no Linux to ask.
    """
    if device.type == "cuda":
        import torch

        return float(torch.cuda.mem_get_info(device)[0])
    kernel = dict(line.split(":") for line in lines_of(Path("/proc/meminfo")))
    available = kernel.get("MemAvailable")
    free = 1024.0 * int(available.split()[0]) if available else float("inf")
    return min((free, *_group_limits()))


def readable(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _group_limits() -> Iterator[float]:
    """Remaining bytes of each memory limit of the process's control groups."""
    root = Path("/sys/fs/cgroup")
    for line in lines_of(Path("/proc/self/cgroup")):
        where = root / line.rpartition(":")[2].strip("/")
        # A limit may stand at any level; inside a container the path may start above the root.
        for level in (where, *where.parents):
            limit, used = (
                "".join(lines_of(level / name)) for name in ("memory.max", "memory.current")
            )
            if limit.isdigit() and used.isdigit():
                # Files in memory the kernel drops when it needs their room.
                stated = dict(line.split() for line in lines_of(level / "memory.stat"))
                files = sum(int(stated.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
                yield max(0.0, float(limit) - float(used) + files)
            if level == root:
                break


def lines_of(path: Path) -> list[str]:
    """A file's lines; none where it cannot be read."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


class NoRoomError(InputError):
    """A GPU's memory does not hold a single item."""


class OomRetry:
    """A portion size that is halved whenever a GPU's memory runs out.

    size: the present portion; units: what it counts, "images"; advice: what a user can do if one
    alone does not fit, a sentence.
    """

    def __init__(self, size: int, units: str, advice: str) -> None:
        self.size, self._units, self._advice = size, units, advice

    def run(self, attempt: Callable[[int], T]) -> T:
        """Return `attempt(size)`, repeated with half of `size` as long as memory runs out.

        `attempt` begins from the same state each time, and its result does not depend on the
        portion, save for rounding. Raises NoRoomError if a portion of one fails.
        """
        import torch

        while True:
            try:
                return attempt(self.size)
            except torch.OutOfMemoryError as error:
                if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                    raise  # while a graph is recorded, nothing can be given back and tried again
                reason = str(error).split(". ")[0]
            # Behind the handler: the error held the attempt's tensors.
            self.halve(reason)

    def halve(self, reason: str) -> None:
        """Halve the portion and log it. Raises NoRoomError for a portion of one."""
        if self.size <= 1:
            raise NoRoomError(
                f"the GPU's memory doesn't hold one of the {self._units} at a time ({reason}). "
                f"{self._advice}"
            )
        before, self.size = self.size, -(-self.size // 2)
        import torch

        gc.collect()
        torch.cuda.empty_cache()
        logger.warning(
            "%s with %d %s at a time; from here on %d, with the same result up to rounding",
            reason,
            before,
            self._units,
            self.size,
        )
