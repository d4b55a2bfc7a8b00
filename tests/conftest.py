"""Fixtures that several test folders share."""

import fcntl
import os
import secrets
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("D4RL_SUPPRESS_IMPORT_ERROR", "1")

import numpy as np
import pytest
import soundfile
import torch
import warm
import yaml

from triptych.apps.sounds.search.index import NAME
from triptych.apps.sounds.search.trained import text_folder
from triptych.core.config import read_config
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.tasks.task import SIZES
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import StepSettings

torch.set_num_threads(1)

ROOT = Path(__file__).parents[1]


def pytest_configure(config):
    # Before any worker starts, so that all draw from one seed.
    os.environ.setdefault("TRIPTYCH_SEED", str(secrets.randbelow(1_000_000)))
    address = Path(tempfile.gettempdir()) / f"triptych-warm-{os.getpid()}"
    os.environ.setdefault("TRIPTYCH_WARM", str(address))


FORKING = ("test_audio_parallel.py", "test_memory_faults_audio.py")
"""They fork the test's own process, which PyTorch refuses once its autograd has begun threads."""


def pytest_collection_modifyitems(items):
    # The files that take longest first, so that no worker is left with one of them at the end:
    # those with slow tests, and of the others those that start Snakemake.
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))

    def place(item):
        path = item.path
        return path.name not in FORKING, -slow[path], path.parent.name != "workflow"

    items.sort(key=place)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"Random moments: TRIPTYCH_SEED={os.environ['TRIPTYCH_SEED']}")


@pytest.fixture
def warm_python(tmp_path_factory) -> Iterator[None]:
    """What this process starts by sys.executable is warm (warm.py)."""
    with warm.warm_python(tmp_path_factory.mktemp("warm")):
        yield


@pytest.fixture(scope="session")
def small_text(tmp_path_factory) -> Path:
    """The shipped sound model's text side, as `triptych index` leaves it beside an index: its
    export takes seconds, and is made once for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small.text"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            sounds = tmp_path_factory.mktemp("sounds")
            soundfile.write(sounds / "hum.wav", np.full(32_000, 0.1), 32_000)
            index = [*warm.COMMAND, "-m", "triptych.cli", "index", str(sounds), "--model", "small"]
            subprocess.run(index, check=True, capture_output=True)
            text_folder(sounds / NAME).rename(folder)
    return folder


@pytest.fixture(scope="session")
def narrow() -> Widths:
    return Widths(actor=(12, 10), critic=(14, 9), vae=16)


@pytest.fixture(scope="session")
def bcq_settings() -> Bcq:
    return Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=3)


@pytest.fixture(scope="session")
def step_settings() -> StepSettings:
    return StepSettings(batch=20, learning_rate=1e-3, tau=0.005)


@pytest.fixture(scope="session")
def transitions() -> Transitions:
    """Random transitions of Hopper's sizes."""
    random, (observed, acted) = np.random.default_rng(7), SIZES["hopper"]
    rows = 500

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal((rows, *shape)).astype(np.float32)

    return Transitions(
        observations=normal(observed),
        actions=np.tanh(normal(acted)),
        rewards=normal(),
        next_observations=normal(observed),
        terminals=(random.random(rows) < 0.05).astype(np.float32),
    )


@pytest.fixture(scope="session")
def paper_config():
    """The config of the papers' scale, whole."""
    return read_config(ROOT, [ROOT / "config" / "paper.yaml"])


@pytest.fixture(scope="session")
def sources():
    """resources/sources.yaml."""
    return yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
