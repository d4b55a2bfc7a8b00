"""The challenge's submission files: for each query the ten best clips.

Format of DCASE 2023 Task 6b, as its organisers' own test.output.csv has it: the columns caption,
file_name_1 ... file_name_10, best first, one row a query, file names with their extension; files
named <author>_<institute>_task6b_submission_<n>_output.csv. Four systems, those of Section 4.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.data.tables import read_table
from triptych.audio.embedding_files import Split, read_embeddings
from triptych.audio.scoring.ensemble import mean_scores
from triptych.audio.scoring.metrics import Floats, best_columns, similarities
from triptych.core.errors import InputError

NAMES = 10
HEADER = ("caption", *(f"file_name_{position}" for position in range(1, NAMES + 1)))
OUTPUT = re.compile(
    r"(?P<author>[^_/]+)_(?P<institute>[^_/]+)_task6b_submission_(?P<number>[1-4])_output\.csv"
)


@dataclass(frozen=True)
class System:
    """A system that is submitted: the mean of the similarities of `runs`."""

    number: int
    name: str
    abbreviation: str
    runs: tuple[Mapping[str, Any], ...]


def submitted_systems(
    runs: Sequence[Mapping[str, Any]], members: Sequence[Sequence[str]], corpus: str
) -> list[System]:
    """Section 4's four systems, from the runs that were trained on all of Clotho.

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
    pair = f"{gpt['audio_model']} with {gpt['text_model']}"
    count = {1: "one model", 8: "eight models"}.get(len(ensemble), f"{len(ensemble)} models")
    return [
        System(1, f"Ensemble of {count}", "ensemble", ensemble),
        System(2, f"{pair}, fine-tuned on Clotho", "clotho", (human,)),
        System(3, f"{pair}, fine-tuned on Clotho with GPT captions", "clotho_gpt", (gpt,)),
        System(4, f"{pair}, not fine-tuned", "pretrained", (pretrained,)),
    ]


def challenge_scores(system: System) -> tuple[Split, Floats]:
    """The challenge's queries and clips, and the system's scores [Q, C] of them."""
    first: Split | None = None
    matrices = []
    for run in system.runs:
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
    if first is None:
        raise InputError(f"system {system.number} ({system.name}) has no runs")
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


def check_submission(
    path: str | os.PathLike[str], captions: Sequence[str], file_names: Iterable[str]
) -> None:
    """Raise InputError with everything in which a submission's file is not as the challenge asks.

    captions: the queries in their order; file_names: of the clips that there are to be found.
    """
    where = Path(path)
    problems = []
    if not OUTPUT.fullmatch(where.name):
        problems.append(
            "its name is not <author>_<institute>_task6b_submission_<1 to 4>_output.csv"
        )
    try:
        table = read_table(where)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"{where} is not a CSV file in UTF-8: {error}") from error
    if tuple(table.columns) != HEADER:
        problems.append(f"columns {', '.join(HEADER)} expected, got {', '.join(table.columns)}")
    else:
        problems += _row_problems(table, [str(caption) for caption in captions], set(file_names))
    if problems:
        raise InputError(f"{where} would be refused: " + "; ".join(problems))


def _row_problems(table: pd.DataFrame, captions: list[str], names: set[str]) -> list[str]:
    problems = []
    if len(table) != len(captions):
        problems.append(f"{len(captions)} rows expected, one a query, got {len(table)}")
    differing = [
        row
        for row, (have, want) in enumerate(zip(table["caption"], captions, strict=False), start=1)
        if have != want
    ]
    if differing:
        problems.append(f"{len(differing)} rows have another caption, first row {differing[0]}")
    listed = table[list(HEADER[1:])].to_numpy()
    unknown = sorted(set(listed.ravel().tolist()) - names)
    if unknown:
        problems.append(f"{len(unknown)} names are no file of the challenge, first {unknown[0]!r}")
    repeated = [row for row, found in enumerate(listed, start=1) if len(set(found)) < NAMES]
    if repeated:
        problems.append(f"{len(repeated)} rows name a file twice, first row {repeated[0]}")
    return problems
