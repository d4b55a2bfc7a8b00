"""Start the processes that share a training's batches, and end them together.

On one machine they are forks of the job, started by Accelerate. In a SLURM job of several tasks,
on one node or more, srun starts them, and they find each other by what it tells them. Either way
the job itself only waits: it passes a wish to stop on to them, and their words on to its log.
"""

import json
import logging
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

import torch

from triptych.audio.training.parallel import PATIENCE, Alone, Group, Together
from triptych.core.device import choose_device
from triptych.core.errors import InputError
from triptych.core.job import log_to_stderr
from triptych.core.stopping import Stop, Stopped

Function = Callable[[Group], None]

MEMBER = "from triptych.audio.training.launching import join; join()"
"""What srun runs in every task."""


def launch(function: Function, devices: int, device: str, stop: Stop, nodes: int = 1) -> None:
    """Call `function` in this process, or at once in one for each device of each node.

    `device` is auto, cpu or cuda. Forks of this process must find that it hasn't computed anything
    yet; for srun's tasks `function` is pickled, with what it holds. Raises Stopped when they
    stopped, RuntimeError with the first one's message when they failed, InputError where there
    aren't so many devices, nodes or tasks.
    """
    if devices * nodes == 1:
        function(Alone(choose_device(device)))
    elif has_tasks(nodes, devices):
        _run_tasks(function, devices, device, stop, nodes)
    else:
        _fork(function, devices, device, stop)


