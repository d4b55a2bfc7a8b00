"""Time to act and to train of one policy, kernel by kernel in turn, so that clock drift affects all
equally."""

import ctypes
import logging
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import as_file, files
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.rl.acting.inference import (
    LAYERS,
    NEEDED,
    ActingSettings,
    Arrays,
    Policy,
    networks_of,
    numpy_dense,
    torch_csr,
    torch_dense,
)
from triptych.rl.algorithms.bc import Bc
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import Parameters, torch_layout
from triptych.rl.pruning.storage import SCALE, SHIFT, pack
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import Learner, StepSettings, update_stepper

logger = logging.getLogger(__name__)

MOST_INPUTS = 16  # in turn, so that caches and branch prediction don't adapt to one input
ROWS_AT_ONCE = 2000
SLICE_SECONDS = 5e-4  # least time of one measurement, against the clock's and the call's own cost
STEPS = StepSettings(batch=100, learning_rate=1e-3, tau=0.005)
"""The references' settings, of the updates that are timed."""
COMPILE = ("-std=c99", "-O2", "-shared", "-fPIC")
NATIVE = "-march=native"
"""Options of the compiler (head of policy.c); not every compiler knows NATIVE."""


@cache
def compiled_reader() -> ctypes.CDLL | None:
    """readers/policy.c, compiled for this process; None, with a warning, without a `cc` or where
    temporary files may be no programs.

    Raises RuntimeError where it does not compile.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        logger.warning("no C compiler named cc is here: no policy is timed in policy.c")
        return None
    readers = files("triptych.rl.acting") / "readers"
    with tempfile.TemporaryDirectory() as folder, as_file(readers / "policy.c") as source:
        library = Path(folder) / "libpolicy.so"
        for options in ((*COMPILE, NATIVE), COMPILE):
            command = [compiler, *options, source, "-o", library, "-lm"]
            done = subprocess.run(command, capture_output=True, text=True)
            if not done.returncode:
                break
        else:
            raise RuntimeError(f"policy.c does not compile: {done.stderr}")
        try:
            loaded = ctypes.CDLL(str(library))
        except OSError as error:
            logger.warning("policy.c is not timed, set another TMPDIR: %s", error)
            return None
    loaded.policy_open.restype = ctypes.c_void_p
    return loaded


class PolicyC:
    """A policy in policy.c, which keeps and multiplies only the weights left by pruning.

    It acts for one observation after another, on one thread.
    """

    def __init__(self, library: ctypes.CDLL, arrays: Arrays, settings: ActingSettings) -> None:
        self._library, self._policies = library, dict[str, ctypes.c_void_p]()
        self._actions = len(arrays["vae.d3.bias" if "vae.d3.bias" in arrays else "actor.l3.bias"])
        for part in parts_of(arrays):
            layers = [layer for network in NEEDED[part] for layer in LAYERS[network]]
            names = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
            if part != "actor":  # whose inputs are the networks' own
                names |= {SHIFT, SCALE} & arrays.keys()
            about = asdict(settings) | {"algorithm": part.partition(" ")[0]}
            if part == "actor":  # alone it does what a decoder does, of no latents
                about["max_action"] = settings.phi * settings.max_action
            self._policies[part] = self._opened({name: arrays[name] for name in names}, about)

    def _opened(self, arrays: Arrays, settings: Mapping[str, Any]) -> ctypes.c_void_p:
        """A policy in the library's memory; never closed, its kilobytes go with the process."""
        problem = ctypes.c_char_p()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.tpk"
            pack(path, arrays, {"settings": settings}, "fp32")
            policy = self._library.policy_open(str(path).encode(), ctypes.byref(problem))
        if not policy:
            raise RuntimeError(f"policy.c cannot read what was packed: {problem.value!r}")
        return ctypes.c_void_p(policy)

    def prepared(self, part: str, *inputs: np.ndarray) -> Callable[[], tuple[np.ndarray, ...]]:
        """A call that acts, as `Policy.prepared` returns it.

        A call's arguments are made ready, which costs as much as acting; the next call overwrites
        actions.
        """
        rows = [np.ascontiguousarray(array, np.float32) for array in inputs]
        rows += [rows[0]] * (2 - len(rows))  # of no latents nothing is read
        actions = np.empty((len(rows[0]), self._actions), np.float32)
        is_bcq = part == "BCQ policy"
        act = self._library.policy_bcq if is_bcq else self._library.policy_bc
        calls = []
        for state, latent, action in zip(*rows, actions, strict=True):
            s, z, a = (ctypes.c_void_p(array.ctypes.data) for array in (state, latent, action))
            candidates = (ctypes.c_int(latent.shape[0]),) if is_bcq else ()
            calls.append((self._policies[part], s, z, *candidates, a))

        def call(memory: list[np.ndarray] = rows) -> tuple[np.ndarray, ...]:  # which calls point to
            chosen = [act(*arguments) for arguments in calls]
            return (actions, np.array(chosen)) if is_bcq else (actions,)

        return call


