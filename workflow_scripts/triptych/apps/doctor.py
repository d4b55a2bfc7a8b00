"""The console command `triptych doctor`: what works on this machine, what won't, what to do.

A check is a function without arguments that gives a `Finding`. None needs a program that may be
missing, none imports PyTorch, and each stands by itself: one that fails says so and the others go
on.
"""

import argparse
import importlib.metadata as packages
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, getproxies, urlopen

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

WORKS, LIMITED, FAILS = "works", "limited", "won't"
"""Nothing to do; some of it works; something that is asked for will fail."""

DESCRIPTION = """\
Look at this machine: Python, disk, memory, processor, GPU, network, SLURM, conda or apptainer, and
the recordings that the config names. What works, what won't, and what to do. Ends with 1 where
something won't.
"""
DISK_GB = {"the environment": 7, "the demo": 3, "config/paper.yaml": 2000}
MEMORY_GB = {"the demo": 4, "config/paper.yaml": 32}
INSTRUCTIONS = {"AVX2": "avx2", "AVX512": "avx512f", "AVX512 bf16": "avx512_bf16"}
INSTRUCTIONS |= {"AMX bf16": "amx_bf16", "NEON": "asimd", "NEON bf16": "bf16"}
DRIVERS = {11: 450, 12: 525, 13: 580}
"""The oldest driver of each of CUDA's major versions (NVIDIA's table of minor compatibility)."""
HOSTS = (
    *("https://huggingface.co", "https://zenodo.org", "https://download.pytorch.org"),
    *("https://upload.wikimedia.org", "http://rail.eecs.berkeley.edu"),
)
"""Where most of resources/sources.yaml comes from."""
NETWORK_SECONDS, PROGRAM_SECONDS = 5, 60
CONDA = (24, 7, 1)
"""The oldest conda that Snakemake 9 works with."""
PARTITIONS = Path("profiles/slurm/partitions.yaml")


class Finding(NamedTuple):
    """What one check found. do: empty where there is nothing to do."""

    name: str
    status: str
    found: str
    do: str = ""


