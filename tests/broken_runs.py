"""Trainings in processes of their own, to be killed and asked to stop."""

import subprocess
import time

import warm


def start(script, folder, *arguments):
    """A script that trains, warm, with the folder that it works in, and what else it asks for."""
    return subprocess.Popen(
        [*warm.COMMAND, str(script), str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_checkpoint(folder, process, times):
    """Until the checkpoint has been replaced `times` times, or the process has ended."""
    state, seen = folder / "checkpoint" / "state.pt", set()
    while len(seen) < times and process.poll() is None:
        if state.exists():
            seen.add(state.stat().st_mtime_ns)
        time.sleep(0.002)
