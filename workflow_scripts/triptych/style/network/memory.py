"""Free memory, and amounts of memory as people write them."""

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import torch

from triptych.core.errors import InputError

UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}


def free_memory(device: torch.device) -> float:
    """Bytes that this process may still take on the device.

    On a CPU: what the kernel calls available, or less where a control group or the process itself
    has a limit.
    """
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return min((_available(), *_group_limits(), *_own_limits()))


def parse_bytes(text: str) -> float:
    """Bytes from "2GB", "1500 MB", "2GiB" or a plain number. Raises InputError for other text."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?)?b?\s*", text.lower())
    if not match:
        raise InputError(f"{text!r} is no amount of memory; expected one such as 2GB or 1500MB")
    return float(match[1]) * UNITS[match[2] or ""]


def readable(count: float) -> str:
    """Bytes as text, in MB or GB."""
    if count == float("inf"):
        return "unlimited memory"
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def _available() -> float:
    for line in lines_of(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return float("inf")  # no Linux: trust the user's --memory


def _own_limits() -> Iterator[float]:
    """Remaining bytes of the process's limits on addresses and data (`ulimit -v`, `-d`)."""
    status = dict(line.split(":", 1) for line in lines_of(Path("/proc/self/status")))
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        allowed, _ = resource.getrlimit(limit)
        if allowed != resource.RLIM_INFINITY and used in status:
            yield max(0.0, allowed - 1024.0 * int(status[used].split()[0]))


def _group_limits() -> Iterator[float]:
    """Remaining bytes of each memory limit of the control groups (containers, SLURM)."""
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


def resident_memory() -> float:
    """Bytes of memory that this process holds now; 0 where that cannot be told."""
    pages = " ".join(lines_of(Path("/proc/self/statm"))).split()
    return float(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0.0
