"""The trained model that searches a person's own sounds."""

from pathlib import Path

from triptych.audio.models.settings import read_model_table
from triptych.core.errors import InputError
from triptych.core.files import sha256_of

CHECKOUT = Path(__file__).resolve().parents[5]
SMALL = "small"
"""The model that the repository ships, in resources/audio."""
CLAP = "clap"
"""LAION's model, fetched once."""
CAUTION = (
    "The model has heard only computed sounds: of real recordings the first hit is often wrong."
)
_HOW = (
    "give --model small or clap, or a folder such as snakemake audio --configfile "
    "config/paper.yaml leaves below results/audio/models"
)


def named_model(model: Path | None) -> Path:
    """The folder of the model that is asked for: a folder, clap, or small, the default.

    Raises InputError where CLAP cannot be fetched.
    """
    if str(model) == CLAP and model and not model.exists():
        from triptych.apps.sounds.search.clap import clap_folder

        return clap_folder()
    if model and (model.exists() or str(model) != SMALL):
        return model
    return CHECKOUT / "resources/audio" / SMALL


def checked_model(folder: Path) -> tuple[Path, str]:
    """The absolute folder of a model and the SHA-256 of its weights. Raises InputError."""
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{folder} is no trained model, it has no model.safetensors: {_HOW}")
    return folder.resolve(), sha256_of(weights)


def caution(folder: Path) -> str:
    """A warning if the model in a folder has been trained on computed sounds only, else ""."""
    try:
        about = read_model_table(folder)["about"]
    except InputError:  # moved since it made the index
        return ""
    sources = set(about.get("sources", {}).values()) - {"none"}
    return CAUTION if sources == {"synthesised"} else ""


def segment_seconds(folder: Path) -> float:
    """Seconds of sound that a model hears at once. Raises InputError."""
    table = read_model_table(folder)
    try:
        return float(table["settings"]["segment_seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: not a trained model, its model.json doesn't tell the seconds of its "
            "segments"
        ) from error
