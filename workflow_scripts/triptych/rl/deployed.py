"""Exported policies as they are met elsewhere: bytes, microseconds an act, what int8 costs."""

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from triptych.rl.evaluation import EvaluationSettings
from triptych.rl.exporting import as_decoder, export, what_acts
from triptych.rl.inference import ActingSettings, Arrays, NumpyDense, Torch, draw_latents
from triptych.rl.latency import METHODS, MOST_INPUTS, one_thread, timings
from triptych.rl.rounding import scores
from triptych.rl.storage import Values, as_read, dense_bytes
from triptych.rl.stored_policy import StoredPolicy, acting_settings

VALUES: tuple[Values, ...] = ("fp32", "int8")
COMPILE = ["-std=c99", "-O2", "-shared", "-fPIC"]
"""As the head of policy.c says."""

Inputs = Sequence[tuple[np.ndarray, np.ndarray]]
"""Observations [1, S] and latents, [1, L] for BC and [1, n, L] for BCQ."""


@dataclass(frozen=True)
class _Way:
    """One way to act: what is read and by what, a call for each input, actions from its result."""

    file: str
    reader: str
    bytes: int
    calls: Sequence[Callable[[], Any]]
    actions: Callable[[Any], np.ndarray]


def deployed_table(
    policies: Sequence[StoredPolicy],
    observations: np.ndarray,
    evaluation: EvaluationSettings,
    repeats: int,
) -> pd.DataFrame:
    """What `export` writes of trained policies: its size, speed and score, a row a file and reader.

    policies: rows of one task, algorithm, seed and sizes. observations: float32 [N, S], from which
    inputs are drawn. An act is for one observation, on one thread, without drawing its latents.
    evaluation: of the scores; how many candidates are tried the policies say. Columns: the row's
    keys, algorithm, candidates, file, values, reader, bytes, microseconds_median and
    microseconds_minimum (NaN for policy.c where there is no C compiler named cc), repeats,
    maximum_difference from float64, episodes, score_unit, return and score_normalised (means).
    """
    algorithm = policies[0].settings["algorithm"]
    acting = acting_settings(policies[0].settings)
    kept = [what_acts(policy.arrays, algorithm) for policy in policies]
    rounded = [as_read(arrays, values) for arrays in kept for values in VALUES]
    own = replace(evaluation, candidates=acting.candidates)
    scored = scores(rounded, policies[0].row["seed"], algorithm, acting.phi, own)
    means = scored.groupby("policy")[["return", "score_normalised"]].mean()
    records: list[dict[str, Any]] = []
    of_all = {"algorithm": algorithm, "candidates": acting.candidates if algorithm == "BCQ" else 1}
    with one_thread(), tempfile.TemporaryDirectory() as folder:
        for number, (policy, arrays) in enumerate(zip(policies, kept, strict=True)):
            inputs = _inputs(observations, arrays, algorithm, acting)
            timed = _timed(arrays, policy, algorithm, acting, inputs, Path(folder), repeats)
            for record in timed:
                scored_as = len(VALUES) * number + VALUES.index(record["values"])
                about = {**policy.row, **of_all, **record, "episodes": scored["episode"].nunique()}
                about["score_unit"] = evaluation.task.unit
                records.append({**about, "policy": scored_as})
    return pd.DataFrame(records).merge(means, on="policy").drop(columns="policy")


def _inputs(
    observations: np.ndarray, arrays: Arrays, algorithm: str, acting: ActingSettings
) -> Inputs:
    generator = np.random.default_rng(0)
    chosen = observations[generator.integers(len(observations), size=MOST_INPUTS)]
    latents = as_decoder(arrays)["vae.d1.weight"].shape[1] - observations.shape[1]
    candidates: tuple[int, ...] = ()
    clip = acting.latent_clip_bc
    if algorithm == "BCQ":
        candidates, clip = (acting.candidates,), acting.latent_clip_bcq
    return [(s[None], draw_latents(generator, (1, *candidates, latents), clip)) for s in chosen]


