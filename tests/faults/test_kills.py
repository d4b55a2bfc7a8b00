"""Snakemake that is killed, alone or with its jobs, and code that is edited while it runs."""

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

import pandas as pd
import pytest
import warm
import yaml
from tiny_checkout import TINY, Checkout, copy_checkout

from triptych.core.config import merged

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("TRIPTYCH_MOMENTS", "1"))
"""How many random moments are tried of each: `make faults` says 10."""
TRAININGS = {
    "style_optimize": "results/style/optimize/losses/runs.csv",
    "style_train": "results/style/networks/mosaic/plain/network.safetensors",
    "audio_pretrain": "results/audio/models/mini_n-mini_roberta/leak_free/pretrained",
    "rl_train": "results/rl/hopper/narrow/bcq-paper/policies.safetensors",
}
"""The rules that resume from a checkpoint, with an output of a job."""
TRAINED = TRAININGS["rl_train"]
LONGER = {
    "rl": {"training": {"updates": 160, "checkpoint_every": 8}, "evaluation": {"every": 80}},
    "style": {
        "experiments": {"losses": {"evaluations": 10}},
        "training": {"schedule": {"batches": 10, "size": 32, "checkpoint_every": 1}},
    },
    "audio": {"stages": {"common": {"checkpoint_minutes": 1e-4}, "pretraining": {"epochs": 2}}},
}
"""Laid over TINY: every training saves many checkpoints."""


class Run:
    """A run of Snakemake in a checkout, in a group of processes of its own."""

    def __init__(self, checkout: Checkout, *arguments: str, python: list[str]) -> None:
        self._root = checkout.root
        self._log = self._root / "printed.log"
        command = [*python, "-m", "snakemake", "--cores", "2", "--configfile", "tiny.yaml"]
        with self._log.open("w") as printed:
            self._process = subprocess.Popen(
                [*command, *arguments],
                cwd=self._root,
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, pattern: str) -> None:
        """Wait until there is a file of this pattern."""
        while not any(self._root.glob(pattern)):
            assert self._process.poll() is None, self._log.read_text()
            time.sleep(0.01)

    def printed(self) -> str:
        """All that it has printed, once it has ended."""
        self._process.wait()
        return self._log.read_text()

    def kill(self, alone: bool = False) -> None:
        """SIGKILL for Snakemake and all its jobs, or for Snakemake alone."""
        with suppress(ProcessLookupError):  # it has just ended
            (os.kill if alone else os.killpg)(self._process.pid, SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Checkout:
    """A checkout in which every training has run; not to be changed."""
    checkout = copy_checkout(tmp_path_factory.mktemp("undisturbed"))
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(merged(TINY, LONGER)))
    checkout.snakemake(*TRAININGS.values())
    return checkout


@pytest.fixture
def checkout(undisturbed, tmp_path) -> Checkout:
    """A copy of it, file times kept, without checkpoints."""
    root = shutil.copytree(undisturbed.root, tmp_path / "checkout", symlinks=True)
    shutil.rmtree(root / "results/checkpoints")
    return Checkout(root)


def lasted(checkout: Checkout, rule: str) -> float:
    """Seconds that a job of a rule took."""
    (file,) = (checkout.root / "results/benchmarks" / rule).glob("*.tsv")
    return pd.read_csv(file, sep="\t")["s"][0]


def moment(name: str, seconds: float) -> None:
    """Wait for a random time, which TRIPTYCH_SEED repeats."""
    seed = os.environ["TRIPTYCH_SEED"]
    after = random.Random(f"{seed} {name}").uniform(0, seconds)
    print(f"seed {seed}: after {after:.3f} s")
    time.sleep(after)


def made(checkout: Checkout, output: str) -> dict[str, bytes]:
    """What a training made, measured seconds left out; nothing is half-written."""
    folder = (checkout.root / output).parent
    assert not list((checkout.root / "results").rglob(".partial-*"))
    files = {path for path in folder.rglob("*") if path.is_file()}
    timed = {path for path in files if path.suffix == ".csv" and "seconds" in path.read_text()}
    return {str(path.relative_to(folder)): path.read_bytes() for path in files - timed}


