"""The challenge's submission files: for each query the ten best clips.

Format of DCASE 2023 Task 6b, as its organisers' own test.output.csv has it: the columns caption,
file_name_1 ... file_name_10, best first, one row a query, file names with their extension; files
named <author>_<institute>_task6b_submission_<n>_output.csv. Four systems, those of Section 4.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.embedding_files import Split, read_embeddings
from triptych.audio.scoring.ensemble import mean_scores
from triptych.audio.scoring.metrics import Floats, best_columns, similarities
from triptych.core.errors import InputError
from triptych.core.files import write_csv

NAMES = 10
HEADER = ("caption", *(f"file_name_{position}" for position in range(1, NAMES + 1)))


System = tuple[Mapping[str, Any], ...]
"""The rows of the runs whose mean similarities are submitted."""


def submitted_systems(
    runs: Sequence[Mapping[str, Any]], members: Sequence[Sequence[str]], corpus: str
) -> list[System]:
    """Section 4's four systems, from the runs that were trained on all of Clotho.

    In order: the ensemble; the main pair fine-tuned with human captions, with GPT's, and not.
    runs: rows of the experiment table; members: pairs of the ensemble; corpus: the name of the
    corpus that holds all splits. Raises InputError for a run that is missing.
    """

    def find(what: str, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        for run in runs:
            if run["corpus"] == corpus and all(run[key] == wanted[key] for key in wanted):
                return run
        raise InputError(f"submission: there is no run for {what} on corpus {corpus}: {wanted}")

    tuned = {"stage": "finetuned", "captions": "gpt"}
    ensemble = tuple(
        find("the ensemble", tuned | {"audio_model": audio, "text_model": text})
        for audio, text in members
    )
    human = find("system 2", {"main": True, "stage": "finetuned", "captions": "human"})
    gpt = find("system 3", {"main": True} | tuned)
    pretrained = find("system 4", {"main": True, "stage": "pretrained"})
    return [ensemble, (human,), (gpt,), (pretrained,)]


def challenge_scores(system: System) -> tuple[Split, Floats]:
    """The challenge's queries and clips, and the system's scores [Q, C] of them."""
    first: Split | None = None
    matrices = []
    for run in system:
        path = Path(run["folder"]) / "embeddings.npz"
        splits = read_embeddings(path)
        if "challenge" not in splits:
            raise InputError(
                f"{path} has no embeddings of the challenge's clips, only {', '.join(splits)}"
            )
        split = splits["challenge"]
        first = first or split
        if not (
            np.array_equal(split.clips, first.clips)
            and np.array_equal(split.captions, first.captions)
        ):
            raise InputError(f"{path}: other clips or queries than those of the ensemble's first")
        matrices.append(similarities(split.text, split.audio))
    assert first is not None, "a system has at least one run"
    return first, mean_scores(matrices)


def submission_table(
    captions: Sequence[str], file_names: Sequence[str], scores: Floats
) -> pd.DataFrame:
    """Columns HEADER, one row a query in the order given. file_names: of C clips; scores [Q, C]."""
    if len(file_names) < NAMES:
        raise InputError(
            f"a submission lists {NAMES} files a query; there are {len(file_names)} clips"
        )
    best = np.array(file_names)[best_columns(scores, NAMES)]
    return pd.DataFrame(
        np.column_stack([np.asarray(captions), best]), columns=list(HEADER), dtype=object
    )


def write_submissions(
    systems: Sequence[System], outputs: Sequence[str | os.PathLike[str]], clips: pd.DataFrame
) -> None:
    """Write each system's CSV.

    clips: Clotho's clips.csv; files are named as in the challenge's archive, where three have
    another name than in its metadata.
    """
    files = {row["clip"]: Path(row["path"]).name for row in clips.to_dict("records")}
    for system, output in zip(systems, outputs, strict=True):
        split, scores = challenge_scores(system)
        names = [files[str(clip)] for clip in split.clips]
        queries = [str(caption) for caption in split.captions]
        write_csv(submission_table(queries, names, scores), output)
