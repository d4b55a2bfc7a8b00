"""What memory the process takes, and what it keeps for its next tensor."""

import ctypes
import re
import resource
import sys
from pathlib import Path
from typing import Any

# M_MMAP_MAX, M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
MMAP_MAX, TRIM_THRESHOLD, MMAP_THRESHOLD = -4, -1, -3
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let glibc reuse large blocks rather than return each to the kernel; True where it worked.

    By default every tensor of some megabytes is mapped anew, and the kernel clears its pages one
    by one: a fifth to a quarter of the time of a convolutional network's training on a CPU. The
    process's peak memory changes little, but it keeps that peak until it ends. Elsewhere than on
    Linux with glibc nothing happens. Under `ulimit -v`, where blocks that are kept count even if
    nothing asks for their size any more, large ones are always returned instead.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        mallopt(MMAP_THRESHOLD, 2**20)  # which glibc would raise with each large block
        return False
    return bool(mallopt and mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, NEVER))


def return_freed_memory() -> None:
    """Give back to the kernel what glibc keeps: libraries that map their own need room for it."""
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
    """Bytes that this process held at most.

    On Linux from /proc: getrusage's figure begins at what the parent held when it started this
    process, which may be far more.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        if found:
            return 1024 * int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
