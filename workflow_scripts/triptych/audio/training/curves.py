"""Losses and validation mAP@10 by epoch: files that show a training while it runs."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import atomic_path, remove_partial, write_csv
from triptych.report.palette import INK, MUTED, STYLE, count_axis

INFRASTRUCTURE = True  # nothing is learnt from it

LOSSES = {"train_loss": ("training", MUTED), "validation_loss": ("validation", INK)}


def training_figure(history: pd.DataFrame) -> Figure:
    """One training's losses, and its validation mAP@10, from rows of history.csv."""
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
    return figure


def shown_in(folder: str | Path, name: str) -> Callable[[pd.DataFrame], None]:
    """A function that writes a history to {folder}/{name}.csv, and as a picture to .png.

    Temporary files that a killed training left there are deleted.
    """
    table, picture = (Path(folder) / f"{name}{suffix}" for suffix in (".csv", ".png"))
    for file in (table, picture):
        remove_partial(file)

    def show(history: pd.DataFrame) -> None:
        write_csv(history, table)
        with atomic_path(picture) as temporary:
            training_figure(history).savefig(temporary, dpi=100)

    return show
