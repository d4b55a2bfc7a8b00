"""How a model is adapted, where a person doesn't say: read without PyTorch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from triptych.audio.training.settings import Schedule, TrainingSettings

BLOCKS = 2
"""Of either encoder, that a processor trains."""
EPOCHS = 20
BATCH = 32
WARM_UP_BATCHES = 4
"""Of an epoch, below which there is no warm-up: its first batch changes nothing."""
LONGEST_SECONDS = 30.0
CHECKPOINT_MINUTES = 2.0
LEARNING_RATE = 2e-5
"""The report's, for models whose makers' rate isn't known."""


@dataclass(frozen=True)
class Wish:
    """What a person may choose.

    blocks: the last ones of either encoder, that are trained with the projections; None for the
        whole model, "auto" for BLOCKS on a processor where the model has blocks, or else the whole
    learning_rate: its peak; None for the one that the model was last trained with
    """

    blocks: int | Literal["auto"] | None
    epochs: int = EPOCHS
    learning_rate: float | None = None


def training_settings(
    wish: Wish, about: Mapping[str, Any], pairs: int, precision: str, readers: int
) -> TrainingSettings:
    """Of a training on so many pairs; of a whole model it's regularised as the model's own was.

    about: what the model's folder says of it; readers: processes that read sound
    """
    own = dict(about.get("training", {}))
    whole = wish.blocks is None
    return TrainingSettings(
        schedule=Schedule(
            epochs=wish.epochs,
            warmup_epochs=int(wish.epochs > 1 and pairs >= WARM_UP_BATCHES * BATCH),
            rampdown_epochs=wish.epochs,
            learning_rate=wish.learning_rate
            or own.get("schedule", {}).get("learning_rate", LEARNING_RATE),
        ),
        batch=min(BATCH, pairs),
        swap=0.0,
        longest_seconds=LONGEST_SECONDS,
        frequency_mask=own.get("frequency_mask", 48) if whole else 0,
        time_mask=own.get("time_mask", 192) if whole else 0,
        band_jitter=own.get("band_jitter", True) if whole else False,
        patchout=own.get("patchout", True) if whole else False,
        precision=precision,
        chunk=None,
        workers=readers,
        checkpoint_minutes=CHECKPOINT_MINUTES,
    )