def has_tasks(nodes: int, devices: int) -> bool:
    """Whether this is a SLURM job with one task for each device, and not one process on a machine.

    Raises InputError where it is neither.
    """
    job = os.environ.get("SLURM_JOB_ID")
    wanted = f"audio.stages.common asks for nodes: {nodes} with devices: {devices}"
    if job is None:
        if nodes == 1:
            return False
        raise InputError(
            f"{wanted}, but this is no SLURM job. Run with --workflow-profile profiles/slurm, "
            "or set nodes: 1"
        )
    # Of SLURM's variables, Snakemake's job steps leave little but the number of the job.
    text = _output("scontrol", "show", "job", "--oneliner", job)
    given = [int(n) for key in ("Nodes", "Tasks") for n in re.findall(rf"\bNum{key}=(\d+)", text)]
    if given == [nodes, nodes * devices]:
        return True
    if given == [1, 1] and nodes == 1:
        return False
    has = ", ".join(f"{what}: {n}" for what, n in zip(("nodes", "tasks"), given, strict=False))
    raise InputError(
        f"{wanted}, so SLURM must give it nodes: {nodes}, tasks: {nodes * devices}, but it has "
        f"{has}. Leave them to the rules (--workflow-profile profiles/slurm), or ask for as many"
    )


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _fork(function: Function, devices: int, device: str, stop: Stop) -> None:
    from accelerate.utils import patch_environment  # costs seconds, and one device has no need
    from accelerate.utils.launch import PrepareForLaunch
    from torch.multiprocessing import start_processes

    stopped = torch.multiprocessing.get_context("fork").Event()
    environment = {
        "world_size": devices,
        "local_world_size": devices,
        "nproc": devices,
        "master_addr": "127.0.0.1",
        "master_port": _free_port(),
        "omp_num_threads": max(1, torch.get_num_threads() // devices),
        "pytorch_nvml_based_cuda_check": 1,  # asks for GPUs without touching them before the fork
    }
    with patch_environment(**environment):
        context = start_processes(
            PrepareForLaunch(_forked, "MULTI_GPU"),
            (function, device, stopped),
            devices,
            join=False,
            start_method="fork",
        )
        asked = False
        while not context.join(timeout=0.5, grace_period=5.0):
            if stop.reason and not asked:
                asked = True
                for process in context.processes:
                    process.terminate()
    if stopped.is_set():
        raise Stopped(stop.reason or "a process of its own")


def _forked(function: Function, device: str, stopped: object) -> None:
    try:
        _take_part(function, device)
    except Stopped:
        stopped.set()  # type: ignore[attr-defined]


def _take_part(function: Function, device: str) -> None:
    """What each process does: join the others, as the environment says, and call the function."""
    from accelerate import PartialState

    cpu = choose_device(device).type == "cpu"
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    if not cpu and torch.cuda.device_count() < here:
        raise InputError(
            f"audio.stages.common.devices is {here}, but {socket.gethostname()} has "
            f"{torch.cuda.device_count()} GPUs for this job"
        )
    if cpu:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    state = PartialState(cpu=cpu, timeout=PATIENCE)
    if state.process_index:  # one of them tells of its progress
        logging.disable(logging.INFO)
        sys.__stderr__ = None  # type: ignore[misc]
    # Its CPU is called cpu:0, under which name no checkpoint can be read.
    device_here = torch.device("cpu") if cpu else state.device
    try:
        function(Together(state.process_index, state.num_processes, device_here))
        state.wait_for_everyone()
    finally:
        state.destroy_process_group()


def _run_tasks(function: Function, devices: int, device: str, stop: Stop, nodes: int) -> None:
    command = ["srun", f"--nodes={nodes}", f"--ntasks={nodes * devices}"]
    command += [f"--ntasks-per-node={devices}", f"--cpus-per-task={torch.get_num_threads()}"]
    command += ["--kill-on-bad-exit=1", sys.executable, "-c", MEMBER]
    tasks = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert tasks.stdin and tasks.stdout and tasks.stderr
    reports: list[bytes] = []
    readers = [
        threading.Thread(target=reports.extend, args=(tasks.stdout,)),
        threading.Thread(target=_relay, args=(tasks.stderr,)),
    ]
    for reader in readers:
        reader.start()
    with suppress(BrokenPipeError), tasks.stdin:  # broken where srun had nothing to start
        tasks.stdin.write(pickle.dumps((function, device, devices, _free_port())))
    asked = False
    while tasks.poll() is None:
        if stop.reason and not asked:
            asked = True
            tasks.send_signal(signal.SIGUSR1)  # is passed on; after a SIGTERM srun would kill
        time.sleep(0.2)
    for reader in readers:
        reader.join()
    _conclude([json.loads(line) for line in reports if line.startswith(b"{")], tasks.returncode)


def _relay(words: IO[bytes]) -> None:
    for line in words:
        sys.stderr.write(line.decode(errors="replace"))


def _conclude(reports: list[dict[str, str]], code: int) -> None:
    """Raise what the processes' reports say, in the order in which they came."""
    for report in reports:
        if "error" in report:
            raise RuntimeError(report["error"])
    for report in reports:
        if "stopped" in report:
            raise Stopped(report["stopped"])
    if code:
        raise RuntimeError(f"a process ended without a word; srun's code is {code}, see above")


def join() -> None:
    """Be one of srun's tasks: read from standard input what to do, and do it.

    How it ended is told on standard output, in a line of JSON; words go to standard error. A task
    that stops ends with 0, since another code would have the others killed that still save.
    """
    told, sys.stdout = sys.stdout, sys.stderr
    log_to_stderr()

    def tell(**report: str) -> None:
        print(json.dumps(report), file=told, flush=True)

    def fail(error: BaseException) -> None:
        number, host = os.environ["SLURM_PROCID"], os.environ["SLURMD_NODENAME"]
        tell(error=f"process {number} on {host}: {type(error).__name__}: {error}")

    try:
        function, device, devices, port = pickle.load(sys.stdin.buffer)
        os.environ.update(rendezvous(os.environ, devices, port))

        def reporting(group: Group) -> None:
            try:
                function(group)
            except Exception as error:
                fail(error)  # before the others notice that this one has left
                raise

        _take_part(reporting, device)
    except Stopped as stopped:
        tell(stopped=stopped.reason)
    except BaseException as error:
        traceback.print_exc()
        fail(error)
        raise SystemExit(1) from None


def rendezvous(slurm: Mapping[str, str], devices: int, port: int) -> dict[str, str]:
    """What PyTorch's processes want to know of each other, from what srun tells its tasks.

    slurm: a task's environment; devices: tasks on each node; port: free on the first node
    """
    hosts = _output("scontrol", "show", "hostnames", slurm["SLURM_STEP_NODELIST"])
    return {
        "RANK": slurm["SLURM_PROCID"],
        "WORLD_SIZE": slurm["SLURM_NTASKS"],
        "LOCAL_RANK": slurm["SLURM_LOCALID"],
        "LOCAL_WORLD_SIZE": str(devices),
        "MASTER_ADDR": hosts.split()[0],
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": slurm["SLURM_CPUS_PER_TASK"],
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
