"""What rounding its weights costs a policy: its score with and without, in the same episodes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.rl.evaluation import EvaluationSettings, evaluate
from triptych.rl.inference import ActingSettings, Arrays
from triptych.rl.locomotion import TASKS
from triptych.rl.networks import Parameters
from triptych.rl.storage import Values, as_read


def is_simulated(task: str, arrays: Arrays) -> bool:
    """Whether policies of the task can be scored here, and these arrays are of its sizes."""
    if task not in TASKS:
        return False
    inputs, actions = arrays["vae.d1.weight"].shape[1], len(arrays["vae.d3.bias"])
    sizes = TASKS[task].observation_size, TASKS[task].action_size
    return (inputs - 2 * actions, actions) == sizes


def scores(
    policies: Sequence[Arrays],
    task: str,
    seed: int,
    algorithm: str,
    acting: ActingSettings,
    episodes: int,
    starts: int = 0,
) -> pd.DataFrame:
    """Score policies of the same sizes as the workflow does, in the same episodes.

    policies: what acts of each, in torch's layout, for raw observations. seed: of the run, which
    keys the latents; starts: of the episodes. The columns are those of `evaluate`.
    """
    evaluation = EvaluationSettings(episodes, acting.candidates, starts)
    seeds = [seed] * len(policies)
    found = evaluate(algorithm, _stacked(policies), seeds, task, evaluation, acting.phi)
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
    found = scores(policies, row["task"], row.get("seed", 0), algorithm, acting, episodes)
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