def python() -> Finding:
    """The interpreter, and whether what the library needs is installed beside it."""
    found = f"{platform.python_version()} in {sys.prefix}"
    try:
        about = packages.metadata("triptych")
    except packages.PackageNotFoundError:
        return Finding("Python", FAILS, f"{found}; without triptych itself", "make setup")
    if platform.python_version() not in SpecifierSet(allowed := str(about["Requires-Python"])):
        return Finding("Python", FAILS, found, f"Python {allowed}: make PYTHON=/path/to/it setup")
    needed = [Requirement(text) for text in about.get_all("Requires-Dist") or []]
    there = {canonicalize_name(each.name) for each in packages.distributions()}
    here = [each for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    if missing := [each.name for each in here if canonicalize_name(each.name) not in there]:
        return Finding("Python", FAILS, f"{found}; without {', '.join(missing)}", "make setup")
    return Finding("Python", WORKS, found)


def disk() -> Finding:
    """The room in the working directory."""
    free = shutil.disk_usage(".").free / 1e9
    return _room("Disk", f"{free:,.0f} GB free in {Path.cwd()}", free, DISK_GB)


def memory() -> Finding:
    """The machine's, or what a container may take of it."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    said = limit.read_text(encoding="utf-8").strip() if limit.exists() else ""
    most = min(size, int(said) if said.isdigit() else size) / 1e9
    return _room("Memory", f"{most:,.0f} GB", most, MEMORY_GB)


def _room(name: str, found: str, there: float, needed: Mapping[str, float]) -> Finding:
    """Whether there is enough, by what needs it. The demo must be possible."""
    short = [f"{what} takes about {gb:,} GB" for what, gb in needed.items() if gb > there]
    status = WORKS if not short else FAILS if there < needed["the demo"] else LIMITED
    do = "; triptych plan says what a config takes" if short else ""
    return Finding(name, status, found, "; ".join(short) + do)


def processor() -> Finding:
    """Cores that this process may use, and the instructions that precision: auto goes by."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    listed = Path("/proc/cpuinfo")
    words = set(listed.read_text(encoding="utf-8").split()) if listed.exists() else set()
    has = [name for name, flag in INSTRUCTIONS.items() if flag in words]
    found = f"{cores} cores, {platform.machine()}, {', '.join(has) or 'instructions unknown'}"
    if platform.machine() == "x86_64" and words and "AVX2" not in has:
        return Finding("Processor", LIMITED, found, "without AVX2 a demo takes far longer")
    if limit := os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA"):
        return Finding("Processor", LIMITED, f"{found}; oneDNN is kept to {limit}", "unset it")
    return Finding("Processor", WORKS, found)


def gpu() -> Finding:
    """The GPU, its driver against the CUDA of PyTorch's wheels, and a sum on it."""
    asked = "name,memory.total,driver_version"
    said = _output("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    if not said:
        do = "the demo needs none; for config/paper.yaml device: cuda needs an NVIDIA GPU"
        return Finding("GPU", LIMITED, "nvidia-smi finds none", do)
    cuda, driver = _wheels_cuda(), said.splitlines()[0].split(", ")[-1]
    found = f"{'; '.join(said.splitlines())}; PyTorch's wheels have CUDA {cuda or 'none'}"
    if not cuda:
        return Finding("GPU", LIMITED, found, "install PyTorch's wheels with CUDA: make setup")
    oldest = DRIVERS.get(int(cuda.split(".")[0]))
    if oldest and int(driver.split(".")[0]) < oldest:
        do = f"CUDA {cuda} needs driver {oldest} or newer: update it, or set device: cpu"
        return Finding("GPU", FAILS, found, do)
    test = "import torch; print('the sum is', torch.ones(2, device='cuda').sum().item())"
    if "the sum is 2.0" in _output(sys.executable, "-c", test):
        return Finding("GPU", WORKS, found)
    return Finding("GPU", FAILS, f"{found}; PyTorch fails on it", f'try: python -c "{test}"')


def _wheels_cuda() -> str:
    """The CUDA that PyTorch was built with, without importing it; empty for none."""
    where = find_spec("torch")
    file = Path(where.origin).with_name("version.py") if where and where.origin else Path("none")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = re.search(r"^cuda\b.*=\s*'([\d.]+)'", text, re.MULTILINE)
    return found[1] if found else ""


def network() -> Finding:
    """Whether the sources of downloads answer, and through which proxies."""
    with ThreadPoolExecutor(len(HOSTS)) as pool:
        there = list(pool.map(_answers, HOSTS))
    silent = [
        urlsplit(host).netloc for host, answers in zip(HOSTS, there, strict=True) if not answers
    ]
    through = ", ".join(f"{kind} through {url}" for kind, url in getproxies().items()) or "no proxy"
    through = re.sub(r"//[^/@]*@", "//***@", through)  # a user's name and password
    if not silent:
        return Finding("Network", WORKS, f"all {len(HOSTS)} sources answer; {through}")
    found = f"{', '.join(silent)} don't answer; {through}"
    do = "the demo needs none; for downloads set https_proxy, http_proxy, or run where they answer"
    return Finding("Network", LIMITED, found, do)


def _answers(address: str) -> bool:
    try:
        urlopen(Request(address, method="HEAD"), timeout=NETWORK_SECONDS).close()
    except HTTPError as error:  # an answer, unless it is the proxy's
        return error.code not in (407, 502, 503, 504)
    except OSError:
        return False
    return True


def slurm() -> Finding:
    """Partitions, the account, and whether the profile knows the partitions."""
    said = _output("sinfo", "--noheader", "--format=%R %l %G")
    if not said:
        return Finding("SLURM", WORKS, "none here: jobs run on this machine")
    rows = [line.split() for line in dict.fromkeys(said.splitlines())]
    user = f"user={os.environ.get('USER', '')}"
    accounts = _output("sacctmgr", "-nP", "show", "assoc", user, "format=account").split()
    found = f"partitions {', '.join(map(' '.join, rows))}; "
    found += f"accounts {', '.join(dict.fromkeys(accounts)) or 'unknown'}"
    profile = PARTITIONS.read_text(encoding="utf-8") if PARTITIONS.exists() else ""
    known = re.findall(r"^  (\w[\w.-]*):", profile, re.MULTILINE)
    if strange := sorted(set(known) - {row[0] for row in rows}):
        do = f"{PARTITIONS} names {', '.join(strange)}: write it by generate-slurm-partition-config"
        return Finding("SLURM", FAILS, found, do)
    do = "" if known else f"write {PARTITIONS} by generate-slurm-partition-config (docs/cluster.md)"
    return Finding("SLURM", WORKS if known else LIMITED, found, do)


def environments() -> Finding:
    """What can make the rules' environments: conda or apptainer."""
    version = re.search(r"conda (\d+)\.(\d+)\.(\d+)", _output("conda", "--version"))
    box = _output("apptainer", "--version") or _output("singularity", "--version")
    found = ", ".join(filter(None, [version and version[0], box.strip()]))
    if not found:
        do = "make setup's .venv is enough; --use-conda or --use-apptainer would need one of them"
        return Finding("conda, apptainer", LIMITED, "neither", do)
    if version and tuple(map(int, version.groups())) < CONDA and not box:
        do = f"--use-conda needs conda {'.'.join(map(str, CONDA))} or newer: conda update conda"
        return Finding("conda, apptainer", FAILS, found, do)
    return Finding("conda, apptainer", WORKS, found)


def _output(*command: str) -> str:
    """What a program prints; nothing where it isn't there, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def findings(root: Path, overlays: list[Path]) -> Iterator[Finding]:
    """All checks', then those of the config's recordings, each as soon as it is there."""
    from triptych.core.config import read_config

    for check in (python, disk, memory, processor, gpu, network, slurm, environments):
        yield check()
    if not (root / "config.yaml").exists():
        yield Finding(
            "Config", LIMITED, f"no config.yaml in {root}", "run it where config.yaml lies"
        )
        return
    yield from recordings(read_config(root, overlays))


def recordings(config: Mapping[str, Any]) -> Iterator[Finding]:
    """For each task of offline RL whose data are a file, whether it has D4RL's layout."""
    from triptych.rl.tasks.recording import DatasetError, check_layout

    for task, entry in config["rl"]["tasks"].items():
        if entry and entry.get("source") == "path":
            name, path = f"Data of {task}", Path(entry["path"])
            try:
                steps = check_layout(path)
                yield Finding(name, WORKS, f"{path} has D4RL's layout, {steps:,} steps")
            except DatasetError as error:
                found = f"{path}: {error.key}: {error.found}, expected {error.expected}"
                yield Finding(name, FAILS, found, error.advice)


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "doctor", help="say what works on this machine, and what to do", description=DESCRIPTION
    )
    laid = "laid over config.yaml, as for snakemake"
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], metavar="FILE", help=laid)
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    failed = False
    for name, status, found, do in findings(Path.cwd(), options.configfile):
        print(f"{status:8} {name}: {found}" + (f"\n{'':9}-> {do}" if do else ""), flush=True)
        failed |= status == FAILS
    return int(failed)
