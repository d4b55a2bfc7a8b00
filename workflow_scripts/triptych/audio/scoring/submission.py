"""The challenge's submission files: for each query the ten best clips.

The format of DCASE 2023 Task 6b, as its organisers' own test.output.csv has it. Four systems, those
of Section 4.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.embedding_files import read_embeddings
from triptych.audio.scoring.ensemble import mean_scores
from triptych.audio.scoring.metrics import best_columns, similarities
from triptych.core.files import write_csv

NAMES = 10
HEADER = ("caption", *(f"file_name_{position}" for position in range(1, NAMES + 1)))


System = tuple[Mapping[str, Any], ...]
"""The rows of the runs whose mean similarities are submitted."""


def submitted_systems(
    runs: Sequence[Mapping[str, Any]], members: Sequence[Sequence[str]], corpus: str
) -> list[System]:
    """Section 4's four systems, from the runs on `corpus`, which holds all splits of Clotho.

    In order: the ensemble of `members`; the main pair fine-tuned with human captions, with GPT's,
    and not.
    """

    def find(**keys: Any) -> Mapping[str, Any]:
        keys["corpus"] = corpus
        return next(run for run in runs if all(run[key] == keys[key] for key in keys))

    tuned = {"stage": "finetuned", "captions": "gpt"}
    ensemble = tuple(find(**tuned, audio_model=audio, text_model=text) for audio, text in members)
    human = find(main=True, stage="finetuned", captions="human")
    return [ensemble, (human,), (find(main=True, **tuned),), (find(main=True, stage="pretrained"),)]


def write_submissions(
    systems: Sequence[System], outputs: Sequence[str | os.PathLike[str]], clips: pd.DataFrame
) -> None:
    """Write each system's CSV: a row a query in the challenge's order, columns HEADER, with files
    named as in the challenge's archive. clips: Clotho's clips.csv.
    """
    files = {row["clip"]: Path(row["path"]).name for row in clips.to_dict("records")}
    for system, output in zip(systems, outputs, strict=True):
        folders = [Path(run["folder"]) for run in system]
        splits = [read_embeddings(folder / "embeddings.npz")["challenge"] for folder in folders]
        scores = mean_scores([similarities(split.text, split.audio) for split in splits])
        names = np.array([files[str(clip)] for clip in splits[0].clips])
        best = names[best_columns(scores, min(NAMES, len(names)))]
        fewer = np.full((len(best), NAMES - best.shape[1]), "")
        rows = np.column_stack([splits[0].captions, best, fewer])
        write_csv(pd.DataFrame(rows, columns=list(HEADER), dtype=object), output)