def _timed(
    arrays: Arrays,
    policy: StoredPolicy,
    algorithm: str,
    acting: ActingSettings,
    inputs: Inputs,
    folder: Path,
    repeats: int,
) -> list[dict[str, Any]]:
    """A record for each file and reader."""
    ways: dict[tuple[Values, str], _Way] = {}
    method, decoder = METHODS.get(f"{algorithm} policy", "bc"), as_decoder(arrays)
    actions = len(decoder["vae.d3.bias"])
    metadata = {"row": policy.row, "settings": policy.settings}
    for values in VALUES:
        path = folder / f"{values}.tpk"
        export(path, arrays, metadata, acting, algorithm, values)
        for way in (
            _onnx(path, inputs),
            _python(path, inputs, method),
            _c(path, inputs, method, actions),
        ):
            ways[values, way.reader] = way
    dense = getattr(Torch(decoder, acting, "dense"), method)
    calls = [partial(dense, *each) for each in inputs]
    size = dense_bytes(arrays)
    ways["fp32", "torch"] = _Way("torch.save", "torch", size, calls, _first)
    taken = timings({"/".join(name): way.calls for name, way in ways.items() if way.calls}, repeats)
    records = []
    for (values, reader), way in ways.items():
        reference = NumpyDense(as_decoder(as_read(arrays, values)), acting, np.float64)
        differences = [
            _difference(way.actions(call()), reference, algorithm, *each)
            for call, each in zip(way.calls, inputs, strict=bool(way.calls))
        ]
        nothing = {"microseconds_median": np.nan, "microseconds_minimum": np.nan, "repeats": 0}
        about = {"file": way.file, "values": values, "reader": reader, "bytes": way.bytes}
        timing = taken.get(f"{values}/{reader}", nothing)
        largest = max(differences, default=np.nan)
        records.append({**about, **timing, "maximum_difference": largest})
    return records


def _difference(
    actions: np.ndarray,
    reference: NumpyDense,
    algorithm: str,
    observation: np.ndarray,
    latents: np.ndarray,
) -> float:
    """Of an act from the reference's; of BCQ from the candidate next to it, or that one's regret.

    As in the table of latencies: two equally good candidates may be told apart by rounding.
    """
    if algorithm != "BCQ":
        return float(np.abs(reference.bc(observation, latents) - actions).max())
    (candidates,), (values,) = reference.candidates(observation, latents)
    off = np.abs(candidates - actions).max(axis=1)
    taken, best = off.argmin(), values.max()
    return float(max(off[taken], (best - values[taken]) / max(abs(best), 1)))


def _first(result: Any) -> np.ndarray:
    """The actions of what `bc` or `bcq` returns; the latter says too which candidate they are."""
    actions: np.ndarray = result[0] if isinstance(result, tuple) else result
    return actions


def _onnx(path: Path, inputs: Inputs) -> _Way:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = path.with_suffix(".onnx")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = [
        {"observation": s} | ({"latent": z.reshape(-1, z.shape[-1])} if z.size else {})
        for s, z in inputs
    ]
    calls = [partial(session.run, ["action"], feed) for feed in feeds]
    return _Way("ONNX", "onnxruntime", model.stat().st_size, calls, lambda result: result[0])


def _python(path: Path, inputs: Inputs, method: str) -> _Way:
    """policy.py as it was written beside the file."""
    spec = importlib.util.spec_from_file_location("policy", path.parent / "policy.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    act = getattr(module.Policy(path), method)
    calls = [partial(act, *each) for each in inputs]
    return _Way("packed", "policy.py", path.stat().st_size, calls, lambda actions: actions)


def _c(path: Path, inputs: Inputs, method: str, actions: int) -> _Way:
    """policy.c as it was written beside the file, compiled; without calls where cc is missing."""
    action = np.empty((1, actions), np.float32)
    calls = list(_c_calls(path, inputs, method, action))
    return _Way("packed", "policy.c", path.stat().st_size, calls, lambda _: action)


def _c_calls(
    path: Path, inputs: Inputs, method: str, action: np.ndarray
) -> Iterator[Callable[[], Any]]:
    """Calls that fill `action`. Their arguments are made ready: that costs as much as acting."""
    compiler = shutil.which("cc")
    if compiler is None:
        return
    library = path.parent / "libpolicy.so"
    if not library.exists():
        source = path.parent / "policy.c"
        subprocess.run([compiler, *COMPILE, source, "-o", library, "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.policy_open.restype = ctypes.c_void_p
    problem = ctypes.c_char_p()
    # Never closed: its few kilobytes go with the process, and the calls stay good until then.
    policy = ctypes.c_void_p(loaded.policy_open(str(path).encode(), ctypes.byref(problem)))
    if not policy:
        raise RuntimeError(f"policy.c cannot read {path}: {problem.value!r}")
    for observation, latent in inputs:
        s, z, a = (ctypes.c_void_p(each.ctypes.data) for each in (observation, latent, action))
        if method == "bcq":
            yield partial(loaded.policy_bcq, policy, s, z, ctypes.c_int(latent.shape[1]), a)
        else:
            yield partial(loaded.policy_bc, policy, s, z, a)
