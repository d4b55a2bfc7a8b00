"""Free memory, and amounts of memory in words."""

import resource
from collections.abc import Iterator
from pathlib import Path

import torch


def free_memory(device: torch.device) -> float:
    """Bytes that this process may still take on the device.

    On a CPU: what the kernel calls available, or less where a control group or the process itself
    has a limit.
    """
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return min((_available(), *_group_limits(), *_own_limits()))


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
    return float("inf")  # no Linux: nothing is known


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
