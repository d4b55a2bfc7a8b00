"""The console commands that check: `triptych doctor` this machine, `verify` a run's results."""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from triptych.apps import command
from triptych.core.errors import InputError
from triptych.core.packages import writable_cache

WORKS, LIMITED, FAILS = "works", "limited", "won't"
"""Nothing to do; some of it works; something that is asked for will fail."""

DESCRIPTION = """\
Look at this machine: Python, cores, memory, disks, cache, GPU, SLURM, programs, style.contact. What
works, what won't, and what to do. Ends with 1 where something won't. Whether downloads answer, a run's first job says.
"""
VERIFY = """\
Compare results with their manifest.json, which a whole run leaves last: every output and source by
its hash, every job's record, and what lies there of other runs. Ends with 1 when something differs.
Run it where snakemake ran.
"""
DISK_GB = {"the environment": 7, "the demo": 3, "config/paper.yaml": 2000}
MEMORY_GB = {"the demo": 4, "config/paper.yaml": 32}
UNQUOTED = re.compile(r"""[\s'"()&;<>|$`\\*?\[\]#~!{}:]""")
"""Characters that end or change a path where a shell or PYTHONPATH has it unquoted: Snakemake hands
the interpreter to a shell so (snakemake#2645)."""
DRIVER = 580
"""Oldest NVIDIA driver for CUDA 13, which the locked PyTorch has; envs/torch.sh reads it here."""
ON_GPU = "import torch; print(torch.ones(2, device='cuda').sum().item())"


PARTITIONS = Path("profiles") / "slurm" / "partitions.yaml"
SAMPLE = "# A sample:"
"""How the shipped partitions.yaml begins."""
CONFIGS = (Path("config.yaml"), Path("config/config.yaml"), Path("config/paper/style.yaml"))
PROGRAMS = (
    ("conda", ("conda", "mamba"), "only --use-conda needs it; make setup does without"),
    ("apptainer", ("apptainer", "singularity"), "only containers on a cluster need it"),
    ("C compiler", ("cc", "gcc", "clang"), "only exported policies and their tests need one"),
)
SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "cifs", "fuse.glusterfs")
IN_MEMORY = ("tmpfs", "ramfs")
SHM_GB = 1.0
"""What the workers of an audio training fill, and as much again."""


class Finding(NamedTuple):
    """Result of one check. do: advice, or "" where nothing is to be done."""

    name: str
    status: str
    text: str
    do: str = ""


def python() -> Finding:
    """Whether jobs can start the interpreter from its path."""
    interpreter = f"{platform.python_version()} in {sys.prefix}"
    if wrong := UNQUOTED.search(sys.prefix):
        do = f"clone into a folder without {wrong[0]!r} in its path, and make setup there"
        return Finding("Python", FAILS, f"{interpreter}, a path that no job can start from", do)
    return Finding("Python", WORKS, interpreter)


