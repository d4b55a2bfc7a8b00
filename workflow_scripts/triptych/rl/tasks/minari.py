"""Data sets of Minari, D4RL's successor, in D4RL's layout: local ones, or downloaded by name.

The package `minari` is optional. It knows where its data sets lie (MINARI_DATASETS_PATH, by default
~/.minari/datasets) and where they are published.
"""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.rl.tasks.spaces import brief, expected_space

logger = logging.getLogger(__name__)

INSTALL = "pip install 'minari[hdf5,hf]'"


def write_minari(dataset: str, path: str | os.PathLike[str]) -> None:
    """Write a Minari data set, "mujoco/ant/expert-v0" for instance, as HDF5 in D4RL's layout.

    An episode's last step is a time-out unless the environment ended there. The file's attributes
    hold the bounds of the actions and the environment (`read_recording`). Raises InputError where
    the package or the data set isn't there or is damaged, or observations or actions are no
    vectors.
    """
    try:
        import minari
    except ImportError as error:
        raise InputError(
            f"the Minari data set {dataset} is asked for, and the package minari isn't installed; "
            f"install it where this job runs: {INSTALL}"
        ) from error
    if not re.search(r"-v\d+$", dataset):
        raise InputError(f"the Minari data set {dataset} has no version; expected {dataset}-v0")
    try:
        loaded = minari.load_dataset(dataset, download=True)
        _check_spaces(dataset, loaded)
        episodes = [_columns(dataset, episode) for episode in loaded]
    except InputError:
        raise
    except Exception as error:  # whatever a broken file, a wrong name or the network raises
        from minari.storage.datasets_root_dir import get_dataset_path

        place, reason = get_dataset_path(dataset), brief(str(error))
        if place.exists():
            raise InputError(
                f"the Minari data set {dataset} can't be read in {place} ({reason}); "
                f"{_advice(place, minari.__version__)}"
            ) from error
        raise InputError(
            f"the Minari data set {dataset} is not in {place.parent} and can't be downloaded "
            f"({reason}); correct the name (minari list remote), or minari download {dataset} "
            "where there is a network and set MINARI_DATASETS_PATH"
        ) from error
    if not episodes:
        raise InputError(f"the Minari data set {dataset} has no episodes; expected at least one")
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as stream:
        stream.attrs["source"] = f"minari {dataset}"
        stream.attrs["minari_action_low"] = loaded.action_space.low
        stream.attrs["minari_action_high"] = loaded.action_space.high
        if loaded.env_spec is not None:
            stream.attrs["minari_env_spec"] = json.dumps(_spec(loaded.env_spec), default=str)
        for key in episodes[0]:
            stream[key] = np.concatenate([columns[key] for columns in episodes])
    logger.info("%s: %d episodes of %s", path, loaded.total_episodes, dataset)


def _advice(place: Path, version: str) -> str:
    """What to do with a data set that can't be read, by what lies in its folder."""
    from packaging.version import Version  # which minari brings

    try:
        about = json.loads((place / "data" / "metadata.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "its metadata.json is no JSON: restore it, or put the folder elsewhere and fetch it"
    theirs = str(about.get("minari_version", version))
    if Version(theirs) > Version(version):
        return (
            f"it is of Minari {theirs}, and {version} is installed: pip install 'minari>={theirs}'"
        )
    if (kept := about.get("data_format", "hdf5")) != "hdf5":
        return f"its data are kept as {kept}: pip install 'minari[{kept}]' where this job runs"
    return "it may have been cut short: delete it, and download or record it again"


def _spec(spec: Any) -> dict[str, Any]:
    """What `recorded_elsewhere` compares of gymnasium's EnvSpec."""
    return {
        "id": spec.id,
        "kwargs": spec.kwargs,
        "wrappers": [wrapper.name for wrapper in spec.additional_wrappers],
        "max_episode_steps": spec.max_episode_steps,
    }


def _check_spaces(dataset: str, loaded: Any) -> None:
    """Raise InputError where observations or actions are no vectors of real numbers in bounds."""
    spaces = {"observations": loaded.observation_space, "actions": loaded.action_space}
    for what, space in spaces.items():
        if expected := expected_space(space, what == "actions"):
            text = f"has {what} that are {brief(str(space))}; {expected}"
            raise InputError(f"the Minari data set {dataset} {text}")


def _columns(dataset: str, episode: Any) -> dict[str, np.ndarray]:
    """One episode's rows by D4RL's keys."""
    observations, steps = np.asarray(episode.observations, np.float32), len(episode.rewards)
    if not steps or len(observations) != steps + 1:
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
