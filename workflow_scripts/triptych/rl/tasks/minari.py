"""Data sets of Minari, D4RL's successor, in D4RL's layout: local ones, or downloaded by name.

The package `minari` is optional. It knows where its data sets lie (MINARI_DATASETS_PATH, by default
~/.minari/datasets) and where they are published.
"""

import logging
import os
from typing import Any

import h5py
import numpy as np
from gymnasium.spaces import Box

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

logger = logging.getLogger(__name__)

INSTALL = "pip install 'minari[hdf5,hf]'"


def write_minari(dataset: str, path: str | os.PathLike[str]) -> None:
    """Write a Minari data set, "mujoco/ant/expert-v0" for instance, as HDF5 in D4RL's layout.

    An episode's last step is a time-out unless the environment ended there. Raises InputError where
    the package or the data set isn't there, or observations or actions are no vectors.
    """
    loaded = _loaded(dataset)
    for space, what in (
        (loaded.observation_space, "observations"),
        (loaded.action_space, "actions"),
    ):
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise InputError(
                f"the Minari data set {dataset} has {what} that are {space}; expected a Box of one "
                "axis: make a data set of vectors of it"
            )
    episodes = [_columns(dataset, episode) for episode in loaded]
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as stream:
        stream.attrs["source"] = f"minari {dataset}"
        for key in episodes[0]:
            stream[key] = np.concatenate([columns[key] for columns in episodes])
    logger.info("%s: %d episodes of %s", path, loaded.total_episodes, dataset)


def _loaded(dataset: str) -> Any:
    try:
        import minari
    except ImportError as error:
        raise InputError(
            f"the Minari data set {dataset} is asked for, and the package minari isn't installed; "
            f"install it where this job runs: {INSTALL}"
        ) from error
    try:
        return minari.load_dataset(dataset, download=True)
    except Exception as error:  # whatever a broken file, a wrong name or the network raises
        from minari.storage.datasets_root_dir import get_dataset_path

        raise InputError(
            f"the Minari data set {dataset} can't be read in {get_dataset_path()}, nor downloaded "
            f"({error}); correct the name (minari list remote), or minari download {dataset} where "
            "there is a network and set MINARI_DATASETS_PATH"
        ) from error


def _columns(dataset: str, episode: Any) -> dict[str, np.ndarray]:
    """One episode's rows by D4RL's keys."""
    observations, steps = np.asarray(episode.observations, np.float32), len(episode.rewards)
    if len(observations) != steps + 1:
        raise InputError(
            f"the Minari data set {dataset} has {len(observations)} observations of {steps} steps "
            f"in episode {episode.id}; expected one more than steps"
        )
    terminals, timeouts = np.asarray(episode.terminations, bool), np.zeros(steps, bool)
    timeouts[-1] = not terminals[-1]
    return {
        "observations": observations[:-1],
        "actions": np.asarray(episode.actions, np.float32),
        "rewards": np.asarray(episode.rewards, np.float32),
        "terminals": terminals,
        "timeouts": timeouts,
    }