def memory() -> Finding:
    """Cores that this process may use, and the machine's memory, or what a container may take."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    allowed = limit.read_text(encoding="utf-8").strip() if limit.exists() else ""
    usable = min(size, int(allowed) if allowed.isdigit() else size) / 1e9
    machine = f"{usable:,.0f} GB, {cores} cores of {platform.machine()}"
    return _room("Memory", machine, usable, MEMORY_GB)


def disk() -> Finding:
    free = shutil.disk_usage(".").free / 1e9
    return _room("Disk", f"{free:,.0f} GB free in {Path.cwd()}", free, DISK_GB)


def cache() -> Finding:
    try:
        return Finding("Cache", WORKS, str(writable_cache().parent))
    except InputError as problem:
        return Finding("Cache", FAILS, *str(problem).split("; ", 1))


def _room(name: str, text: str, available: float, needed: Mapping[str, float]) -> Finding:
    """Whether there is enough, by what needs it. The demo must be possible."""
    short = [f"{what} takes about {gb:,} GB" for what, gb in needed.items() if gb > available]
    status = WORKS if not short else FAILS if available < needed["the demo"] else LIMITED
    do = "; triptych plan says what a config takes" if short else ""
    return Finding(name, status, text, "; ".join(short) + do)


def gpu() -> Finding:
    """The GPU, and whether PyTorch adds on it; before it is installed, whether the driver is new
    enough for the locked one."""
    query = ["nvidia-smi", "--query-gpu=driver_version,name,memory.total", "--format=csv,noheader"]
    try:
        card = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        do = "the demo needs none; for config/paper.yaml device: cuda needs an NVIDIA GPU"
        return Finding("GPU", LIMITED, "nvidia-smi finds none", do)
    tried = subprocess.run([sys.executable, "-c", ON_GPU], capture_output=True, text=True)
    if tried.returncode == 0:
        return Finding("GPU", WORKS, card)
    version = card.partition(".")[0]
    if version.isdigit() and int(version) < DRIVER:
        needs = f"the locked PyTorch needs driver {DRIVER} or later"
        return Finding(
            "GPU", FAILS, f"{card}; {needs}", "update it, or docs/scales.md, An older driver"
        )
    reason = (tried.stderr.strip().splitlines() or ["it gives no reason"])[-1]
    if "No module named" in reason:
        return Finding("GPU", WORKS, f"{card}; PyTorch isn't in this environment")
    do = "rm -r .venv and make setup TORCH=cuda"
    return Finding("GPU", FAILS, f"{card}; PyTorch fails on it: {reason}", do)


def slurm() -> Finding:
    """Whether this machine submits to SLURM, and whether the profile knows the partitions."""
    import yaml

    try:
        asked = subprocess.run(["sinfo", "-h", "-o", "%R"], capture_output=True, text=True)
    except OSError:
        asked = None
    if asked is None or not shutil.which("sbatch"):
        do = "submit to a cluster from its login node; docs/elsewhere.md has other schedulers"
        return Finding("SLURM", LIMITED, "no sbatch and sinfo here", do)
    if asked.returncode:
        reason = (asked.stderr.strip().splitlines() or ["it gives no reason"])[-1]
        return Finding("SLURM", LIMITED, f"sinfo fails: {reason}", "ask who runs the cluster")
    if not find_spec("snakemake_executor_plugin_slurm"):
        do = "make setup, or pip install snakemake-executor-plugin-slurm"
        return Finding("SLURM", LIMITED, "Snakemake's plugin for it is missing", do)
    there = set(asked.stdout.split())
    do = f"generate-slurm-partition-config --output {PARTITIONS}, then docs/elsewhere.md"
    if not PARTITIONS.is_file():
        return Finding("SLURM", LIMITED, f"{PARTITIONS} is missing", do)
    text = PARTITIONS.read_text(encoding="utf-8")
    try:
        named = set(yaml.safe_load(text)["partitions"])
    except (yaml.YAMLError, TypeError, KeyError) as problem:
        return Finding("SLURM", LIMITED, f"{PARTITIONS} lists no partitions: {problem!r}", do)
    if text.startswith(SAMPLE):
        return Finding("SLURM", LIMITED, f"{PARTITIONS} is still the sample", do)
    if absent := named - there:
        names = ", ".join(sorted(absent))
        return Finding("SLURM", LIMITED, f"{PARTITIONS} names {names}; sinfo does not", do)
    return Finding("SLURM", WORKS, f"partitions {', '.join(sorted(named))}")


def programs() -> list[Finding]:
    """A finding for each program that some of it needs; the first of its names on PATH counts."""
    findings = []
    for name, commands, do in PROGRAMS:
        path = next(filter(None, map(shutil.which, commands)), None)
        findings.append(
            Finding(name, WORKS, path)
            if path
            else Finding(name, LIMITED, f"no {' or '.join(commands)} on PATH", do)
        )
    return findings


def results() -> Finding:
    """Room and kind of the file system that results lie on; a link counts as what it leads to."""
    folder = Path("results").resolve()
    while not folder.exists():
        folder = folder.parent
    free, kind = shutil.disk_usage(folder).free / 1e9, _file_system(folder)
    if kind in IN_MEMORY:
        do = "make results a link to a folder on a disk"
        return Finding("Results", LIMITED, f"{kind} at {folder}, which a restart empties", do)
    shared = kind in SHARED
    where = "which nodes share" if shared else "which other nodes may not see"
    return _room("Results", f"{free:,.0f} GB free on {kind}, {where}: {folder}", free, DISK_GB)


def shared_memory() -> Finding:
    """Room in /dev/shm, through which workers hand sound to a training."""
    folder = Path("/dev/shm")
    if not folder.is_dir():
        return Finding("/dev/shm", WORKS, "not on this system")
    free = shutil.disk_usage(folder).free / 1e9
    if free >= SHM_GB:
        return Finding("/dev/shm", WORKS, f"{free:,.1f} GB free")
    do = "docker run --ipc=host, or --shm-size 8g"
    return Finding("/dev/shm", LIMITED, f"{free:,.2f} GB free, too few for audio training", do)


def contact() -> Finding:
    """Whether a config here says whom Wikimedia may write to."""
    import yaml

    for file in CONFIGS:
        if file.is_file():
            config = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            style = config if file.parent.name == "paper" else config.get("style") or {}
            if style.get("contact"):
                return Finding("Contact", WORKS, f"{style['contact']}, by {file}")
    do = "for config/paper.yaml set it to your e-mail or web page, or by --config"
    return Finding("Contact", LIMITED, "style.contact is empty", do)


def _file_system(folder: Path) -> str:
    """Type of the file system of a folder, such as ext4, nfs4 or lustre, by its mount point."""
    table = Path("/proc/mounts")
    if not table.is_file():
        return "an unknown file system"
    mounts = [line.split()[1:3] for line in table.read_text(encoding="utf-8").splitlines()]
    inside = [(place, kind) for place, kind in mounts if folder.is_relative_to(place)]
    return max(reversed(inside), key=lambda mount: len(mount[0]))[1]


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    summary = "say what works on this machine, and what to do"
    command(commands, "doctor", _doctor, summary, DESCRIPTION)
    summary = "whether results/ is what the run made, whole and unedited"
    verify = command(commands, "verify", _verify, summary, VERIFY)
    verify.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        help="the results folder (default: results); below its prefix where a module made it",
    )


def _doctor(options: argparse.Namespace) -> int:
    checks = (python, memory, disk, results, shared_memory, cache, gpu, slurm, contact)
    findings = [*(check() for check in checks), *programs()]
    for name, status, text, do in findings:
        print(f"{status:8} {name}: {text}" + (f"\n{'':9}-> {do}" if do else ""))
    return int(any(finding.status == FAILS for finding in findings))


def _verify(options: argparse.Namespace) -> int:
    from triptych.report.manifest import read_manifest, verify

    file = options.results / "manifest.json"
    problems = verify(file, options.results / "provenance")
    for problem in problems:
        print(problem)
    run = read_manifest(file)
    changed = ", with changes" if run["commit"] and not run["clean"] else ""
    print(
        f"{len(run['outputs'])} files of {len(run['jobs'])} jobs, scale {run['scale']}, "
        f"commit {run['commit'] or 'no commit'}{changed}: "
        + (f"{len(problems)} differences" if problems else "all as it was made")
    )
    return 1 if problems else 0
