"""Every choice of Version 1, and three named sets of them: as the text, as the code, as tuned.

- `paper`: what the text of Shen and Wang says (section IV-A). Where it says nothing, what Gatys
  et al. 2016 do, whom it follows, or our own choice; each is marked.
- `authors`: what their notebook did, as its cells and saved outputs show. It differs from the text
  in the content layer, pooling, weight normalisation and the scale of the losses.
- `tuned`: what looked best when tried (docs/style-presets.md).

Layers bear the backbone's names: "conv1_1" before the ReLU, "relu1_1" after it.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Pooling = Literal["max", "average"]
Scaling = Literal["equation", "mean", "relative"]
ContentLoss = Literal["mse", "l1", "smooth_l1", "huber"]
Initialisation = Literal["content", "noise", "style"]
Rates = Literal["authors", "tuned"]
Clamp = Literal["closure", "end"]
Aspect = Literal["kept", "squashed"]
Precision = Literal["auto", "float32", "tf32", "bf16"]
"""auto: what the device is good at, settled before anything is computed (`choose_precision`)."""

SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
CONTENT_LOSSES: tuple[ContentLoss, ...] = get_args(ContentLoss)


@dataclass(frozen=True)
class OptimizerChoices:
    """An optimiser (`ROW_OPTIMIZERS` has its function under the same name): how tables and figures
    show it, and the choices that the authors' notebook and tuned rates bring along."""

    label: str
    colour: str
    authors: Mapping[str, Any]
    tuned: Mapping[str, Any]


OPTIMIZERS = {
    # PyTorch's defaults and the notebook's SGD. A history of 100 takes ten times the memory and, at
    # AlexNet's speed, a third of the time.
    "lbfgs": OptimizerChoices(
        "L-BFGS",
        "#0072b2",
        authors={"learning_rate": 1.0, "history": 100},
        tuned={"learning_rate": 1.0, "history": 10, "reach": 1.0},
    ),
    # With 500 steps of 1e-3 Adam moves a pixel by half its range at most; a tuned step is of a size
    # with the pixels' range, whatever the loss's.
    "adam": OptimizerChoices(
        "Adam", "#d55e00", authors={"learning_rate": 1e-3}, tuned={"learning_rate": 0.03}
    ),
    "sgd": OptimizerChoices(
        "SGD",
        "#009e73",
        authors={"learning_rate": 0.01, "momentum": 0.8},
        tuned={"learning_rate": 0.01, "momentum": 0.9, "normalised_gradient": True},
    ),
}


@dataclass(frozen=True)
class Choices:
    """One way to optimise an image. Raises ValueError for a value that no choice has."""

    # The backbone
    pooling: Pooling
    normalised: bool
    """Each filter's mean activation made one over photographs (Gatys et al. 2016, section 2)."""
    content_layer: str
    style_layers: tuple[str, ...]

    # The losses
    scaling: Scaling
    content_weight: float
    style_weight: float
    layer_weights: tuple[float, ...]
    """w_l of Eq. 2, one a style layer."""

    # The optimisation
    rates: Rates
    """Where `learning_rate`, `momentum`, `normalised_gradient` and `history` come from."""
    learning_rate: float
    total_variation_weight: float = 0.0
    content_loss: ContentLoss = "mse"
    initialisation: Initialisation = "content"
    optimizer: str = "lbfgs"
    momentum: float = 0.0
    """SGD's momentum."""
    normalised_gradient: bool = False
    """SGD only: each image's gradient is scaled to a root mean square of one."""
    history: int = 10
    """Pairs that L-BFGS remembers, each as large as two images."""
    reach: float = math.inf
    """L-BFGS only: how far a pixel moves in a step at most; steps after which the loss is ten times
    as high are taken back. Infinite as in PyTorch, which has neither bound."""
    by_pixels: bool = False
    """The optimiser is given the loss times the image's number of values, so that a gradient is
    of order one at any size; L-BFGS's constants suppose as much."""
    clamp: Clamp = "end"
    """Pixels are clamped to [0, 1] once at the end, or before every evaluation. The latter
    moves the image behind L-BFGS's back, which may then diverge."""
    aspect: Aspect = "squashed"
    """Images are scaled to squares, or keep their proportions."""
    precision: Precision = "float32"
    """The backbone's; losses and optimiser are in float32 always."""

    def __post_init__(self) -> None:
        for name, allowed in _VALUES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")

    @property
    def layers(self) -> tuple[str, ...]:
        """All layers that are read, without repetition."""
        return tuple(dict.fromkeys((*self.style_layers, self.content_layer)))


_VALUES: dict[str, Collection[str]] = {
    "pooling": get_args(Pooling),
    "scaling": SCALINGS,
    "content_loss": CONTENT_LOSSES,
    "initialisation": get_args(Initialisation),
    "optimizer": OPTIMIZERS,
    "rates": get_args(Rates),
    "clamp": get_args(Clamp),
    "aspect": get_args(Aspect),
    "precision": get_args(Precision),
}

