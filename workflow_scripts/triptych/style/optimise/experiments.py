"""The experiment table of Version 1: every optimised image of every experiment is a row."""

import itertools
from collections.abc import Mapping
from typing import Any

from triptych.style.optimise.choices import preset

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