@pytest.mark.parametrize("rule", TRAININGS)
def test_a_training_that_is_killed_with_its_snakemake_ends_with_an_unbroken_runs_bytes(
    undisturbed, checkout, rule
):
    output = TRAININGS[rule]
    log = f"results/checkpoints/{rule}/**/attempts.log"
    shutil.rmtree(checkout.root / f"results/logs/{rule}")
    for number in range(TIMES):
        run = Run(checkout, "--nolock", "--forcerun", rule, "--", output, python=warm.COMMAND)
        run.wait_for(f"results/checkpoints/{rule}/**/state.pt")
        moment(f"{rule} {number}", 1 if number else 0.15 * lasted(undisturbed, rule))
        run.kill()
    checkout.snakemake(output)
    attempts = "".join(path.read_text() for path in checkout.root.glob(log))
    assert re.search(r"resuming( at \w+|:) [1-9]", attempts)
    assert made(checkout, output) == made(undisturbed, output)


JOURNAL = """    def save(self, state: dict[str, Any]) -> None:
        import time
        with open("journal", "a") as journal:
            print(os.getpid(), file=journal)
        time.sleep(0.1)
"""


def test_jobs_of_a_snakemake_that_was_killed_alone_and_of_the_next_never_write_together(
    undisturbed, checkout
):
    """Each save notes who saves: whoever has begun to, is alone until it has ended."""
    checkout.edit("workflow_scripts/triptych/core/job_lock.py", "BEAT = 5.0", "BEAT = 0.5")
    signature = "    def save(self, state: dict[str, Any]) -> None:\n"
    checkout.edit("workflow_scripts/triptych/core/checkpoint.py", signature, JOURNAL)
    journal = checkout.root / "journal"
    for number in range(TIMES):
        journal.with_name(f"journal-{number}").touch()
        before = len(journal.read_text()) if journal.exists() else 0
        run = Run(checkout, "--forcerun", "rl_train", "--", TRAINED, python=[sys.executable])
        while not journal.exists() or len(journal.read_text()) == before:
            run.wait_for("journal-*")  # fails where the run has ended
            time.sleep(0.01)
        with pytest.raises(AssertionError) as refused:
            checkout.snakemake(TRAINED)
        for words in ("cannot be locked", "no other Snakemake process", "--unlock"):
            assert words in str(refused.value)
        moment(f"orphans {number}", 1)
        run.kill(alone=True)
        checkout.snakemake("--unlock")
    checkout.snakemake(TRAINED, "--forcerun", "rl_train")
    writers = [pid for pid, _ in itertools.groupby(journal.read_text().split())]
    assert len(writers) == len(set(writers)) > 1
    assert made(checkout, TRAINED) == made(undisturbed, TRAINED)


def test_a_job_that_starts_after_an_edit_fails_by_the_modules_name(undisturbed, checkout):
    """The edit is made once the job before it has begun, and taken back for the next run."""
    edited = "workflow_scripts/triptych/rl/acting/evaluation.py"
    shutil.rmtree(checkout.root / "results/rl")
    shutil.rmtree(checkout.root / "results/logs/rl_collect")
    run = Run(checkout, "--", TRAINED, python=warm.COMMAND)
    run.wait_for("results/logs/rl_collect/*.log")
    checkout.edit(edited, "STEPS_DRAWN = 100", "STEPS_DRAWN = 101")
    failed = re.search(r"failed: CodeChanged: (\S+) changed", run.printed())
    assert failed and failed[1] == edited
    assert not Path(checkout.root / TRAINED).exists()
    checkout.edit(edited, "STEPS_DRAWN = 101", "STEPS_DRAWN = 100")
    checkout.snakemake(TRAINED)
    assert made(checkout, TRAINED) == made(undisturbed, TRAINED)
