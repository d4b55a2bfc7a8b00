"""Small stacks of networks of every algorithm, and their updates, for tests."""

import dataclasses

import pandas as pd
import torch
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.algorithms.bc import Bc
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.algorithms.iql import Iql
from triptych.rl.algorithms.td3_bc import Td3Bc
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.pruning.stack import PrunedStack
from triptych.rl.tasks.sweep import KEYS
from triptych.rl.tasks.task import task_named
from triptych.rl.training.learner import StepSettings
from triptych.rl.training.train import TrainingSettings, train

CPU, HOPPER = torch.device("cpu"), (11, 3)
STEPS = StepSettings(batch=20, learning_rate=1e-3, tau=0.005)
BCQ = Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=3)
BC = Bc(**dataclasses.asdict(BCQ))
TD3_BC = Td3Bc(discount=0.99, policy_noise=0.2, noise_clip=0.5, policy_freq=2, alpha=2.5)
IQL = Iql(discount=0.99, expectile=0.7, temperature=3.0)


def stack(algorithm, widths, seeds, dtype=torch.float64):
    """Fresh parameters of Hopper's sizes."""
    fresh = type(algorithm).initialise(widths, *HOPPER, seeds)
    return {name: value.to(dtype) for name, value in fresh.items()}


def random_masks(parameters, kept):
    """Masks that leave this share of every layer."""
    generator = torch.Generator().manual_seed(3)
    return {
        name: torch.rand(value.shape, generator=generator) < kept
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


def batches(algorithm, transitions, seeds, updates, dtype=torch.float64, kinds=None, device=CPU):
    """Batch and noise of each update, by its number."""
    data = DeviceData(transitions, device, dtype).seen_as(kinds or ["raw"] * len(seeds))
    draws = Draws(seeds, data, STEPS.batch, algorithm)
    for update in range(updates):
        index, noise = draws.at(update)
        yield update, data.batch(index), noise


def updated(learner, algorithm, transitions, seeds, updates, dtype=torch.float64, kinds=None):
    """The losses of the last update."""
    losses = {}
    for update, batch, noise in batches(algorithm, transitions, seeds, updates, dtype, kinds):
        losses = learner.update(batch, noise, update)
    return losses


def runs(*rows):
    """Runs of Hopper, each a method, a sparsity and a seed."""
    table = pd.DataFrame(rows, columns=["method", "sparsity_percent", "seed"])
    return table.assign(task="hopper", observations="raw", pruning="default")[[*KEYS]]


def ignore(scores, losses):
    pass


def train_bcq(folder, rows, parameters, masks, transitions, stop=None, show=ignore, **others):
    """Runs trained for 20 updates, and scored at 10 and 20. others: of TrainingSettings."""
    settings = TrainingSettings(
        algorithms=(BCQ, BC),
        steps=STEPS,
        evaluation=EvaluationSettings(1, 2, candidates=2, seed=0, task=task_named("hopper")),
        updates=20,
        evaluate_every=10,
        checkpoint_every=10,
        precision="float32",
    )
    kept = {name: mask.numpy() for name, mask in masks.items()}
    return train(
        PrunedStack(rows, "narrow", BCQ, [], parameters, kept),
        DeviceData(transitions, CPU, torch.float32),
        dataclasses.replace(settings, **others),
        Checkpoint(folder, "x"),
        stop or Never(),
        show,
    )
