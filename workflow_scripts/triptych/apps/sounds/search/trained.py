"""Which of the trained models searches a person's own sounds."""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from triptych.audio.data.tables import read_table
from triptych.audio.models.settings import read_model_table
from triptych.core.errors import InputError
from triptych.core.files import sha256_of

CHECKOUT = Path(__file__).resolve().parents[5]
SMALL = "small"
"""The model that the repository ships, in resources/audio."""
SCORES, MODELS = Path("results/audio/metrics.csv"), Path("results/audio/models")
_HOW = (
    "train one with make demo (minutes, small, knows only synthesised sounds) or with "
    "snakemake audio --configfile config/paper.yaml, or give --model FOLDER"
)


def best_model() -> tuple[Path, str] | None:
    """Folder of the trained model with the highest validation mAP@10, and a sentence about it.

    Looked for in the working directory, then in the library's own checkout. Fine-tuned models go
    before those that are only pretrained, whose scores may rest on leaked clips.
    """
    for root in dict.fromkeys((Path.cwd(), CHECKOUT)):
        if (root / SCORES).exists():
            found = _best(root, read_table(root / SCORES))
            if found:
                return found
    return None


def chosen_model(wanted: Path | None, say: Callable[[str], None]) -> Path:
    """The folder of the model that is asked for: a folder, "small", or None for the default one.

    say: is told which that is. Raises InputError.
    """
    if wanted is not None:
        return wanted if wanted.exists() else shipped(str(wanted)) or wanted
    folder, description = default_model()
    say(description)
    return folder


def default_model() -> tuple[Path, str]:
    """The best model that was trained here on recordings, or else the small one; and a sentence.

    Models that have heard nothing but the demo's scenes know fewer sounds than the small one.
    Raises InputError where there is neither.
    """
    best, small = best_model(), shipped(SMALL)
    if small and not (best and not only_synthesised(best[0])):
        best = small, "model small, which the repository ships"
    if not best:
        raise InputError(f"there is no trained model yet ({SCORES} names none): {_HOW}")
    return best


def shipped(name: str) -> Path | None:
    """The folder of a model that the checkout carries; None for another name."""
    folder = CHECKOUT / "resources/audio" / name
    return folder if name == SMALL and folder.is_dir() else None


def checked_model(folder: Path) -> tuple[Path, str]:
    """The absolute folder of a model and the SHA-256 of its weights. Raises InputError."""
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{folder} is no trained model, it has no model.safetensors: {_HOW}")
    return folder.resolve(), sha256_of(weights)


def only_synthesised(folder: Path) -> bool:
    """Whether a model says that all its sounds were made by this project. Raises InputError."""
    about = read_model_table(folder)["about"]
    sources = set(about.get("sources", {}).values()) - {"none"}
    return sources == {"synthesised"}


def segment_seconds(folder: Path) -> float:
    """How much sound a model hears at once. Raises InputError."""
    table = read_model_table(folder)
    try:
        return float(table["settings"]["segment_seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: not a trained model, its model.json doesn't tell the seconds of its "
            "segments"
        ) from error


def _best(root: Path, metrics: pd.DataFrame) -> tuple[Path, str] | None:
    asked = {"system": "model", "split": "validation", "subset": "all", "relevance": "single"}
    asked |= {"metric": "map_at_10"}
    rows = metrics[(metrics[list(asked)] == list(asked.values())).all(axis=1)]
    rows = rows.assign(value=rows["value"].astype(float)).sort_values(
        "value", ascending=False, kind="stable"
    )
    for stage in ("finetuned", "pretrained"):
        for row in rows[rows["stage"] == stage].to_dict("records"):
            run = f"{row['captions']}-seed{row['seed']}" if stage == "finetuned" else ""
            pair = f"{row['audio_model']}-{row['text_model']}"
            folder = root / MODELS / pair / row["corpus"] / stage / run
            if (folder / "model.safetensors").is_file():
                where = os.path.relpath(folder)
                return folder, f"model {where} (best on validation, mAP@10 {row['value']:.3f})"
    return None
