"""Policies as they are deployed: packed, and read by policy.c, compiled where it can be."""

import ctypes
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from triptych.rl.acting.inference import LAYERS, NEEDED, ActingSettings, Arrays, parts_of
from triptych.rl.pruning.storage import pack

logger = logging.getLogger(__name__)

COMPILE = ("-std=c99", "-O2", "-shared", "-fPIC")
NATIVE = "-march=native"
"""Options of the compiler, as the head of policy.c says; not every one knows the last."""


@cache
def compiled_reader() -> ctypes.CDLL | None:
    """readers/policy.c, compiled for this process; None, and said, where there is no `cc`."""
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
        loaded = ctypes.CDLL(str(library))
    loaded.policy_open.restype = ctypes.c_void_p
    return loaded


class PolicyC:
    """A policy in policy.c, of which only the weights that pruning left are kept and multiplied.

    It acts for one observation after another, on one thread.
    """

    def __init__(self, library: ctypes.CDLL, arrays: Arrays, settings: ActingSettings) -> None:
        self._library, self._policies = library, dict[str, ctypes.c_void_p]()
        self._actions = len(arrays["vae.d3.bias" if "vae.d3.bias" in arrays else "actor.l3.bias"])
        for part in parts_of(arrays):
            layers = [layer for network in NEEDED[part] for layer in LAYERS[network]]
            own = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
            about = asdict(settings) | {"algorithm": part.partition(" ")[0]}
            if part == "actor":  # alone it does what a decoder does, of no latents
                about["max_action"] = settings.phi * settings.max_action
            self._policies[part] = self._opened({name: arrays[name] for name in own}, about)

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

    def prepared(self, part: str, *inputs: np.ndarray) -> Callable[[], Any]:
        """A call that acts for a batch: actions [B, A], of BCQ with the candidates chosen [B].

        inputs: observations [B, S], and latents [B, L] or [B, n, L], but for the actor. A call's
        arguments are made ready, which costs as much as acting; the next call overwrites actions.
        """
        rows = [np.ascontiguousarray(array, np.float32) for array in inputs]
        rows += [rows[0]] * (2 - len(rows))  # of no latents nothing is read
        actions = np.empty((len(rows[0]), self._actions), np.float32)
        is_bcq = part == "BCQ policy"
        act = self._library.policy_bcq if is_bcq else self._library.policy_bc
        calls = []
        for state, latent, action in zip(*rows, actions, strict=True):
            s, z, a = (ctypes.c_void_p(each.ctypes.data) for each in (state, latent, action))
            candidates = (ctypes.c_int(latent.shape[0]),) if is_bcq else ()
            calls.append((self._policies[part], s, z, *candidates, a))

        def call(kept: list[np.ndarray] = rows) -> Any:  # whose memory the calls point to
            chosen = [act(*each) for each in calls]
            return (actions, np.array(chosen)) if is_bcq else actions

        return call
