"""How figures look, and how they are written: one palette, one set of sizes, stable bytes."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.core.files import atomic_path

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


def save_figure(figure: Figure, base: str | Path) -> None:
    """Write `base`.svg, .pdf and .png (200 dpi), whole or not at all, with stable bytes."""
    for suffix, metadata in _METADATA.items():
        # Not with_suffix: a base may carry a dot of its own.
        target = Path(f"{base}.{suffix}")
        with atomic_path(target) as temporary, matplotlib.rc_context(STYLE):
            figure.savefig(temporary, format=suffix, metadata=metadata, dpi=200)


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
