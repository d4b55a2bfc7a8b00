"""Runs a rule's script in a process forked from one that has imported everything (`loaded`)."""

import importlib
import multiprocessing
import os
import runpy
import sys
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

FAULTS = Path(__file__).parent
SCRIPTS = FAULTS.parents[1] / "workflow_scripts"


def start_script(job, folder: Path) -> BaseProcess:
    """Start a job's script in a folder, in a group of processes of its own, as Snakemake would.

    What it prints goes to `folder`/printed.log; its exit status is the process's.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["loaded"])
    with mock.patch.dict(os.environ, {"PYTHONPATH": f"{FAULTS}:{SCRIPTS}"}):
        forkserver.ensure_running()
    process = context.Process(target=_run, args=(job, folder))
    process.start()
    return process


def _run(job, folder: Path) -> None:
    os.setsid()
    os.chdir(folder)
    with open("printed.log", "a", encoding="utf-8") as printed:
        sys.stdout = sys.stderr = printed
        importlib.import_module("loaded")  # it is, but for an error, which is then told
        runpy.run_path(
            str(SCRIPTS / (job.rule.replace("_", "/", 1) + ".py")), init_globals={"snakemake": job}
        )
