"""The console command `triptych doctor`: what works on this machine, what won't, what to do.

A check is a function without arguments that gives a `Finding`. None needs a program that may be
missing, none imports PyTorch, and each stands by itself.
"""

import argparse
import importlib.metadata as packages
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, getproxies, urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triptych.apps import command
from triptych.core.errors import InputError
from triptych.core.packages import writable_cache

WORKS, LIMITED, FAILS = "works", "limited", "won't"
"""Nothing to do; some of it works; something that is asked for will fail."""

DESCRIPTION = """\
Look at this machine: Python, cores, memory, disk, GPU and network. What works, what won't, and what
to do. Ends with 1 where something won't.
"""
DISK_GB = {"the environment": 7, "the demo": 3, "config/paper.yaml": 2000}
MEMORY_GB = {"the demo": 4, "config/paper.yaml": 32}
HOSTS = (
    *("https://huggingface.co", "https://zenodo.org", "https://download.pytorch.org"),
    *("https://upload.wikimedia.org", "http://rail.eecs.berkeley.edu"),
)
"""Where most of resources/sources.yaml comes from."""
DRIVERS = {12: 525, 13: 580}
"""The oldest NVIDIA driver for each major version of CUDA, by NVIDIA's release notes."""
NETWORK_SECONDS, PROGRAM_SECONDS = 5, 60
UNQUOTED = re.compile(r"""[\s'"()&;<>|$`\\*?\[\]#~!{}:]""")
"""Characters that end or change a path where a shell or PYTHONPATH has it unquoted: Snakemake hands
the interpreter to a shell so (snakemake#2645)."""


class Finding(NamedTuple):
    """Result of one check. do: advice, or "" where nothing is to be done."""

    name: str
    status: str
    found: str
    do: str = ""


def python() -> Finding:
    """The interpreter, and whether what the library needs is installed beside it."""
    found = f"{platform.python_version()} in {sys.prefix}"
    if wrong := UNQUOTED.search(sys.prefix):
        do = f"clone into a folder without {wrong[0]!r} in its path, and make setup there"
        return Finding("Python", FAILS, f"{found}, a path that no job can start from", do)
    needed = [Requirement(text) for text in packages.requires("triptych") or []]
    installed = {canonicalize_name(package.name) for package in packages.distributions()}
    missing = [
        package.name
        for package in needed
        if (not package.marker or package.marker.evaluate({"extra": ""}))
        and canonicalize_name(package.name) not in installed
    ]
    if missing:
        return Finding("Python", FAILS, f"{found}; without {', '.join(missing)}", "make setup")
    return Finding("Python", WORKS, found)


def memory() -> Finding:
    """Cores that this process may use, and the machine's memory, or what a container may take."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    said = limit.read_text(encoding="utf-8").strip() if limit.exists() else ""
    most = min(size, int(said) if said.isdigit() else size) / 1e9
    found = f"{most:,.0f} GB, {cores} cores of {platform.machine()}"
    return _room("Memory", found, most, MEMORY_GB)


def disk() -> Finding:
    """The room in the working directory."""
    free = shutil.disk_usage(".").free / 1e9
    return _room("Disk", f"{free:,.0f} GB free in {Path.cwd()}", free, DISK_GB)


def home() -> Finding:
    """Whether Snakemake and Triptych can write their caches."""
    try:
        return Finding("Cache", WORKS, str(writable_cache().parent))
    except InputError as problem:
        return Finding("Cache", FAILS, *str(problem).split("; ", 1))


def _room(name: str, found: str, there: float, needed: Mapping[str, float]) -> Finding:
    """Whether there is enough, by what needs it. The demo must be possible."""
    short = [f"{what} takes about {gb:,} GB" for what, gb in needed.items() if gb > there]
    status = WORKS if not short else FAILS if there < needed["the demo"] else LIMITED
    do = "; triptych plan says what a config takes" if short else ""
    return Finding(name, status, found, "; ".join(short) + do)


def gpu() -> Finding:
    """The GPU, its driver beside what the installed CUDA needs, and whether PyTorch adds on it."""
    said = _output("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv")
    if not said:
        do = "the demo needs none; for config/paper.yaml device: cuda needs an NVIDIA GPU"
        return Finding("GPU", LIMITED, "nvidia-smi finds none", do)
    found = "; ".join(said.splitlines()[1:])
    driver = found.split(";")[0].rpartition(", ")[2]
    cuda = _cuda()
    if not cuda:
        do = "rm -r .venv; make setup TORCH=cuda"
        return Finding("GPU", LIMITED, f"{found}; PyTorch here is for processors alone", do)
    if int(driver.partition(".")[0] or 0) < DRIVERS.get(cuda, 0):
        do = f"update the driver to {DRIVERS[cuda]} or later (docs/scales.md, An older driver)"
        return Finding("GPU", FAILS, f"{found}, a driver too old for CUDA {cuda}", do)
    test = "import torch; print('the sum is', torch.ones(2, device='cuda').sum().item())"
    if "the sum is 2.0" in _output(sys.executable, "-c", test):
        return Finding("GPU", WORKS, found)
    do = f'see what PyTorch says: {sys.executable} -c "{test}"'
    return Finding("GPU", FAILS, f"{found}; PyTorch fails on it", do)


def _cuda() -> int:
    """Major version of the CUDA libraries that are installed beside PyTorch; 0: none."""
    for name in ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"):
        try:
            return int(packages.version(name).partition(".")[0])
        except packages.PackageNotFoundError:
            continue
    return 0


def network() -> Finding:
    """Whether the sources of downloads answer, and through which proxies."""
    with ThreadPoolExecutor(len(HOSTS)) as pool:
        answers = dict(zip(HOSTS, pool.map(_answers, HOSTS), strict=True))
    silent = [urlsplit(host).netloc for host, there in answers.items() if not there]
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


def _output(*program: str) -> str:
    """Output of a program, or "" where it is missing, fails or hangs."""
    try:
        done = subprocess.run(program, capture_output=True, text=True, timeout=PROGRAM_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "say what works on this machine, and what to do"
    command(commands, "doctor", _doctor, summary, DESCRIPTION)


def _doctor(options: argparse.Namespace) -> int:
    failed = False
    for check in (python, memory, disk, home, gpu, network):
        name, status, found, do = check()
        print(f"{status:8} {name}: {found}" + (f"\n{'':9}-> {do}" if do else ""), flush=True)
        failed |= status == FAILS
    return int(failed)
