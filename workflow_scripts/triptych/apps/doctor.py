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
Look at this machine: Python, cores, memory, disk, cache, GPU, SLURM, programs; and at the config's
style.contact. What works, what won't, and what to do. Ends with 1 where something won't. Whether
downloads answer, a run's first job says.
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
CONFIGS = (Path("config.yaml"), Path("config/config.yaml"), Path("config/paper.yaml"))
PROGRAMS = {
    "conda": "only --use-conda needs it; make setup does without",
    "apptainer": "only --software-deployment-method apptainer needs it",
    "cc": "a C compiler; without one rl_inference times no policy.c, nor does an exported one run",
}
LOCAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs")
FLEETING = ("tmpfs", "ramfs", "overlay")
ANSWER_SECONDS = 20
MOUNTS = Path("/proc/mounts")
SHARED_MEMORY = Path("/dev/shm")
SHARED_GB = 1.0


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
    """Room and kind of the file system of results, a link to which counts as what it leads to."""
    folder = Path("results").resolve()
    folder = next(place for place in (folder, *folder.parents) if place.exists())
    free, kind = shutil.disk_usage(folder).free / 1e9, _file_system(folder)
    room = _room("Disk", f"{free:,.0f} GB free in {folder} ({kind})", free, DISK_GB)
    if kind in FLEETING:
        do = f"make results a link to a disk: {kind} ends with this machine or container"
    elif kind in LOCAL and shutil.which("sbatch"):
        do = f"make results a link to a disk that all nodes see: {kind} is this machine's alone"
    else:
        return room
    advice = "; ".join(filter(None, (do, room.do)))
    return room._replace(status=FAILS if room.status == FAILS else LIMITED, do=advice)


def _file_system(folder: Path) -> str:
    """Type of a folder's file system, such as ext4, nfs4 or lustre, by its mount point."""
    if not MOUNTS.is_file():
        return "file system unknown"
    kinds = {}
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        _, place, kind, *_ = line.split()
        kinds[place.replace("\\040", " ")] = kind
    return next(kinds[str(place)] for place in (folder, *folder.parents) if str(place) in kinds)


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
    """Whether jobs can be submitted to SLURM, and whether the profile has its partitions."""
    problem, do = _of_slurm()
    return Finding("SLURM", LIMITED if do else WORKS, problem, do)


def _of_slurm() -> tuple[str, str]:
    """What stands against SLURM, and what to do; or where jobs go, and ""."""
    import yaml

    try:
        asked = subprocess.run(
            ["sinfo", "-h", "-o", "%R"], capture_output=True, text=True, timeout=ANSWER_SECONDS
        )
        reason = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
    except subprocess.TimeoutExpired:
        asked, reason = None, f"no answer in {ANSWER_SECONDS} seconds"
    except OSError:
        asked, reason = None, ""
    if not reason or not shutil.which("sbatch"):
        return "no sbatch and sinfo", "on a cluster, its login node; docs/elsewhere.md has others"
    if asked is None or asked.returncode:
        return f"sinfo fails: {reason}", "ask who runs the cluster, or use another login node"
    if not find_spec("snakemake_executor_plugin_slurm"):
        return "no Snakemake plugin", "make setup, or pip install snakemake-executor-plugin-slurm"
    do = f"generate-slurm-partition-config --output {PARTITIONS}; then docs/elsewhere.md, SLURM"
    try:
        text = PARTITIONS.read_text(encoding="utf-8")
        named = {str(name) for name in yaml.safe_load(text)["partitions"]}
    except (OSError, ValueError, yaml.YAMLError, TypeError, KeyError) as problem:
        return f"{PARTITIONS} lists no partitions: {type(problem).__name__}", do
    if text.startswith(SAMPLE):
        return f"{PARTITIONS} is still the sample", do
    absent = ", ".join(sorted(named - {*asked.stdout.split()}))
    if absent:
        return f"{PARTITIONS} names {absent}, which sinfo does not list", do
    return f"partitions {', '.join(sorted(named))}", ""


def programs() -> list[Finding]:
    """Whether each program is there that a part of the workflow needs."""
    return [
        Finding(name, WORKS, path)
        if (path := shutil.which(name))
        else Finding(name, LIMITED, "not on PATH", do)
        for name, do in PROGRAMS.items()
    ]


def shared_memory() -> Finding:
    """Room in /dev/shm, through which processes hand recordings to a training."""
    free = shutil.disk_usage(SHARED_MEMORY).free / 1e9 if SHARED_MEMORY.is_dir() else SHARED_GB
    do = "docker run --ipc=host gives more; with less, fewer processes read recordings ahead"
    room = f"{free:,.2f} GB free" if SHARED_MEMORY.is_dir() else "none on this system, none needed"
    short = free < SHARED_GB
    return Finding("Shared memory", LIMITED if short else WORKS, room, do if short else "")


def contact() -> Finding:
    """Whether a config that runs read here says whom Wikimedia may write to."""
    import yaml

    for file in filter(Path.is_file, CONFIGS):
        try:
            config = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            address = (config.get("style") or {}).get("contact")
        except (yaml.YAMLError, UnicodeDecodeError, AttributeError) as problem:
            return Finding("style.contact", FAILS, f"{file} is no config", str(problem))
        if address:
            return Finding("style.contact", WORKS, f"{address} ({file})")
    do = "before config/paper.yaml: your e-mail or web page, in a config of yours or by --config"
    return Finding("style.contact", LIMITED, f"empty in {' and '.join(map(str, CONFIGS))}", do)


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
    checks = (python, memory, disk, shared_memory, cache, gpu, slurm, contact)
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
