"""What plots and tables of the style study call things, and their colours."""

from pathlib import Path
from typing import Any

from triptych.report.palette import label, spoken
from triptych.style.optimise.presets import OPTIMIZERS

# Okabe and Ito's palette, told apart by every common form of colour vision.
ARCHITECTURE_LABELS = {
    "vgg16": "VGG-16",
    "vgg19": "VGG-19",
    "alexnet": "AlexNet",
    "narrow_alexnet": "narrow AlexNet",
}
BACKBONE_COLOURS = {"vgg": "#0072b2", "alexnet": "#d55e00", "network": "#009e73"}
BACKBONE_LABELS = {"vgg": "VGG", "alexnet": "AlexNet"}
EXPERIMENT_LABELS = {
    "paintings": "Figures 1 and 7",
    "backbones": "backbone",
    "losses": "content loss",
    "optimizers": "optimizer",
    "initialisations": "initialisation",
    "presets": "preset",
    "sizes": "size",
}
OPTIMIZER_LABELS = {name: each.label for name, each in OPTIMIZERS.items()}
OPTIMIZER_COLOURS = {name: each.colour for name, each in OPTIMIZERS.items()}
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
PRESET_COLOURS = {"paper": "#0072b2", "authors": "#d55e00", "tuned": "#009e73"}
VARIANT_LABELS = {"shipped": "shipped", "plain": "trained in this run"}
VARIANT_COLOURS = {"shipped": "#009e73", "plain": "#0072b2"}
TERM_COLOURS = {"total": "#1f2933", "style": "#aa4499", "content": "#009e73"}
ORIGIN_LABELS = {"shipped": "shipped", "trained": "trained in this run"}
MEASURE_LABELS = {
    "ssim_luma": "structure kept (SSIM)",
    "edge_correlation": "edges kept",
    "gram_distance": "style distance (Gram)",
    "colour_distance": "colour distance",
}


def network_title(path: str | Path) -> str:
    """The title of a file in a folder {painting}/{variant}: `Swirls, trained in this run`."""
    folder = Path(path).parent
    return f"{spoken(folder.parent.name)}, {label(VARIANT_LABELS, folder.name)}"
