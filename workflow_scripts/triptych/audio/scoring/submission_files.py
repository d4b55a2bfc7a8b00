"""The submissions written: a CSV each, and beside it the meta information that DCASE asks for.

The YAML follows the challenge's general form (submission, system, results); its fields for this
task stand on the challenge's page and are to be compared with it before anything is sent.
"""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from triptych.audio.scoring.submission import (
    OUTPUT,
    System,
    challenge_scores,
    check_submission,
    submission_table,
)
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

METRICS = {"R1": "r_at_1", "R5": "r_at_5", "R10": "r_at_10", "mAP10": "map_at_10"}


def write_submissions(
    systems: Sequence[System],
    outputs: Sequence[str | os.PathLike[str]],
    clips: pd.DataFrame,
    metrics: pd.DataFrame,
    evaluated: str,
) -> None:
    """Write each system's CSV, checked, and its meta information beside it (`meta_path`).

    clips: Clotho's clips.csv; files are named as in the challenge's archive, where three have
    another name than in its metadata. metrics: metrics.csv read as text; evaluated: the corpus
    whose models it scores. A system's results are those of the same models trained without the
    evaluation split.
    """
    files = {row["clip"]: Path(row["path"]).name for row in clips.to_dict("records")}
    for system, output in zip(systems, outputs, strict=True):
        split, scores = challenge_scores(system)
        names = [files[str(clip)] for clip in split.clips]
        queries = [str(caption) for caption in split.captions]
        write_csv(submission_table(queries, names, scores), output)
        check_submission(output, queries, names)
        results = development_results(system, metrics, evaluated)
        text = yaml.safe_dump(
            meta_information(system, Path(output).name, results),
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )
        with atomic_path(meta_path(output)) as temporary:
            temporary.write_text(text, encoding="utf-8")


def meta_path(output: str | os.PathLike[str]) -> Path:
    """The file of the meta information beside a submission's CSV."""
    return Path(output).with_name(Path(output).name.replace("_output.csv", ".meta.yaml"))


def meta_information(system: System, output: str, results: Mapping[str, float]) -> dict[str, Any]:
    """What DCASE asks about a system: label, author, description, size, development results.

    output: the name of its CSV, which says who submits it.
    """
    named = OUTPUT.fullmatch(output)
    if named is None:
        raise InputError(
            f"{output} is not named <author>_<institute>_task6b_submission_<1 to 4>_output.csv"
        )
    runs, author, institute = system.runs, named["author"], named["institute"]
    return {
        "submission": {
            "label": f"{author}_{institute}_task6b_{named['number']}",
            "name": system.name,
            "abbreviation": system.abbreviation,
            "authors": [
                {
                    "lastname": author,
                    "corresponding": True,
                    "affiliation": {"abbreviation": institute},
                }
            ],
        },
        "system": {
            "description": {
                "input_sampling_rate": "32kHz",
                "acoustic_features": "log-mel energies",
                "audio_encoders": list(dict.fromkeys(run["audio_model"] for run in runs)),
                "text_encoders": list(dict.fromkeys(run["text_model"] for run in runs)),
                "loss_function": "NT-Xent",
                "ensemble": "mean of cosine similarities" if len(runs) > 1 else "none",
                "models": [run["run"] for run in runs],
            },
            "complexity": {
                "total_parameters": sum(
                    count_parameters(Path(run["folder"]) / "model.safetensors") for run in runs
                )
            },
        },
        "results": {"development_testing": dict(results)},
    }


def count_parameters(path: str | os.PathLike[str]) -> int:
    """Numbers that a safetensors file holds, from its header alone."""
    with open(path, "rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    return sum(
        int(np.prod(tensor["shape"], dtype=np.int64))
        for name, tensor in header.items()
        if name != "__metadata__"
    )


def development_results(system: System, metrics: pd.DataFrame, evaluated: str) -> dict[str, float]:
    """Scores on the evaluation split of the same system, trained without that split.

    metrics: read as text; {} where it doesn't list the system.
    """
    wanted = {"split": "evaluation", "subset": "all", "relevance": "single"}
    if len(system.runs) > 1:
        wanted |= {"system": "ensemble", "audio_model": "published"}
    else:
        keys = ("stage", "audio_model", "text_model", "captions", "seed")
        wanted |= {key: str(system.runs[0][key]) for key in keys}
        wanted |= {"system": "model", "corpus": evaluated}
    rows = metrics
    for key, value in wanted.items():
        rows = rows[rows[key] == value]
    values = dict(zip(rows["metric"], rows["value"], strict=True))
    return {
        name: round(float(values[metric]), 4)
        for name, metric in METRICS.items()
        if metric in values
    }
