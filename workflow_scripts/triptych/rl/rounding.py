"""What rounding its weights costs a policy: its score with and without, in the same episodes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.rl.algorithms.registry import ALGORITHMS
from triptych.rl.evaluation import EvaluationSettings, evaluate
from triptych.rl.exporting import as_decoder
from triptych.rl.inference import ActingSettings, Arrays
from triptych.rl.networks import Parameters
from triptych.rl.storage import Values, as_read
from triptych.rl.tasks import SIZES, task_named


def is_simulated(task: str, arrays: Arrays) -> bool:
    """Whether a file's policy can be scored: it is of one of the paper's tasks, and of its sizes.

    A task of another name is its config's, which no file brings along.
    """
    decoder = as_decoder(arrays)
    inputs, actions = decoder["vae.d1.weight"].shape[1], len(decoder["vae.d3.bias"])
    return SIZES.get(task) == (inputs - (2 * actions if decoder is arrays else 0), actions)


def scores(
    policies: Sequence[Arrays],
    seed: int,
    algorithm: str,
    phi: float,
    evaluation: EvaluationSettings,
) -> pd.DataFrame:
    """Score policies of the same sizes as the workflow does, in the same episodes.

    policies: what acts of each, in torch's layout, for raw observations. seed: of the run, which
    keys the latents. The columns are those of `evaluate`.
    """
    seeds = [seed] * len(policies)
    # Acting asks for BCQ's reach and no other setting.
    kind = ALGORITHMS[algorithm]
    acts = kind(**{field.name: phi if field.name == "phi" else None for field in fields(kind)})
    found = evaluate(acts, _stacked(policies), seeds, evaluation)
    assert found is not None  # nothing interrupts it
    return found


def loss_of_score(
    arrays: Arrays,
    row: Mapping[str, Any],
    algorithm: str,
    acting: ActingSettings,
    values: Values,
    episodes: int,
) -> dict[str, Any]:
    """What a policy scores with exact and with rounded weights: for people, and for metadata.

    Means over episodes with the same starts and latents; `loss` is exact minus rounded.
    """
    policies = [as_read(arrays, each) for each in ("fp32", values)]
    evaluation = EvaluationSettings(episodes, acting.candidates, 0, task_named(row["task"]))
    found = scores(policies, row.get("seed", 0), algorithm, acting.phi, evaluation)
    means = found.groupby("policy")[["return", "score_normalised"]].mean()
    exact, rounded = means.to_dict("records")
    loss = {name: exact[name] - rounded[name] for name in exact}
    return {"episodes": episodes, "exact": exact, "rounded": rounded, "loss": loss}


def _stacked(policies: Sequence[Arrays]) -> Parameters:
    """Policies in torch's layout as K networks, weights [K, in, out] and biases [K, 1, out]."""
    return {
        name: torch.stack([torch.from_numpy(np.atleast_2d(each[name].T)) for each in policies])
        for name in policies[0]
    }
