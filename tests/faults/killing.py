"""Runs the rules' own scripts, one job at a time, in processes that are killed at random moments.

Every job is what Snakemake itself would run for a tiny version of the studies, in a process forked
from one that has imported everything (warm.py), so that a second of work doesn't cost ten.
"""

import contextlib
import io
import os
import pickle
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import warm
import yaml
from slow_rules import SECONDS
from tiny_checkout import TINY, copy_checkout

from triptych.core.config import merged

HERE = Path(__file__).parent

SHORT = {
    "rl": {
        "mask_statistics": {"widths": "narrow"},
        "training": {"updates": 300, "checkpoint_every": 30},
        "evaluation": {"every": 150},
    },
    "style": {
        "contents": {"china": {"size": [64, 96]}, "large": {"size": [64, 96]}},
        "stylised": {"contents": ["china"]},
        "optimize": {"evaluations": 12},
        "experiments": {"paintings": {"size": 64, "evaluations": 4}},
        "timing": {
            **{"sizes": [64], "photographs": 2, "evaluations": 3, "repeats": 1},
            "losses": {"size": 48, "evaluations": 3, "repeats": 1},
        },
        "training": {"schedule": {"batches": 20, "checkpoint_every": 2}},
        "video": {
            "film": {"frames": 8, "width": 96, "height": 64},
            **{"batch": 4, "speed": {"repeats": 1, "frames": 4}},
        },
    },
    "audio": {
        "stages": {
            "common": {"checkpoint_minutes": 1e-4},
            "finetuning": {"epochs": 1, "rampdown_epochs": 1},
        }
    },
}
"""Laid over TINY: every job a second or so, every training with many checkpoints."""


RECORDING = """


@contextmanager
def job(snakemake):
    import pickle

    for path in map(Path, snakemake.output):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffix else path.mkdir(exist_ok=True)
    number = len(list(Path("jobs").iterdir()))
    Path("jobs", f"{number:03}").write_bytes(pickle.dumps(snakemake))
    raise SystemExit(0)
    yield
"""
"""What takes the place of core.job.job, which counts in no digest of code."""


def planned_jobs(root: Path, targets: list[str]) -> list:
    """The objects that Snakemake gives to the jobs' scripts, each after those that it needs."""
    plan = copy_checkout(root / "planned")
    shutil.copy(root / "tiny.yaml", plan.root)
    with (plan.root / "workflow_scripts/triptych/core/job.py").open("a") as module:
        module.write(RECORDING)
    (plan.root / "jobs").mkdir()
    plan.snakemake(*targets, cores=1)
    jobs = [pickle.loads(path.read_bytes()) for path in sorted((plan.root / "jobs").iterdir())]
    shutil.rmtree(plan.root)
    return jobs


@dataclass(frozen=True)
class Unbroken:
    """What a job left that nobody disturbed, how long it took, and all files there were then."""

    outputs: dict[str, bytes]
    seconds: float
    files: set[str]


class Workplace:
    """A checkout in which jobs run whose scripts are killed."""

    def __init__(self, root: Path, targets: list[str], more: dict | None = None) -> None:
        self.root = root
        copy_checkout(root)
        (root / "tiny.yaml").write_text(yaml.safe_dump(merged(merged(TINY, SHORT), more or {})))
        self._jobs = planned_jobs(root, targets)
        (root / "jobs.pickle").write_bytes(pickle.dumps(self._jobs))
        self._printed = root / "printed.log"
        self._maker = {path: job for job in self._jobs for path in job.output}
        self._unbroken: dict[str, Unbroken] = {}

    def job(self, output: str):
        """The job that makes an output."""
        return self._maker[output]

    def unbroken(self, job) -> Unbroken:
        """Run a job, and before it what it needs, each once and undisturbed."""
        name = job.output[0]
        if name not in self._unbroken:
            for path in job.input:
                if path in self._maker:
                    self.unbroken(self._maker[path])
            began = time.monotonic()
            self.finish(job)
            seconds = time.monotonic() - began
            self._unbroken[name] = Unbroken(self.outputs(job), seconds, self.files())
        return self._unbroken[name]

    def start(self, job) -> subprocess.Popen:
        """Start a job, its earlier outputs deleted and its checkpoint kept, as Snakemake does."""
        for path in (self.root / name for name in [*job.output, *job.log]):
            _remove(path)
            path.parent.mkdir(parents=True, exist_ok=True)
        _remove(self.root / "pid")
        number = str(self._jobs.index(job))
        with self._printed.open("a") as printed:
            return subprocess.Popen(
                [*warm.COMMAND, str(HERE / "planned_job.py"), number],
                cwd=self.root,
                stdout=printed,
                stderr=subprocess.STDOUT,
            )

    def finish(self, job) -> None:
        """Run a job to its end."""
        assert self.start(job).wait(300) == 0, self._printed.read_text()[-3000:]

    def forget(self, job) -> None:
        """Delete a job's checkpoint, as if it had never run."""
        if "checkpoint" in dict(job.params.items()):
            _remove(self.checkpoint(job))

    def kill(self, job, seconds: float, moments: random.Random, within: bool = False) -> float:
        """Run a job and kill it within `seconds`; returns when it was.

        within: after it has saved two states, since the first may be that of no step at all. A job
        that ends before its moment is run again, with an earlier one.
        """
        for _ in range(8):
            began = time.monotonic()
            process = self.start(job)
            if within:
                self.wait_for_states(job, process, 2)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0, seconds))
            after = time.monotonic() - began
            pid = self.root / "pid"
            while process.poll() is None and not pid.exists():
                time.sleep(0.002)
            if process.poll() is None:
                kill_group(int(pid.read_text()))
            if process.wait() == 128 + signal.SIGKILL:
                return after
            assert process.returncode == 0, self._printed.read_text()[-3000:]
            if within:
                self.forget(job)
            seconds /= 2
        raise AssertionError(f"{job.rule} ended before it could be killed, 8 times")

    def wait_for_states(self, job, process: subprocess.Popen, number: int) -> None:
        """Until a started job has saved so many states from which it can resume, or has ended."""
        states, before = set(), self._saved(job)
        while len(states - before) < number and process.poll() is None:
            states |= self._saved(job)
            time.sleep(0.002)

    def checkpoint(self, job) -> Path:
        return self.root / job.params.checkpoint

    def _saved(self, job) -> set[int]:
        """When each state that is there was saved, in nanoseconds."""
        return {state.stat().st_mtime_ns for state in self.checkpoint(job).rglob("state.pt")}

    def attempts(self, job) -> str:
        """What all attempts at a job with a checkpoint have said."""
        return (self.checkpoint(job) / "attempts.log").read_text()

    def outputs(self, job) -> dict[str, bytes]:
        """A job's files, those in folders too, without the columns that hold measured seconds."""
        timed = SECONDS.get(job.rule, {})
        found = {}
        for output in job.output:
            path = self.root / output
            assert path.exists(), output
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    name = str(file.relative_to(self.root))
                    found[name] = _without(timed.get(file.name, []), file.read_bytes())
        return found

    def files(self) -> set[str]:
        """All files below results/, but for who owned what."""
        found = {file for file in (self.root / "results").rglob("*") if not file.is_dir()}
        return {str(file) for file in found if "leases" not in file.parts}


def kill_group(pid: int) -> None:
    """SIGKILL for a process and all that it has started; nothing for one that has just ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _without(columns: list[str], table: bytes) -> bytes:
    if not columns:
        return table
    return pd.read_csv(io.BytesIO(table), dtype=str).drop(columns=columns).to_csv().encode()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
