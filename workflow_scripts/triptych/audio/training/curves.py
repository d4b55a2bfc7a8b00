"""Losses and validation mAP@10 by epoch: files that show a training while it runs."""

from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import atomic_path, write_csv
from triptych.report.palette import INK, MUTED, STYLE, count_axis

INFRASTRUCTURE = True  # nothing is learnt from it

LOSSES = {"train_loss": ("training", MUTED), "validation_loss": ("validation", INK)}


def show_curves(history: pd.DataFrame, stem: Path) -> None:
    """Write rows of history.csv to `stem`.csv, and as a picture to `stem`.png."""
    write_csv(history, f"{stem}.csv")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.0), layout="constrained")
        losses, precision = figure.subplots(1, 2, sharex=True)
        for column, (label, colour) in LOSSES.items():
            losses.plot(history["epoch"], history[column], color=colour, marker="o", label=label)
        losses.set_title("Loss")
        losses.set_ylabel("NT-Xent")
        losses.legend()
        percent = 100 * history["validation_map_at_10"]
        precision.plot(history["epoch"], percent, color=INK, marker="o")
        precision.set_title("Validation mAP@10")
        precision.set_ylabel("percent")
        for axes in (losses, precision):
            axes.set_xlabel("epoch")
            count_axis(axes)
    with atomic_path(Path(f"{stem}.png")) as temporary:
        figure.savefig(temporary, dpi=100)
