"""PPO's parts against closed forms; training that resumes to the same bytes and learns."""

import numpy as np
import pytest
import torch
from stops import Never, StopAfter

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.demo import ppo
from triptych.demo.expert_training import train_expert
from triptych.demo.experts import read_expert
from triptych.demo.ppo import Moments, PpoSettings, Trainer, advantages, clipped_surrogate
from triptych.rl.locomotion import Locomotion
from triptych.rl.tasks import SIZES


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


@pytest.mark.parametrize(
    ("ratio", "advantage", "gradient"),
    [(1.0, 2.0, -2.0), (1.5, 2.0, 0.0), (0.5, 2.0, -2.0), (1.5, -2.0, 2.0), (0.5, -2.0, 0.0)],
)
def test_the_surrogate_stops_pushing_where_the_ratio_is_clipped(ratio, advantage, gradient):
    live = torch.tensor([ratio], requires_grad=True)
    clipped_surrogate(live, torch.tensor([advantage])).backward()
    assert live.grad.item() == pytest.approx(gradient)


def test_moments_are_those_of_all_samples_together():
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(1000, 4))
    moments = Moments(4)
    for part in np.split(samples, [1, 10, 200, 650]):
        moments.update(part)
    np.testing.assert_allclose(moments.mean, samples.mean(0), rtol=1e-4)
    np.testing.assert_allclose(moments.variance, samples.var(0), rtol=1e-3)


def test_the_expert_gives_the_networks_mean_action():
    trainer = Trainer("walker2d", PpoSettings(seed=3, steps=10_000))
    trainer.iterate()
    with torch.no_grad():
        standardised = trainer._standardised(trainer.observations)
        expected = trainer.policy(standardised).clamp(-1, 1).numpy()
    np.testing.assert_allclose(trainer.expert()(trainer.observations), expected, atol=1e-5)


@pytest.mark.parametrize("task", sorted(SIZES))
def test_a_restored_simulation_goes_on_exactly_as_the_first(task):
    actions = np.random.default_rng(0).uniform(-1, 1, size=(60, 4, SIZES[task][1]))
    first, second = Locomotion(task, 4), Locomotion(task, 4)
    first.reset([1, 2, 3, 4])
    for action in actions[:30]:
        first.step(action)
    second.restore(first.state())
    for action in actions[30:]:
        for one, other in zip(first.step(action), second.step(action), strict=True):
            np.testing.assert_array_equal(one, other)


def train(folder, name, stop, steps=3 * 4096):
    policy, record = folder / f"{name}.safetensors", folder / f"{name}.json"
    checkpoint = Checkpoint(folder / name, "x")
    train_expert("hopper", PpoSettings(1, steps), policy, record, checkpoint, stop)
    return policy.read_bytes(), record.read_bytes()


@pytest.mark.slow
def test_a_stopped_training_resumes_to_the_same_bytes(tmp_path):
    with pytest.raises(Stopped):
        train(tmp_path, "broken", StopAfter(1))
    resumed = train(tmp_path, "broken", Never())
    assert resumed == train(tmp_path, "unbroken", Never())
    assert read_expert(tmp_path / "broken.safetensors", "hopper").biases["fc0"].shape == (64,)


@pytest.mark.slow
def test_training_learns_to_stay_upright():
    trainer = Trainer("hopper", PpoSettings(seed=0, steps=80_000))
    trainer.evaluate()
    untrained = trainer.best
    for _ in range(15):
        trainer.iterate()
    trainer.evaluate()
    assert trainer.best > untrained + 3  # normalised points; 60 thousand steps
