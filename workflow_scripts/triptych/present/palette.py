"""How figures look, and how they are written: one palette, one set of sizes, stable bytes."""

import base64
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from triptych.core.files import atomic_path, write_csv

INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e4e8ec"

# Okabe and Ito's palette, told apart by every common form of colour vision.
ALGORITHM_COLOURS = {"BCQ": "#0072b2", "BC": "#d55e00"}
METHOD_COLOURS = {
    "dense": "#1f2933",
    "snip": "#009e73",
    "grasp": "#aa4499",
    "random": "#8a94a0",
    "magnitude": "#8a94a0",
    "shuffled": "#8a94a0",
}
# The paper's Figure 4 draws dense in blue and sparse indices in green; so do we.
FORMAT_COLOURS = {
    "dense": "#0072b2",
    "coo": "#009e73",
    "packed_fp32": "#d55e00",
    "packed_fp16": "#e69f00",
}

TASK_LABELS = {"hopper": "Hopper", "walker2d": "Walker2d", "halfcheetah": "HalfCheetah"}
METHOD_LABELS = {
    "dense": "Dense",
    "snip": "SNIP",
    "grasp": "GraSP",
    "random": "Random",
    "magnitude": "Magnitude",
    "shuffled": "Shuffled SNIP",
}
FORMAT_LABELS = {
    "dense": "dense",
    "coo": "sparse indices (COO)",
    "packed_fp32": "packed, fp32",
    "packed_fp16": "packed, fp16",
}
NETWORK_LABELS = {"actor": "Actor", "critic": "Critic", "vae": "VAE"}
CONTROLS = ("random", "magnitude", "shuffled")
CONTROL_DASHES: dict[str, Any] = {
    "random": (0, (1, 1.6)),
    "magnitude": (0, (4, 2)),
    "shuffled": (0, (4, 1.5, 1, 1.5)),
}
CONTROL_MARKERS = {"random": "s", "magnitude": "D", "shuffled": "v"}

# The style study.
ARCHITECTURE_LABELS = {
    "vgg16": "VGG-16",
    "vgg19": "VGG-19",
    "alexnet": "AlexNet",
    "narrow_vgg": "narrow VGG",
    "narrow_alexnet": "narrow AlexNet",
}
BACKBONE_COLOURS = {"vgg": "#0072b2", "alexnet": "#d55e00", "network": "#009e73"}
OPTIMIZER_LABELS = {"lbfgs": "L-BFGS", "adam": "Adam", "sgd": "SGD"}
OPTIMIZER_COLOURS = {"lbfgs": "#0072b2", "adam": "#d55e00", "sgd": "#009e73"}
RATES_LABELS = {"authors": "authors' rates", "tuned": "tuned rates"}
CONTENT_LOSS_LABELS = {"l1": "L1", "smooth_l1": "smooth L1", "huber": "Huber", "mse": "MSE"}
CONTENT_LOSS_COLOURS = {
    "l1": "#d55e00",
    "smooth_l1": "#e69f00",
    "huber": "#009e73",
    "mse": "#0072b2",
}
# Smooth L1 and Huber are the same function here: dashes let the line below show through.
CONTENT_LOSS_DASHES: dict[str, Any] = {"huber": (0, (3, 3))}
INITIALISATION_LABELS = {"content": "content image", "noise": "white noise", "style": "style image"}
PRESET_LABELS = {"paper": "paper", "authors": "authors", "tuned": "tuned"}
PRESET_COLOURS = {"paper": "#0072b2", "authors": "#d55e00", "tuned": "#009e73"}
# A variant of a network: trained in this run without or with the temporal term, or shipped.
VARIANT_LABELS = {
    "shipped": "shipped",
    "plain": "trained in this run",
    "temporal": "trained with temporal term",
}
VARIANT_COLOURS = {"shipped": "#009e73", "plain": "#0072b2", "temporal": "#d55e00"}
TERM_LABELS = {"total": "total", "style": "style", "content": "content"}
TERM_COLOURS = {"total": "#1f2933", "style": "#aa4499", "content": "#009e73"}
ORIGIN_LABELS = {"shipped": "shipped", "trained": "trained in this run"}
MEASURE_LABELS = {
    "ssim_luma": "structure kept (SSIM)",
    "edge_correlation": "edges kept",
    "gram_distance": "style distance (Gram)",
    "colour_distance": "colour distance",
}

