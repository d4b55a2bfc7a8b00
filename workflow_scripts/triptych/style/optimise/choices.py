"""Choices of Version 1, the presets that make them (`presets/`), and the experiment table, of which
every optimised image is a row. No PyTorch.

Layers bear the backbone's names: "conv1_1" before the ReLU, "relu1_1" after it.
"""

import importlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from triptych.method_files import read_constants

if TYPE_CHECKING:
    from triptych.style.losses import Scaling

Pooling = Literal["max", "average"]
Initialisation = Literal["content", "noise", "style"]
Rates = Literal["authors", "tuned"]
Clamp = Literal["closure", "end"]
Aspect = Literal["kept", "squashed"]
Precision = Literal["auto", "float32", "tf32", "bf16"]
"""auto: what the device is good at, settled before anything is computed (`choose_precision`)."""

MethodKind = Literal["presets", "optimizers", "content_losses", "style_losses"]
"""Folders whose modules are one method each."""
METHOD_COLUMNS: dict[str, MethodKind] = {
    "preset": "presets",
    "optimizer": "optimizers",
    "content_loss": "content_losses",
    "style_loss": "style_losses",
}
"""Columns of the experiment table that name a method."""


def methods(kind: MethodKind) -> dict[str, dict[str, Any]]:
    """Plain constants of the methods of a kind, by name, without importing their modules."""
    return read_constants(Path(__file__).with_name(kind))


def method_module(kind: MethodKind, name: str) -> str:
    return f"triptych.style.optimise.{kind}.{name}"


def load(kind: MethodKind, name: str) -> ModuleType:
    """A method's module, imported. Raises ValueError for a name that no module has."""
    if name not in methods(kind):
        known = ", ".join(methods(kind))
        raise ValueError(f"{name!r} is none of the {kind}; expected one of {known}")
    return importlib.import_module(method_module(kind, name))


@dataclass(frozen=True)
class Choices:
    """One way to optimise an image. Raises ValueError for a method that has no module."""

    # The backbone
    pooling: Pooling
    normalised: bool
    """Each filter's mean activation made one over photographs (Gatys et al. 2016, section 2)."""
    content_layer: str
    style_layers: tuple[str, ...]

    # The losses
    scaling: "Scaling"
    content_weight: float
    style_weight: float
    layer_weights: tuple[float, ...]
    """w_l of Eq. 2, one a style layer."""

    # The optimisation
    rates: Rates
    """Where `learning_rate`, `momentum`, `normalised_gradient` and `history` come from."""
    learning_rate: float
    total_variation_weight: float = 0.0
    content_loss: str = "mse"
    """A module of `content_losses/`."""
    style_loss: str = "gram"
    """A module of `style_losses/`."""
    initialisation: Initialisation = "content"
    optimizer: str = "lbfgs"
    """A module of `optimizers/`."""
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
        for name in ("optimizer", "content_loss", "style_loss"):
            method, known = getattr(self, name), methods(METHOD_COLUMNS[name])
            if method not in known:
                raise ValueError(f"{name} is {method!r}; expected one of {', '.join(known)}")

    @property
    def layers(self) -> tuple[str, ...]:
        """All layers that are read, without repetition."""
        return tuple(dict.fromkeys((*self.style_layers, self.content_layer)))


def preset(name: str, architecture: str, **changes: Any) -> Choices:
    """The choices of a preset ("paper", "authors" or "tuned") for a backbone's architecture.

    `changes` replace single fields; a new `optimizer` or `rates` brings its learning rate along.
    Raises ValueError for names that don't exist.
    """
    choices: dict[str, Any] = {**load("presets", name).choices(architecture), **changes}
    # `Choices` refuses unknown optimisers, and says which names there are.
    optimizer = methods("optimizers").get(choices.get("optimizer", "lbfgs"), {})
    rates: dict[str, Any] = optimizer.get(choices["rates"].upper(), {})
    choices = {"learning_rate": 0.0, **choices, **rates, **changes}
    return Choices(**choices)


NOTEBOOK, OURS = "notebook", "ours"
"""Settings of Version 1 in Table I: the authors' notebook's, one image at a time, or ours."""


def timed_choices(settings: str, architecture: str) -> Choices:
    """The authors' losses on their layers; in `OURS` without their clamp and long history."""
    ours: dict[str, Any] = {"clamp": "end", "history": 10} if settings == OURS else {}
    return preset("authors", architecture, **ours)


DESCRIBED = (
    "content",
    "painting",
    "backbone",
    "architecture",
    "weights",
    "preset",
    "rates",
    "optimizer",
    "content_loss",
    "style_loss",
    "initialisation",
    "size",
    "scales",
)
"""Columns that say what a run was made with; figures keep them."""
COLUMNS = ("experiment", "run", *DESCRIBED, "evaluations", "precision")

REQUIRED = ("preset", "size", "evaluations", "content", "painting", "backbone")
FROM_PRESET = (
    "rates",
    "optimizer",
    "content_loss",
    "style_loss",
    "initialisation",
    "precision",
)
"""Choices of the preset that a row may replace."""
WEIGHTS = ("embedded", "hed", "imagenet")
"""Weights by name; others are a path."""


def experiment_runs(
    optimize: Mapping[str, Any],
    experiments: Mapping[str, Mapping[str, Any]],
    backbones: Mapping[str, Mapping[str, str]],
) -> list[dict[str, Any]]:
    """All runs of all experiments, a row of COLUMNS each.

    `optimize` holds what all experiments share, an experiment its own values beside it, and under
    `vary` lists of values whose product makes its rows. `backbones` gives a role's architecture and
    weights. `run` names a row within its experiment by the values that vary. Raises ValueError for
    a value that doesn't exist.
    """
    rows: list[dict[str, Any]] = []
    for name, experiment in experiments.items():
        vary = experiment.get("vary", {})
        for values in itertools.product(*vary.values()):
            settings = {**optimize, **experiment, **dict(zip(vary, values, strict=True))}
            try:
                row = _row(settings, backbones)
            except ValueError as error:
                raise ValueError(f"experiment {name}: {error}") from None
            run = "-".join(str(value) for value in values) or name
            row |= {"experiment": name, "run": run}
            rows.append({column: row[column] for column in COLUMNS})
    return rows


def _row(settings: Mapping[str, Any], backbones: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A run's columns, its names apart; the preset gives the choices that `settings` lacks."""
    role = settings["backbone"]
    if role not in backbones:
        raise ValueError(f"there is no backbone {role!r}; expected one of {', '.join(backbones)}")
    architecture, weights = backbones[role]["architecture"], backbones[role]["weights"]
    changes = {key: settings[key] for key in FROM_PRESET if key in settings}
    choices = preset(settings["preset"], architecture, **changes)
    scales = settings.get("scales", 1)
    if scales > settings["evaluations"]:
        raise ValueError(f"{settings['evaluations']} evaluations are too few for {scales} scales")
    if scales > 1 and choices.initialisation != "content":
        raise ValueError(f"{scales} scales begin from the content, not {choices.initialisation}")
    return {
        **{key: settings[key] for key in REQUIRED},
        "scales": scales,
        "architecture": architecture,
        "weights": weights if weights in WEIGHTS else "path",
        **{key: getattr(choices, key) for key in FROM_PRESET},
    }
