"""Free memory, and amounts of memory in words."""

from collections.abc import Iterator
from pathlib import Path

import torch


def free_memory(device: torch.device) -> float:
    """Bytes that this process may still take on the device.

    On a CPU: what the kernel calls available, or less where a control group has a limit (a
    container, SLURM). Infinite where there is no Linux to ask.
    """
    if device.type == "cuda":
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
