"""Files of recordings in D4RL's layout, and what becomes of them."""

import h5py

from triptych.rl.tasks.preparing import prepare
from triptych.rl.tasks.transitions import read_transitions


def written(path, columns):
    """The path of a file with these columns."""
    with h5py.File(path, "w") as stream:
        for key, value in columns.items():
            stream[key] = value
    return path


def prepared(path, task, published=(), accepted=()):
    """The transitions of a file; its row is beside it, as .csv."""
    into = path.with_suffix(".safetensors")
    prepare(path, task, "path", into, path.with_suffix(".csv"), published, accepted)
    return read_transitions(into)
