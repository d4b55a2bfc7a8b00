"""Experts: episodes are gymnasium's; the shipped ones walk."""

import json
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from policies import random_expert

from makers.experts import td3
from makers.experts.measuring import roll_out
from triptych.demo.collection import read_expert
from triptych.rl.tasks.locomotion import TASKS, Locomotion
from triptych.rl.tasks.task import task_named

SHIPPED = Path(__file__).parents[2] / "resources" / "experts"
PROMISED = {"hopper": 95.0, "walker2d": 80.0, "halfcheetah": 80.0}


def test_roll_out_sums_what_gymnasium_pays():
    """The returns of episodes of unequal length, against one environment at a time."""
    policy = random_expert(11, 3)
    returns, lengths = roll_out(Locomotion("hopper", 3), policy, [4, 5, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        environment = gymnasium.make("Hopper-v4")
    for index, seed in enumerate([4, 5, 6]):
        observation, _ = environment.reset(seed=seed)
        total, steps, over = 0.0, 0, False
        while not over:
            action = policy(observation[None])[0]
            observation, reward, terminated, truncated, _ = environment.step(action)
            total, steps, over = total + reward, steps + 1, terminated or truncated
        assert returns[index] == pytest.approx(total, abs=1e-9)
        assert lengths[index] == steps
    environment.close()


@pytest.mark.parametrize("task", sorted(TASKS))
def test_a_shipped_expert_scores_what_its_record_says(task):
    """Five of the fifty measured episodes, on this machine's engine."""
    measured = json.loads((SHIPPED / f"{task}.json").read_text())["measured"]
    assert measured["score_normalised_mean"] >= PROMISED[task]
    first = measured["first_seed"]
    policy = read_expert(SHIPPED / f"{task}.safetensors", task)
    returns, _ = roll_out(Locomotion(task, 5), policy, range(first, first + 5))
    assert task_named(task).score(returns).mean() == pytest.approx(
        measured["score_normalised_mean"], abs=max(5.0, 2 * measured["score_normalised_std"])
    )


def test_td3_tells_a_fall_from_a_time_limit(monkeypatch):
    """A one-step world's value is its reward where the episode ends, and otherwise goes on.

    All states are alike and every reward is 1, so the value is 1 where each step is a fall, and
    1 / (1 - discount) where none is.
    """
    monkeypatch.setattr(td3, "DISCOUNT", 0.5)
    monkeypatch.setattr(td3, "TAU", 0.05)
    random = np.random.default_rng(0)
    for ends, value in ((True, 1.0), (False, 2.0)):
        trainer = td3.Trainer("hopper", td3.Settings(seed=0, updates=1))
        same, ended = np.zeros((8, 11)), np.full(8, ends)
        for _ in range(100):
            trainer.memory.add(same, random.uniform(-1, 1, (8, 3)), np.ones(8), same, ended)
        for _ in range(300):
            trainer.improve(trainer.memory.sample(32, trainer.random))
        with torch.no_grad():
            values = [float(critic(torch.zeros(1, 14))) for critic in trainer.critics]
        assert values == pytest.approx([value] * 2, rel=0.1)
