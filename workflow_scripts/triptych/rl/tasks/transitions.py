"""Pairs for Q-learning, and the file that keeps them."""

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path
from triptych.rl.tasks.task import HORIZON

Floats = NDArray[np.float32]
PathLike = str | os.PathLike[str]

LAYOUT = "See docs/own-study.md for the layout of such files."


class DatasetError(ValueError):
    """A wrong file; the message names file, key, expected and found values, and what to do."""

    def __init__(
        self, path: PathLike, key: str, expected: str, found: str, advice: str = LAYOUT
    ) -> None:
        super().__init__(f"{path}: {key}: expected {expected}, found {found}. {advice}")


@dataclass(frozen=True)
class Transitions:
    """Pairs for Q-learning, all float32: [N, S], [N, A], [N], [N, S] and [N] with 0 or 1."""

    observations: Floats
    actions: Floats
    rewards: Floats
    next_observations: Floats
    terminals: Floats


def write_transitions(path: PathLike, transitions: Transitions, horizon: int | None = None) -> None:
    """Write transitions.safetensors, replacing it at once.

    horizon: length of the longest recorded episode, of a task without a limit.
    """
    arrays = {key: np.ascontiguousarray(value) for key, value in vars(transitions).items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, {"horizon": str(horizon)} if horizon else None)


def read_horizon(path: PathLike) -> int:
    """Steps after which to cut episodes of a task without a limit, from `write_transitions`."""
    with safe_open(path, framework="numpy") as stored:
        return int((stored.metadata() or {}).get("horizon", HORIZON))


def read_transitions(path: PathLike, max_transitions: int | None = None) -> Transitions:
    """Read the file of `write_transitions`, or only the first `max_transitions` of it.

    Raises DatasetError for another file, and where it has fewer.
    """
    try:
        arrays = load_file(path)
        if (count := len(arrays["rewards"])) < (max_transitions or 0):
            expected = f"{max_transitions} transitions or more"
            raise DatasetError(path, "rewards", expected, f"{count}")
        return Transitions(**{key: value[:max_transitions] for key, value in arrays.items()})
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        expected, found = "transitions that rule rl_prepare wrote", f"something else ({error})"
        advice = "Put it elsewhere, and rl_prepare makes it again."
        raise DatasetError(path, "file", expected, found, advice) from error
