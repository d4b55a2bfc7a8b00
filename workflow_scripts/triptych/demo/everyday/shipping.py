"""The small model as a folder that the repository ships."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triptych.audio.models.model_files import save_model
from triptych.core.files import write_csv
from triptych.core.weights import save_weights
from triptych.demo.everyday.catalogue import KINDS
from triptych.demo.everyday.learning import Learned

UNHIDDEN = {"frequency_mask": 0, "time_mask": 0, "band_jitter": False, "patchout": False}
"""What it learned from had no part hidden; fine-tuning asks this."""


def write_learned(
    folder: str | os.PathLike[str], learned: Learned, settings: Mapping[str, Any]
) -> None:
    """Write a model's folder, its weights in half precision, and training.csv beside them.

    settings: of the config; they stand in model.json with the step whose weights these are.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(learned.log, folder / "training.csv")
    weights = folder / "model.safetensors"
    save_weights(learned.model, weights, half=True)
    best = learned.log["held_out_map"][learned.log["step"] == learned.step].iloc[0]
    about = {
        "sources": {"everyday": "synthesised"},
        "kinds": len(KINDS),
        "step": learned.step,
        "held_out_map": float(best),
        "settings": dict(settings),
        "training": {
            **UNHIDDEN,
            "schedule": {"learning_rate": settings["training"]["learning_rate"]},
        },
    }
    save_model(learned.model, folder, about, weights)
