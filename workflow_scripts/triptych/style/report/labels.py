"""Labels, colours and dashes of the style study's plots and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.report.palette import label, spoken
from triptych.style.optimise.choices import MethodKind, methods

# Okabe and Ito's palette, told apart by every common form of colour vision.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#8a94a0")


@dataclass(frozen=True)
class Look:
    """A method's name in figures, and its line. dash: a line style of matplotlib's."""

    label: str
    colour: str
    dash: Any = "solid"


def looks(kind: MethodKind) -> dict[str, Look]:
    """The look of each method of a kind, in their order: its file's LABEL, COLOUR and DASH."""
    return {
        name: Look(
            label=constants.get("LABEL", name),
            colour=constants.get("COLOUR", PALETTE[place % len(PALETTE)]),
            dash=constants.get("DASH", "solid"),
        )
        for place, (name, constants) in enumerate(methods(kind).items())
    }


OPTIMIZER_LOOKS = looks("optimizers")
CONTENT_LOSS_LOOKS = looks("content_losses")
PRESET_LOOKS = looks("presets")
ARCHITECTURE_LABELS = {
    "vgg16": "VGG-16",
    "vgg19": "VGG-19",
    "alexnet": "AlexNet",
    "narrow_alexnet": "narrow AlexNet",
}
BACKBONE_COLOURS = {"vgg": "#0072b2", "alexnet": "#d55e00", "network": "#009e73"}
EXPERIMENT_LABELS = {
    "paintings": "Figures 1 and 7",
    "backbones": "backbone",
    "losses": "content loss",
    "optimizers": "optimizer",
    "initialisations": "initialisation",
    "presets": "preset",
    "sizes": "size",
}
RATES_LABELS = {"authors": "authors' rates", "tuned": "tuned rates"}
INITIALISATION_LABELS = {"content": "content image", "noise": "white noise", "style": "style image"}
VARIANT_LABELS = {"shipped": "shipped", "plain": "trained in this run"}
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
