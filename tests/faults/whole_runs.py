"""Runs of Snakemake itself that are killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from killing import Workplace, kill_group
from tiny_checkout import Checkout, copy_checkout


def checkout_like(workplace: Workplace, folder: Path) -> Checkout:
    """A checkout in which nothing has run, with the config of another."""
    checkout = copy_checkout(folder)
    shutil.copy(workplace.root / "tiny.yaml", folder)
    return checkout


class Run:
    """A run of Snakemake in a checkout, in a group of processes of its own."""

    def __init__(self, checkout: Checkout, *targets: str) -> None:
        self._root = checkout.root
        self._log = self._root / "printed.log"
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", "tiny.yaml"]
        with self._log.open("w") as printed:
            self._process = subprocess.Popen(
                [*command, "--", *targets],
                cwd=self._root,
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, pattern: str) -> None:
        """Until there is a file of this pattern."""
        while not any(self._root.glob(pattern)):
            assert self._process.poll() is None, self._log.read_text()
            time.sleep(0.01)

    def ended(self) -> bool:
        """Whether it has."""
        return self._process.poll() is not None

    def printed(self) -> str:
        """All that it has printed, once it has ended."""
        self._process.wait()
        return self._log.read_text()

    def kill_alone(self) -> None:
        """SIGKILL for Snakemake, of which the jobs know nothing."""
        self._process.kill()
        self._process.wait()

    def kill(self) -> None:
        """SIGKILL for Snakemake and all its jobs."""
        kill_group(self._process.pid)
        assert self._process.wait() == -signal.SIGKILL
