"""A short training job as a process of its own, for the tests that kill it."""

import logging
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from triptych.core.checkpoint import Checkpoint
from triptych.core.job import settings_from
from triptych.core.stopping import Stopped, StopRequest
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.networks.algorithm import Widths, algorithm_class
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.pruning.stack import prune_stack, write_masks
from triptych.rl.tasks.task import task_named
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import StepSettings, sparse_runs
from triptych.rl.training.train import TrainingSettings, acting_settings, train, write_policies

logging.basicConfig(stream=sys.stdout, level=logging.INFO)
torch.set_num_threads(1)
folder = Path(sys.argv[1])
random = np.random.default_rng(0)
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731
data = Transitions(
    normal(400, 11), np.tanh(normal(400, 3)), normal(400), normal(400, 11), 0 * normal(400)
)
rows = pd.DataFrame(
    [
        {"task": "hopper", "observations": kind, "method": method}
        | {"pruning": "default", "sparsity_percent": sparsity, "seed": seed}
        for kind, method, sparsity, seed in (
            ("normalised", "snip", 70, 0),
            ("normalised", "snip", 95, 0),
            ("raw", "random", 70, 1),
            ("raw", "random", 95, 1),
            ("raw", "trained_magnitude", 95, 0),
            ("normalised", "set", 95, 1),
        )
    ]
)
widths = Widths((12, 10), (14, 9), 16)
bcq = {"discount": 0.99, "phi": 0.05, "lambda": 0.75, "target_samples": 3}
td3_bc = {"discount": 0.99, "policy_noise": 0.2, "noise_clip": 0.5, "policy_freq": 2, "alpha": 2.5}
iql = {"discount": 0.99, "expectile": 0.7, "temperature": 3.0}
settings = {"BCQ": bcq, "BC": bcq, "TD3+BC": td3_bc, "IQL": iql}
algorithms = [settings_from(algorithm_class(name), settings[name]) for name in sys.argv[2:]]
device = torch.device("cpu")
pruning = {"default": {"snip_batch": 10, "grasp_batch": 20, "iterations": 1}}
task = task_named("hopper")
pruned = prune_stack(rows, "narrow", widths, algorithms[0], pruning, task, data)
training = TrainingSettings(
    algorithms=tuple(algorithms),
    steps=StepSettings(batch=20, learning_rate=1e-3, tau=0.005),
    evaluation=EvaluationSettings(2, 2, candidates=4, seed=0, task=task),
    updates=300,
    evaluate_every=150,
    checkpoint_every=15,
    precision="float32",
    sparse=sparse_runs(rows, pruned.masks, algorithms[0].update_order(), device),
)
assert training.sparse == (1, 3)
try:
    trained = train(
        pruned,
        DeviceData(data, device, torch.float32),
        training,
        Checkpoint(folder / "checkpoint", "fixed"),
        StopRequest(),
    )
except Stopped as stopped:
    print(stopped)
    raise
trained.scores.to_csv(folder / "scores.csv", index=False)
trained.losses.to_csv(folder / "losses.csv", index=False)
write_masks(folder / "masks.safetensors", trained.masks)
write_policies(
    folder / "policies.safetensors",
    trained.arrays,
    rows.to_dict("records"),
    acting_settings(training),
)