Kernel = Policy | PolicyC


def parts_of(arrays: Arrays) -> list[str]:
    """The parts that these arrays allow, among "actor", "BCQ policy" and "BC policy"."""
    present = networks_of(arrays)
    return [part for part, needed in NEEDED.items() if all(name in present for name in needed)]


def kernels_of(arrays: Arrays, settings: ActingSettings) -> dict[str, Kernel]:
    """All kernels for one policy, by the name that the table gives them."""
    library = compiled_reader()
    return {
        "torch dense": Policy(arrays, settings, torch_dense),
        "numpy dense": Policy(arrays, settings, numpy_dense),
        "torch CSR": Policy(arrays, settings, torch_csr),
        **({"policy.c": PolicyC(library, arrays, settings)} if library else {}),
    }


def latency_table(
    arrays: Arrays,
    settings: ActingSettings,
    observations: np.ndarray,
    batches: Sequence[int],
    repeats: int,
) -> pd.DataFrame:
    """Microseconds that each kernel takes for each part of a policy.

    arrays: one policy in torch's layout. observations: float32 [N, S], from which batches are
    drawn. Drawing the latents is not in the time. Columns: part, kernel, batch, candidates (1 where
    the part samples none), microseconds_median, microseconds_minimum, repeats, maximum_difference
    from a float64 reference (`_difference`).
    """
    kernels = kernels_of(arrays, settings)
    reference = Policy(arrays, settings, partial(numpy_dense, dtype=np.float64))
    generator = np.random.default_rng(0)
    records = []
    for part, batch in product(parts_of(arrays), batches):
        candidates = settings.candidates if part == "BCQ policy" else 1
        # Large batches hold variety enough, and take long: two of them then do.
        count = min(max(ROWS_AT_ONCE // (batch * candidates), 2), MOST_INPUTS)
        inputs = [
            _inputs(part, batch, arrays, settings, observations, generator) for _ in range(count)
        ]
        calls = {
            name: [kernel.prepared(part, *given) for given in inputs]
            for name, kernel in kernels.items()
        }
        # Comparing the results also warms each kernel.
        differences = {
            name: max(
                _difference(reference, part, given, call())
                for given, call in zip(inputs, kernel_calls, strict=True)
            )
            for name, kernel_calls in calls.items()
        }
        for name, timing in timings(calls, repeats).items():
            about = {"part": part, "kernel": name, "batch": batch, "candidates": candidates}
            records.append({**about, **timing, "maximum_difference": differences[name]})
        logger.info("timed %s at batch %d", part, batch)
    return pd.DataFrame(records)


def _inputs(
    part: str,
    batch: int,
    arrays: Arrays,
    settings: ActingSettings,
    observations: np.ndarray,
    generator: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """Inputs of a part: observations beside actions, or observations and latents."""
    states = observations[generator.integers(len(observations), size=batch)]
    if part == "actor":
        shape, span = (batch, len(arrays["actor.l3.bias"])), settings.max_action
        actions = generator.uniform(-span, span, shape).astype(np.float32)
        return (np.concatenate((states, actions), axis=1),)
    size, clip = arrays["vae.d1.weight"].shape[1] - observations.shape[1], settings.latent_clip_bc
    latents: tuple[int, ...] = (batch, size)
    if part == "BCQ policy":
        latents, clip = (batch, settings.candidates, size), settings.latent_clip_bcq
    return states, generator.standard_normal(latents, dtype=np.float32).clip(-clip, clip)


def _difference(
    reference: Policy, part: str, inputs: tuple[np.ndarray, ...], result: tuple[np.ndarray, ...]
) -> float:
    """Difference of a kernel's result from the reference's, which is in float64.

    For actor and BC the largest absolute difference of an action. BCQ's argmax may fall either way
    between equally good candidates: there the larger of the difference from the reference's action
    of the same candidate, and of that candidate's regret, relative where the best exceeds 1.
    """
    if part != "BCQ policy":
        (expected,) = reference.prepared(part, *inputs)()
        return float(np.abs(expected - result[0]).max())
    candidates, values = reference.candidates(*inputs)
    actions, chosen = result
    row, best = np.arange(len(chosen)), values.max(axis=1)
    regret = (best - values[row, chosen]) / np.maximum(np.abs(best), 1)
    return float(max(np.abs(candidates[row, chosen] - actions).max(), regret.max()))


def timings(
    calls: Mapping[str, Sequence[Callable[[], object]]], repeats: int
) -> dict[str, dict[str, float]]:
    """Times of a call, for several kinds of calls, means over different inputs.

    Each of `repeats` rounds times all kinds, in turn from another start. By name:
    microseconds_median and microseconds_minimum over the rounds, repeats.
    """
    times = {
        name: max(1, round(SLICE_SECONDS / (_seconds(kernel_calls, 1) * len(kernel_calls))))
        for name, kernel_calls in calls.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for repeat in range(repeats):
        start = repeat % len(names)
        for name in names[start:] + names[:start]:
            seconds[name].append(_seconds(calls[name], times[name]))
    return {
        name: {
            "microseconds_median": 1e6 * float(np.median(kernel_seconds)),
            "microseconds_minimum": 1e6 * min(kernel_seconds),
            "repeats": repeats,
        }
        for name, kernel_seconds in seconds.items()
    }


def _seconds(calls: Sequence[Callable[[], object]], times: int) -> float:
    """Mean seconds of a call over `times` rounds."""
    began = time.perf_counter()
    for _ in range(times):
        for call in calls:
            call()
    return (time.perf_counter() - began) / (times * len(calls))


def pruned_policy(initial: Arrays, masks: Arrays) -> dict[str, np.ndarray]:
    """A run's networks at initialisation times its masks, in torch's layout.

    initial: [in, out] and [1, out] by name; masks: boolean [in, out]. How long a policy takes
    depends only on where its zeros are, and those stay where they are.
    """
    return torch_layout(
        {
            name: np.where(masks[name], array, np.float32(0)) if name in masks else array
            for name, array in initial.items()
        }
    )


def update_times(
    initial: Parameters, masks: Parameters, seed: int, bcq: Bcq, stored: Transitions, repeats: int
) -> pd.DataFrame:
    """Microseconds of an update of BC and of BCQ in float32, in the columns of `latency_table`.

    initial, masks: of one run with this seed, [1, in, out] by name; the dense kernel trains the
    run's dense twin, the sparse one is networks/sparse.py's. maximum_difference: of the first
    update's losses from those of masked dense networks in float64.
    """
    records = []
    for algorithm in (Bc(**vars(bcq)), bcq):
        exact = _stepper(algorithm, initial, masks, seed, stored, (), torch.float64)
        dense = _stepper(algorithm, initial, {}, seed, stored)
        sparse = _stepper(algorithm, initial, masks, seed, stored, (0,))
        difference = float((exact() - sparse()).abs().max())
        dense()  # as warm as the other
        calls = {"torch dense": [dense], "torch embedding_bag": [sparse]}
        about = {"part": f"{algorithm.name} update", "batch": STEPS.batch, "candidates": 1}
        for kernel, timing in timings(calls, repeats).items():
            of_kernel = 0.0 if kernel == "torch dense" else difference
            records.append({**about, "kernel": kernel, **timing, "maximum_difference": of_kernel})
        logger.info("timed updates of %s", algorithm.name)
    return pd.DataFrame(records)


def _stepper(
    algorithm: Bcq,
    initial: Parameters,
    masks: Parameters,
    seed: int,
    stored: Transitions,
    sparse: tuple[int, ...] = (),
    dtype: torch.dtype = torch.float32,
) -> Callable[[], torch.Tensor]:
    """A function that performs one update after another and returns its losses."""
    data = DeviceData(stored, torch.device("cpu"), dtype)
    parameters = {name: value.to(dtype) for name, value in initial.items()}
    learner = Learner(parameters, masks, algorithm, STEPS, sparse=sparse)
    draws, numbers = Draws([seed], data, STEPS.batch, algorithm), count()
    update = update_stepper(learner, data, draws, "float32")
    return lambda: update(next(numbers))