# The audio study.
DATASET_LABELS = {"clotho": "Clotho", "audiocaps": "AudioCaps", "wavcaps": "WavCaps"}
CAPTION_LABELS = {"human": "human captions", "gpt": "new captions"}
CAPTION_COLOURS = {"human": "#d55e00", "gpt": "#0072b2"}
AUDIO_KIND_COLOURS = {
    "finetuned_gpt": "#0072b2",
    "finetuned_human": "#d55e00",
    "pretrained": "#009e73",
    "distilled": "#aa4499",
    "ensemble_published": "#1f2933",
    "ensemble_selected": "#1f2933",
}

# Any: matplotlib types its keys as one literal of 300 names.
STYLE: Any = {
    # Shipped with matplotlib, so that the bytes do not depend on the machine.
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": "#b8c0c8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.8,
    "ytick.labelsize": 7.8,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "triptych",  # element ids would be random otherwise
    "svg.fonttype": "path",
    "figure.dpi": 100,
}

# Dates and library versions in the files would change their bytes from run to run.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def label(labels: dict[str, str], key: str) -> str:
    """The name a reader knows, or the key itself for one that the tables above lack."""
    return labels.get(key, key)


def spoken(name: str) -> str:
    """The name of a painting or a photograph as a reader writes it: `great_wave`, Great wave."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def save_figure(figure: Figure, base: str | Path, *, photographs: bool = False) -> None:
    """Write `base`.svg, .pdf and .png (200 dpi), whole or not at all, with stable bytes.

    photographs: the figure shows images. The SVG, which the page embeds, then holds them as
    JPEG, a fifth of their size as PNG, and tall figures have fewer dots an inch: no file
    shall be larger than about 1.5 MB.
    """
    area = float(np.prod(figure.get_size_inches()))
    for suffix, metadata in _METADATA.items():
        # Not with_suffix: a base may carry a dot of its own.
        target = Path(f"{base}.{suffix}")
        most = _PIXELS["jpeg" if suffix == "svg" else "lossless"]
        dpi = min(200.0, np.sqrt(most / area)) if photographs else 200.0
        with atomic_path(target) as temporary, matplotlib.rc_context(STYLE):
            figure.savefig(temporary, format=suffix, metadata=metadata, dpi=dpi)
            if photographs and suffix == "svg":
                text = temporary.read_text(encoding="utf-8")
                temporary.write_text(_PNG_DATA.sub(_as_jpeg, text), encoding="utf-8")


def write_figure(
    figure: Figure, long: pd.DataFrame, files: Sequence[str], *, photographs: bool = False
) -> None:
    """Write a figure as `save_figure` does, and the numbers that it draws.

    files: svg, pdf, png and csv, in this order.
    """
    save_figure(figure, Path(files[0]).with_suffix(""), photographs=photographs)
    write_csv(long, files[3])


_PIXELS = {"jpeg": 1_700_000, "lossless": 700_000}
"""Most pixels of a figure of photographs, at about 0.5 (with base64) and 2 bytes each."""

_PNG_DATA = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")


def _as_jpeg(match: re.Match[str]) -> str:
    """A PNG of an SVG's data address as a JPEG, on white where it is transparent."""
    picture = Image.open(io.BytesIO(base64.b64decode(match[1]))).convert("RGBA")
    white = Image.new("RGBA", picture.size, "white")
    stream = io.BytesIO()
    flat = Image.alpha_composite(white, picture).convert("RGB")
    flat.save(stream, "JPEG", quality=85, subsampling=0)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def legend_below(figure: Figure, axes: list[Axes], columns: int) -> None:
    """One legend for all panels under them, each name once, in order of appearance."""
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=min(columns, max(len(entries), 1)),
    )
