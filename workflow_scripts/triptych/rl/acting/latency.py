"""How long one policy takes to act, in each kernel, measured so that drift hits all alike."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.rl.acting.c_reader import PolicyC, compiled_reader
from triptych.rl.acting.inference import (
    ActingSettings,
    Arrays,
    NumpyDense,
    Torch,
    draw_latents,
    parts_of,
)
from triptych.rl.algorithms.networks import initialise, torch_layout
from triptych.rl.algorithms.registry import Widths
from triptych.rl.pruning.single_shot import read_masks

logger = logging.getLogger(__name__)

MOST_INPUTS = 16  # different ones in turn, lest the processor learn one input's zeros by heart
ROWS_AT_ONCE = 2000  # large batches hold variety enough, and take long: two of them then do
METHODS = {"actor": "actor", "BCQ policy": "bcq", "BC policy": "bc"}
"""What a kernel calls each part."""
SLICE_SECONDS = 5e-4  # least time of one measurement, against the clock's and the call's own cost


Kernel = NumpyDense | Torch | PolicyC
Inputs = list[tuple[np.ndarray, ...]]
"""What a part is called with, in turn."""


def kernels_of(arrays: Arrays, settings: ActingSettings) -> dict[str, Kernel]:
    """All kernels for one policy, by the name that the table gives them."""
    library = compiled_reader()
    return {
        "torch dense": Torch(arrays, settings, "dense"),
        "numpy dense": NumpyDense(arrays, settings),
        "torch CSR": Torch(arrays, settings, "csr"),
        **({"policy.c": PolicyC(library, arrays, settings)} if library else {}),
    }


def prepared(kernel: Kernel, part: str, *inputs: np.ndarray) -> Callable[[], Any]:
    """A call that acts: actions [B, A], of BCQ with the numbers of the candidates chosen [B]."""
    if isinstance(kernel, PolicyC):
        return kernel.prepared(part, *inputs)
    return partial(getattr(kernel, METHODS[part]), *inputs)


def latency_table(
    arrays: Arrays,
    settings: ActingSettings,
    observations: np.ndarray,
    batches: Sequence[int],
    repeats: int,
) -> pd.DataFrame:
    """Microseconds that each kernel takes for each part of a policy, on one thread.

    arrays: one policy in torch's layout; a policy without actor and critic has only a BC part.
    observations: float32 [N, S], from which batches are drawn. Each of `repeats` rounds times
    all kernels one after another, in turn from another start; a timing is the mean over calls
    with 2 to 16 different inputs. Drawing the latents is not in the time. Columns:
    part, kernel, batch, candidates (1 where the part samples none), microseconds_median,
    microseconds_minimum, repeats, maximum_difference from a float64
    reference (`_difference`).
    """
    parts = parts_of(arrays)
    kernels = kernels_of(arrays, settings)
    reference = NumpyDense(arrays, settings, np.float64)
    generator = np.random.default_rng(0)
    records = []
    with one_thread():
        for part in parts:
            for batch in batches:
                inputs = _inputs(part, batch, arrays, settings, observations, generator)
                calls = {
                    name: [prepared(kernel, part, *each) for each in inputs]
                    for name, kernel in kernels.items()
                }
                # Comparing the results also warms each kernel.
                differences = {
                    name: max(
                        _difference(reference, part, each, call())
                        for each, call in zip(inputs, own, strict=True)
                    )
                    for name, own in calls.items()
                }
                for name, timing in timings(calls, repeats).items():
                    about = {"part": part, "kernel": name, "batch": batch}
                    about["candidates"] = settings.candidates if part == "BCQ policy" else 1
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
) -> Inputs:
    """Different inputs of a part: observations beside actions or latents."""
    rows = batch * (settings.candidates if part == "BCQ policy" else 1)
    found: Inputs = []
    for _ in range(min(max(ROWS_AT_ONCE // rows, 2), MOST_INPUTS)):
        states = observations[generator.integers(len(observations), size=batch)]
        if part == "actor":
            shape, span = (batch, len(arrays["actor.l3.bias"])), settings.max_action
            drawn = generator.uniform(-span, span, shape).astype(np.float32)
            found.append((np.concatenate((states, drawn), axis=1),))
            continue
        latent = arrays["vae.d1.weight"].shape[1] - observations.shape[1]
        if part == "BC policy":
            latents = draw_latents(generator, (batch, latent), settings.latent_clip_bc)
        else:
            each = batch, settings.candidates, latent
            latents = draw_latents(generator, each, settings.latent_clip_bcq)
        found.append((states, latents))
    return found


def _difference(
    reference: NumpyDense, part: str, inputs: tuple[np.ndarray, ...], result: Any
) -> float:
    """How far a kernel's result is from the reference's, which is in float64.

    Of actor and BC the largest absolute difference of an action. BCQ's argmax may fall either way
    between two equally good candidates: there the larger of the difference of the kernel's action
    from the reference's action of the same candidate, and by how much the reference values that
    candidate less than its own best, relative to that value where it exceeds 1.
    """
    if part != "BCQ policy":
        expected = getattr(reference, METHODS[part])(*inputs)
        return float(np.abs(expected - result).max())
    candidates, values = reference.candidates(*inputs)
    actions, chosen = result
    row, best = np.arange(len(chosen)), values.max(axis=1)
    regret = (best - values[row, chosen]) / np.maximum(np.abs(best), 1)
    return float(max(np.abs(candidates[row, chosen] - actions).max(), regret.max()))


def timings(
    calls: Mapping[str, Sequence[Callable[[], object]]], repeats: int
) -> dict[str, dict[str, float]]:
    """How long a call takes, for several kinds of calls, each with different inputs.

    Each of `repeats` rounds times all kinds, in turn from another start. By name:
    microseconds_median and microseconds_minimum over the rounds, repeats.
    """
    times = {
        name: max(1, round(SLICE_SECONDS / (_seconds(own, 1) * len(own))))
        for name, own in calls.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for repeat in range(repeats):
        start = repeat % len(names)
        for name in names[start:] + names[:start]:
            seconds[name].append(_seconds(calls[name], times[name]))
    return {
        name: {
            "microseconds_median": 1e6 * float(np.median(own)),
            "microseconds_minimum": 1e6 * min(own),
            "repeats": repeats,
        }
        for name, own in seconds.items()
    }


def _seconds(calls: Sequence[Callable[[], object]], times: int) -> float:
    """Of a call, all of them gone through so many times."""
    began = time.perf_counter()
    for _ in range(times):
        for call in calls:
            call()
    return (time.perf_counter() - began) / (times * len(calls))


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, and a warning if numpy's products run on several.

    numpy cannot be told so after it is loaded: OPENBLAS_NUM_THREADS=1 has to stand in the
    environment before.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    matrix = np.ones((600, 600), dtype=np.float32)
    began, computed = time.perf_counter(), time.process_time()
    for _ in range(20):
        matrix @ matrix
    if time.process_time() - computed > 1.3 * (time.perf_counter() - began):
        logger.warning("numpy uses several threads: set OPENBLAS_NUM_THREADS=1 for a fair table")
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def pruned_policy(
    masks: str | os.PathLike[str],
    runs: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any],
    widths: Widths,
    observation_size: int,
    action_size: int,
) -> dict[str, np.ndarray]:
    """One run's networks at initialisation times its mask, in torch's layout.

    masks: what `pruning.write_masks` wrote for the stack `runs`; `run`: the method,
    sparsity_percent and seed of one of them. How long a policy takes does not depend on
    what it has learned, only on where its zeros are, and those stay where they are.
    """
    matches = [k for k, each in enumerate(runs) if all(each[key] == run[key] for key in run)]
    if len(matches) != 1:
        raise ValueError(f"{dict(run)} is {len(matches)} of the {len(runs)} runs of {masks}, not 1")
    kept = read_masks(masks, widths, observation_size, action_size)
    fresh = initialise(widths, observation_size, action_size, [int(run["seed"])])
    arrays = {name: value[0].numpy() for name, value in fresh.items()}
    return torch_layout(
        {
            name: np.where(kept[name][matches[0]], array, np.float32(0)) if name in kept else array
            for name, array in arrays.items()
        }
    )
