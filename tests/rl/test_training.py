"""Resuming after a kill, stopping on request, evaluating in lock-step."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from broken_runs import start, wait_for_checkpoint

from benchmarks.rl.plain import PlainBCQ
from triptych.core.stopping import SAVED_EXIT_CODE
from triptych.rl.acting.evaluation import EvaluationSettings, evaluate, latents
from triptych.rl.algorithms import bcq
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.tasks.locomotion import Locomotion
from triptych.rl.tasks.task import task_named

CPU = torch.device("cpu")
RUNNER = Path(__file__).with_name("training_job.py")


def files(folder):
    return {
        name: (folder / name).read_bytes()
        for name in ("policies.safetensors", "masks.safetensors", "scores.csv", "losses.csv")
    }


BCQ = ("BCQ", "BC")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The files of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    process = start(RUNNER, folder, *BCQ)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 0, output
    return files(folder)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path, unbroken):
    kills = 0
    for times in (1, 2, 3):
        process = start(RUNNER, tmp_path, *BCQ)
        wait_for_checkpoint(tmp_path, process, times)
        time.sleep(0.02 * times)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
    process = start(RUNNER, tmp_path, *BCQ)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 0, output
    assert kills == 3
    assert "resuming at update" in output
    assert files(tmp_path) == unbroken


@pytest.mark.slow
def test_sigterm_saves_and_the_next_run_goes_on(tmp_path, unbroken):
    process = start(RUNNER, tmp_path, *BCQ)
    wait_for_checkpoint(tmp_path, process, 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=240)
    assert process.returncode == SAVED_EXIT_CODE
    process = start(RUNNER, tmp_path, *BCQ)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 0, output
    assert "resuming at update" in output
    assert files(tmp_path) == unbroken


def reference_returns(task, agent, starts, drawn):
    """Act for one policy at a time, as sfujim/BCQ's select_action does."""
    returns = []
    for episode, first in enumerate(starts):
        simulation = Locomotion(task, 1)
        state = simulation.reset([first])
        total = 0.0
        for step in range(simulation.horizon):
            z = drawn[step][episode]
            with torch.no_grad():
                repeated = torch.tensor(state).repeat(len(z), 1)
                action = agent.actor(repeated, agent.vae.decode(repeated, z.clamp(-0.5, 0.5)))
                best = agent.critic.q1(repeated, action).argmax(0)
            state, reward, ended = simulation.step(action[best].numpy())
            total += reward[0]
            if ended[0]:
                break
        returns.append(total)
    return returns


def test_lock_step_evaluation_equals_acting_one_policy_at_a_time(
    narrow, bcq_settings, step_settings, monkeypatch
):
    monkeypatch.setattr(bcq, "CACHED", 10)  # two episodes at once, then the third
    settings = EvaluationSettings(1, 3, candidates=5, seed=2, task=task_named("hopper"))
    seeds = [0, 7]
    parameters = {n: v.double() for n, v in Bcq.initialise(narrow, 11, 3, seeds).items()}
    frame = evaluate(bcq_settings, parameters, seeds, settings, 40, True)
    assert frame["steps"].nunique() > 1  # episodes end at different times
    for k, seed in enumerate(seeds):
        agent = PlainBCQ(11, 3, narrow, bcq_settings, step_settings)
        agent.load(parameters, k)
        drawn = latents([seed], 40, (3, 5, 6), CPU, torch.float64)
        own = [latent for _, (latent,) in zip(range(1000), drawn, strict=False)]
        starts = np.random.SeedSequence([2, seed, 40]).generate_state(3).tolist()
        expected = reference_returns("hopper", agent, starts, own)
        ours = frame[frame["policy"] == k]["return"]
        np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_draws_do_not_depend_on_where_a_run_resumes_or_on_its_neighbours(transitions, bcq_settings):
    data = DeviceData(transitions, CPU, torch.float32)
    many, one = (Draws(seeds, data, 20, bcq_settings) for seeds in ([3, 1, 3], [3]))
    for update in (0, 1, 49, 50, 120):
        index, noise = many.at(update)
        lone_index, lone_noise = one.at(update)
        assert torch.equal(index[0], lone_index[0])
        assert torch.equal(index[0], index[2])
        assert not torch.equal(index[0], index[1])
        assert torch.equal(noise["target"][2], lone_noise["target"][0])
