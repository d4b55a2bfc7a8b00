"""The file of a model's embeddings: what metrics, ensembles and search read instead of audio.

One array a column of a split, under the name "{split}_{column}"; no pickles, and no PyTorch needed.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from triptych.core.errors import InputError
from triptych.core.files import atomic_path


@dataclass(frozen=True)
class Split:
    """A split's clips and queries in the space that they share.

    clips:       str [C], in the order of clips.csv
    audio:       float32 [C, D], L2-normalised
    captions:    str [Q], by clip and position (the challenge: by the order of queries.csv)
    query_clips: str [Q], the clip that a query was written for; "" where that is not known
    text:        float32 [Q, D], L2-normalised
    """

    clips: NDArray[np.str_]
    audio: NDArray[np.float32]
    captions: NDArray[np.str_]
    query_clips: NDArray[np.str_]
    text: NDArray[np.float32]


COLUMNS = tuple(field.name for field in fields(Split))


def write_embeddings(path: str | os.PathLike[str], splits: Mapping[str, Split]) -> None:
    """Write splits by their names to a file *.npz: the same bytes for the same values."""
    arrays = {}
    for name, split in splits.items():
        for column in COLUMNS:
            kind = np.float32 if column in ("audio", "text") else np.str_
            arrays[f"{name}_{column}"] = np.asarray(getattr(split, column), kind)
    with atomic_path(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def read_embeddings(path: str | os.PathLike[str]) -> dict[str, Split]:
    """The splits that a file holds, by their names. Raises InputError for any other file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        names = [name.removesuffix("_audio") for name in arrays if name.endswith("_audio")]
        if len(arrays) != len(names) * len(COLUMNS):
            raise ValueError(f"it holds {', '.join(arrays)}")
        return {
            name: Split(**{column: arrays[f"{name}_{column}"] for column in COLUMNS})
            for name in names
        }
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        raise InputError(
            f"{path} cannot be read as embeddings ({error}); expected a file that audio_pretrain "
            f"or audio_finetune wrote, with {', '.join(COLUMNS)} for each split"
        ) from error