FIRST_OF_STAGES = {
    "vgg": tuple(f"relu{stage}_1" for stage in range(1, 6)),
    "alexnet": tuple(f"relu{stage}" for stage in range(1, 6)),
}

AUTHORS_LAYERS: dict[str, tuple[str, tuple[str, ...]]] = {
    # The notebook counts convolutions: content 15, style 1, 3, 5, 9, 13 and 16, before their ReLU.
    "vgg19": ("conv5_3", ("conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1", "conv5_4")),
    # Content 5, style 1 to 4.
    "alexnet": ("conv5", ("conv1", "conv2", "conv3", "conv4")),
    # By analogy: the last convolution but one, and the first of each stage with the last.
    "vgg16": ("conv5_2", ("conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1", "conv5_3")),
    "narrow_alexnet": ("conv5", ("conv1", "conv2", "conv3", "conv4")),
}


def preset(name: str, architecture: str, **changes: Any) -> Choices:
    """The choices called `name` ("paper", "authors" or "tuned") for a backbone's architecture.

    `changes` replace single fields; a new `optimizer` or `rates` brings its learning rate along.
    Raises ValueError for names that don't exist.
    """
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; expected one of {', '.join(PRESETS)}")
    choices: dict[str, Any] = {**PRESETS[name](architecture), **changes}
    optimizer = OPTIMIZERS.get(choices.get("optimizer", "lbfgs"))
    # An unknown name leaves no rates; Choices then says which names there are.
    rates: Mapping[str, Any] = getattr(optimizer, choices["rates"], {})
    return Choices(**{"learning_rate": 0.0, **choices, **rates, **changes})


def _paper(architecture: str) -> dict[str, Any]:
    alexnet = architecture.endswith("alexnet")
    return {
        "pooling": "average",  # IV-A 3
        "normalised": True,  # IV-A 3
        # "At stage 4" (IV-A 6); the second convolution of it, after the ReLU, is Gatys'.
        "content_layer": "relu4" if alexnet else "relu4_2",
        "style_layers": FIRST_OF_STAGES["alexnet" if alexnet else "vgg"],  # IV-A 6, 1-5
        "scaling": "equation",  # Eq. 1 and 3
        "content_weight": 1.0,
        "style_weight": PAPER_STYLE_WEIGHT,
        "layer_weights": (1 / 5,) * 5,  # Gatys' w_l; the text leaves them open
        "rates": "tuned",  # not in the text
    }


PAPER_STYLE_WEIGHT = 1e6
"""The text gives none, only "much higher than the content weight" (IV-A 7)."""


def _authors(architecture: str) -> dict[str, Any]:
    content, style = AUTHORS_LAYERS[architecture]
    return {
        "pooling": "max",
        "normalised": False,
        "content_layer": content,
        "style_layers": style,
        "scaling": "mean",
        "content_weight": 1.0,
        "style_weight": 1e6,
        "layer_weights": (1.0,) * len(style),
        "rates": "authors",
        "clamp": "closure",
    }


TUNED_POOLING: Pooling = "max"


def _tuned(architecture: str) -> dict[str, Any]:
    alexnet = architecture.endswith("alexnet")
    stages = FIRST_OF_STAGES["alexnet" if alexnet else "vgg"]
    return {
        "pooling": TUNED_POOLING,
        "normalised": False,  # relative losses don't depend on a layer's scale
        # The registry's VGG-16 went on to learn edges: its deeper stages keep no faces.
        "content_layer": "conv3" if alexnet else "relu2_2",
        # Before the ReLU, as the authors': what a filter answers in the negative is style, too.
        "style_layers": tuple(name.replace("relu", "conv") for name in stages),
        "scaling": "relative",
        "content_weight": 0.006,
        "style_weight": 2.0,
        # In the authors' losses the second stage outweighs all others, too: it holds the strokes.
        "layer_weights": (0.04, 0.85, 0.1, 0.007, 0.003),
        # AlexNet's first layer, whose stride is 4, doesn't see speckle.
        "total_variation_weight": 10.0 if alexnet else 0.0,
        "optimizer": "adam",
        "rates": "tuned",
        "by_pixels": True,
        "clamp": "closure",  # Adam keeps no differences that it would spoil
        "aspect": "kept",
    }


PRESETS = {"paper": _paper, "authors": _authors, "tuned": _tuned}

NOTEBOOK, OURS = "notebook", "ours"
"""Settings of Version 1 in Table I: the authors' notebook's, one image at a time, or ours."""


def timed_choices(settings: str, architecture: str) -> Choices:
    """The authors' losses on their layers; in `OURS` without their clamp and long history."""
    ours: dict[str, Any] = {"clamp": "end", "history": 10} if settings == OURS else {}
    return preset("authors", architecture, **ours)
