"""Experts: PPO against closed forms, resumed to the same bytes; the shipped ones walk."""

import json
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from policies import random_expert
from stops import Never, StopAfter

from makers.experts import ppo
from makers.experts.measuring import roll_out
from makers.experts.ppo import PpoSettings, Trainer, advantages, train_expert
from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.demo.collection import read_expert
from triptych.rl.tasks.locomotion import TASKS, Locomotion
from triptych.rl.tasks.task import task_named

SHIPPED = Path(__file__).parents[2] / "resources" / "experts"
PROMISED = {"hopper": 95.0, "walker2d": 80.0, "halfcheetah": 40.0}


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
    """Ten of the fifty measured episodes, on this machine's engine."""
    measured = json.loads((SHIPPED / f"{task}.json").read_text())["measured"]
    assert measured["score_normalised_mean"] >= PROMISED[task]
    first = measured["first_seed"]
    policy = read_expert(SHIPPED / f"{task}.safetensors", task)
    returns, _ = roll_out(Locomotion(task, 10), policy, range(first, first + 10))
    assert task_named(task).score(returns).mean() == pytest.approx(
        measured["score_normalised_mean"], abs=max(5.0, 2 * measured["score_normalised_std"])
    )


def test_advantages_are_the_discounted_sum_of_temporal_differences():
    generator = torch.Generator().manual_seed(0)
    steps, environments = 7, 3
    rewards, values = torch.rand(2, steps, environments, generator=generator, dtype=torch.float64)
    ended = (torch.rand(steps, environments, generator=generator) < 0.3).double()
    last = torch.rand(environments, generator=generator, dtype=torch.float64)
    following = torch.cat([values[1:], last[None]])
    delta = rewards + ppo.DISCOUNT * (1 - ended) * following - values
    expected = torch.zeros_like(delta)
    for e in range(environments):
        for t in range(steps):
            weight = 1.0
            for u in range(t, steps):
                expected[t, e] += weight * delta[u, e]
                if ended[u, e]:
                    break
                weight *= ppo.DISCOUNT * ppo.GAE_LAMBDA
    torch.testing.assert_close(advantages(rewards, values, ended, last), expected)


def test_the_expert_gives_the_networks_mean_action():
    trainer = Trainer("walker2d", PpoSettings(seed=3, steps=10_000))
    trainer.iterate()
    with torch.no_grad():
        standardised = trainer._standardised(trainer.observations)
        expected = trainer.policy(standardised).clamp(-1, 1).numpy()
    np.testing.assert_allclose(trainer.expert()(trainer.observations), expected, atol=1e-5)


def train(folder, name, stop):
    policy, record = folder / f"{name}.safetensors", folder / f"{name}.json"
    settings = PpoSettings(seed=1, steps=4 * ppo.ENVIRONMENTS * 8)
    train_expert("hopper", settings, policy, record, Checkpoint(folder / name, "x"), stop)
    return policy.read_bytes(), record.read_bytes()


def test_a_stopped_training_resumes_to_the_same_bytes(tmp_path, monkeypatch):
    for name, value in (("HORIZON", 8), ("EVALUATION_EPISODES", 1), ("EVALUATE_EVERY", 2)):
        monkeypatch.setattr(ppo, name, value)
    with pytest.raises(Stopped):
        train(tmp_path, "broken", StopAfter(1))
    assert train(tmp_path, "broken", Never()) == train(tmp_path, "unbroken", Never())
