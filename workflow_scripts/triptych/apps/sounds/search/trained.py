"""Which of the trained models searches a person's own sounds."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from triptych.audio.data.tables import read_table
from triptych.audio.models.settings import CLAP, read_model_table
from triptych.core.download import DownloadError
from triptych.core.errors import InputError
from triptych.core.files import sha256_of

CHECKOUT = Path(__file__).resolve().parents[5]
SMALL = "small"
"""The model that the repository ships, in resources/audio."""
SCORES, MODELS = Path("results/audio/metrics.csv"), Path("results/audio/models")
FINISHED = Path("results/audio/finished")
"""Where the workflow keeps them, below a checkout."""
PUBLISHED = "published"
"""The name that the first one of resources/sources.yaml has beside its own."""
_HOW = (
    "train one with make demo (minutes, small, knows only synthesised sounds) or with "
    "snakemake audio --configfile config/paper.yaml, give --model FOLDER, or have a finished one "
    "fetched with --model published"
)


def best_model() -> tuple[Path, str]:
    """Folder of the trained model with the highest validation mAP@10, and a sentence about it.

    Looked for in the working directory, then in the library's own checkout. Fine-tuned and
    distilled models go before those that are only pretrained, whose scores may rest on leaked
    clips. Raises InputError, saying what to run, where there is none.
    """
    for root in dict.fromkeys((Path.cwd(), CHECKOUT)):
        if (root / SCORES).exists():
            found = _best(root, read_table(root / SCORES))
            if found:
                return found
    raise InputError(f"there is no trained model yet ({SCORES} names none): {_HOW}")


def chosen_model(wanted: Path | None, say: Callable[[str], None]) -> Path:
    """The folder of the model that is asked for: a folder, "small", or a finished one's name.

    None asks for the default one. say: is told which that is, and what is fetched. Raises
    InputError.
    """
    if wanted is None:
        folder, description = default_model()
        say(description)
        return folder
    if wanted.exists():
        return wanted
    name = str(wanted)
    return shipped(name) or finished_model(name, say) or wanted


def default_model() -> tuple[Path, str]:
    """The best model that was trained here on recordings, or else the small one; and a sentence.

    Models that have heard nothing but the demo's scenes know fewer sounds than the small one.
    Raises InputError where there is neither.
    """
    try:
        folder, said = best_model()
    except InputError:
        if not shipped(SMALL):
            raise
    else:
        if not only_synthesised(folder):
            return folder, said
    small = shipped(SMALL)
    return (small, "model small, which the repository ships") if small else (folder, said)


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
        if table.get("kind") == CLAP:
            return float(table["preprocessor_config"]["max_length_s"])
        return float(table["settings"]["segment_seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: not a trained model, its model.json doesn't tell the seconds of its "
            "segments"
        ) from error


def _best(root: Path, metrics: pd.DataFrame) -> tuple[Path, str] | None:
    def wanted(row: Any) -> bool:
        asked = ("model", "validation", "all", "single", "map_at_10")
        told = tuple(row[key] for key in ("system", "split", "subset", "relevance", "metric"))
        return told == asked and row["stage"] in ("pretrained", "finetuned", "distilled")

    rows = [row for row in metrics.to_dict("records") if wanted(row)]
    rows.sort(key=lambda row: (row["stage"] != "pretrained", float(row["value"])), reverse=True)
    for row in rows:
        stage = {
            "pretrained": "pretrained",
            "finetuned": f"finetuned/{row['captions']}-seed{row['seed']}",
            "distilled": f"distilled/seed{row['seed']}",
        }[row["stage"]]
        pair = f"{row['audio_model']}-{row['text_model']}"
        folder = root / MODELS / pair / row["corpus"] / stage
        if (folder / "model.safetensors").is_file():
            score = float(row["value"])
            return folder, (
                f"model {os.path.relpath(folder)} (best on validation, mAP@10 {score:.3f})"
            )
    return None


def finished_model(name: str, say: Callable[[str], None]) -> Path | None:
    """The folder of a finished model, fetched where it isn't there yet; None for another name.

    It is looked for where the workflow keeps it, below the working directory and the checkout, and
    in the user's cache, which is for a checkout that cannot be written. say: is told the licence
    before anything is fetched. Raises InputError where the download fails.
    """
    sources = yaml.safe_load((CHECKOUT / "resources/sources.yaml").read_text(encoding="utf-8"))
    known = sources["audio"]["finished"]["files"]
    name = next(iter(known)) if name == PUBLISHED else name
    if name not in known:
        return None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych"
    folders = [root / name for root in (Path.cwd() / FINISHED, CHECKOUT / FINISHED, cache)]
    if found := next((each for each in folders if (each / "model.json").is_file()), None):
        return found
    from triptych.audio.models.finished import origins, terms, write_finished

    writable = os.access(CHECKOUT, os.W_OK)
    folder = folders[1 if writable else 2]
    say(f"{terms(known[name])}\nfetched once from {origins(known[name])}\nto {folder}")
    try:
        write_finished(
            folder,
            known[name],
            sources["audio"]["text_models"]["files"],
            CHECKOUT / f"resources/locks/finished-{name}" if writable else None,
            attempts=3,
            wait_seconds=1.0,
        )
    except (DownloadError, OSError) as problem:
        raise InputError(
            f"--model {name}: it cannot be fetched. {problem}\n"
            "What came is kept. On a machine with a connection the same command, or snakemake "
            f"{FINISHED / name}, makes that folder: copy it to {folder}, or give it as --model "
            "FOLDER. Without --model the best model that was trained here is used."
        ) from problem
    return folder
