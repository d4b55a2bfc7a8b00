"""One process or several that share each batch, one for each device.

Several are started and connected by Accelerate. Each computes the embeddings of its own pairs, all
embeddings are gathered, and the gradients of the weights are summed, so that a step equals one
of a single process with the whole batch.
"""

import logging
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import Parameter

from triptych.core.device import choose_device
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

PATIENCE = timedelta(hours=3)
"""How long processes wait for the one that validates and writes."""


class Group(Protocol):
    """The processes that share a batch. Number `rank` of `size` computes on `device`."""

    rank: int
    size: int
    device: torch.device

    def gather(self, own: Tensor) -> Tensor:
        """[size * N, ...]: the rows [N, ...] of every process, in the order of their ranks."""

    def own_rows(self, gathered: Tensor) -> Tensor:
        """[N, ...]: this process' rows of what `gather` returned."""

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Give every process the sum of all processes' gradients."""

    def any(self, mine: bool) -> bool:
        """Whether it holds in any process."""


class Alone:
    """A process that shares its batches with no other."""

    rank, size = 0, 1

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def gather(self, own: Tensor) -> Tensor:
        return own

    def own_rows(self, gathered: Tensor) -> Tensor:
        return gathered

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        pass

    def any(self, mine: bool) -> bool:
        return mine


class Together:
    """One of several processes of torch's default process group."""

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        self.rank, self.size, self.device = rank, size, device
        # What processes ask each other goes by the CPU, so that no GPU has to be waited for.
        on_gpu = device.type == "cuda"
        self._words: Any = (
            torch.distributed.new_group(timeout=PATIENCE, backend="gloo") if on_gpu else None
        )

    def gather(self, own: Tensor) -> Tensor:
        parts = [torch.empty_like(own) for _ in range(self.size)]
        torch.distributed.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    def own_rows(self, gathered: Tensor) -> Tensor:
        return gathered.chunk(self.size)[self.rank]

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        sums = [torch.distributed.all_reduce(gradient, async_op=True) for gradient in gradients]
        for handle in sums:
            handle.wait()

    def any(self, mine: bool) -> bool:
        flag = torch.tensor(float(mine))
        torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MAX, group=self._words)
        return bool(flag)


@contextmanager
def fails_together(group: Group) -> Iterator[None]:
    """Where memory runs out in one process, raise torch.OutOfMemoryError in all of them.

    Otherwise the others would wait for that one in the next exchange.
    """
    reason = None
    try:
        yield
    except torch.OutOfMemoryError as error:
        reason = str(error)
    if group.any(reason is not None):
        raise torch.OutOfMemoryError(reason or "another process ran out of memory")


class Stop(Protocol):
    """Something that may ask to stop, such as `triptych.core.stopping.StopRequest`."""

    @property
    def reason(self) -> str | None: ...


class Interrupted(Exception):
    """Somebody wants the job to stop in the middle of what needn't be saved."""


def launch(function: Callable[[Group], None], devices: int, device: str, stop: Stop) -> None:
    """Call `function` in this process, or at once in one process for each of several devices.

    `device` is auto, cpu or cuda. Several processes are forks of this one, which therefore must not
    have computed anything yet; a wish to stop is passed on to them, and what they print goes to
    the same log. Raises Stopped when they stopped, InputError for more devices than there are.
    """
    if devices == 1:
        function(Alone(choose_device(device)))
        return
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
        "pytorch_nvml_based_cuda_check": 1,  # asks for GPUs without touching them before the fork
    }
    with patch_environment(**environment):
        context = start_processes(
            PrepareForLaunch(_member, "MULTI_GPU"),
            (function, devices, device, stopped),
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


def _member(function: Callable[[Group], None], devices: int, device: str, stopped: object) -> None:
    """What each process runs: join the others, call the function, tell how it ended."""
    from accelerate import PartialState

    cpu = choose_device(device).type == "cpu"
    if not cpu and torch.cuda.device_count() < devices:
        raise InputError(
            f"training.devices is {devices}, but there are {torch.cuda.device_count()} GPUs"
        )
    if cpu:
        torch.set_num_threads(max(1, torch.get_num_threads() // devices))
    state = PartialState(cpu=cpu, timeout=PATIENCE)
    if state.process_index:  # one of them tells of its progress
        logging.disable(logging.INFO)
        sys.__stderr__ = None  # type: ignore[misc]
    try:
        function(Together(state.process_index, state.num_processes, state.device))
        state.wait_for_everyone()
    except Stopped:
        stopped.set()  # type: ignore[attr-defined]
    finally:
        state.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
