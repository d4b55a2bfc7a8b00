"""What the offline-RL study costs, against closed forms and the facts of its references."""

import dataclasses

import pytest
from close_forms import assert_near
from other_algorithms import IQL, TD3_BC
from rl_counts import acting_counted, sizes_of, update_counted

from triptych.rl.algorithms.registry import Bc, Bcq, Widths, layer_shapes
from triptych.rl.cost import (
    EPISODE,
    acting_work,
    job_cost,
    parameter_count,
    rows,
    update_work,
)
from triptych.rl.locomotion import HORIZON
from triptych.rl.networks import PAPER_WIDTHS
from triptych.rl.tasks import SIZES

PAPER = {"actor": [400, 300], "critic": [400, 300], "vae": 750}
BCQ = Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=10)
TASK = {"task": "halfcheetah", "networks": "paper", "stack": "bcq-sp95-1"}


@pytest.fixture(scope="module")
def paper(paper_config):
    return paper_config["rl"]


def products(batch, *layers):
    """Operations of linear layers, forward, for 17 observations and 6 actions."""
    shapes = layer_shapes(PAPER_WIDTHS, 17, 6)
    return sum(2 * batch * shapes[layer][0] * shapes[layer][1] for layer in layers)


def test_an_update_counts_every_product_of_bcq_and_no_other():
    encoder, decoder = (
        ("vae.e1", "vae.e2", "vae.mean", "vae.log_std"),
        ("vae.d1", "vae.d2", "vae.d3"),
    )
    actor = ("actor.l1", "actor.l2", "actor.l3")
    q1 = ("critic.l1", "critic.l2", "critic.l3")
    q2 = ("critic.l4", "critic.l5", "critic.l6")
    # Forward, gradients of weights, gradients of inputs where these aren't data.
    vae = 3 * products(100, *encoder, *decoder) - products(100, "vae.e1")
    target = products(1000, *decoder, *actor, *q1, *q2)
    critic = 3 * products(100, *q1, *q2) - products(100, "critic.l1", "critic.l4")
    # The critic passes the actor's gradient on without moving itself.
    act = products(100, *decoder) + 3 * products(100, *actor) - products(100, "actor.l1")
    act += 2 * products(100, *q1)
    update = update_work(BCQ, PAPER, "halfcheetah", 100, masked=True)
    assert update.operations == vae + target + critic + act
    assert update.operations == pytest.approx(3.10e9, rel=0.02)  # as counted in the reference


@pytest.mark.parametrize("task", ["hopper", "halfcheetah"])
@pytest.mark.parametrize(
    ("widths", "samples", "batch", "masked"),
    [
        (PAPER, 10, 100, True),
        (PAPER, 10, 100, False),
        ({"actor": [64, 64], "critic": [64, 64], "vae": 192}, 4, 64, True),
        ({"actor": [40, 30], "critic": [20, 60], "vae": 100}, 6, 256, True),
        (PAPER, 1, 4, True),
    ],
)
def test_updates_and_acts_are_as_counted(task, widths, samples, batch, masked):
    built = Widths.from_table(widths)
    bcq = dataclasses.replace(BCQ, target_samples=samples)
    for algorithm in (bcq, Bc(**vars(bcq)), TD3_BC, IQL):
        assert_near(
            update_work(algorithm, widths, task, batch, masked),
            update_counted(algorithm, built, task, batch, masked),
        )
        for episodes, candidates in ((10, 100), (2, 1)):
            count = acting_counted(algorithm, built, task, episodes, candidates)
            tried = episodes * (candidates if algorithm.chooses else 1)
            work = acting_work(type(algorithm), widths, task, tried)
            assert work.operations == count.operations
            assert work.traffic == pytest.approx(count.traffic, rel=0.3, abs=4000)


def test_tasks_are_as_large_as_mujoco_has_them():
    assert {task: sizes_of(task) for task in SIZES} == SIZES
    assert HORIZON == EPISODE


def test_dense_networks_move_fewer_bytes_and_compute_as_much():
    masked = update_work(BCQ, PAPER, "hopper", 100, masked=True)
    dense = update_work(BCQ, PAPER, "hopper", 100, masked=False)
    assert dense.operations == masked.operations
    assert dense.traffic < masked.traffic


def test_acting_decodes_every_candidate_for_bcq_and_one_latent_for_bc():
    decoder = ("vae.d1", "vae.d2", "vae.d3")
    assert acting_work(Bc, PAPER, "halfcheetah", 10).operations == products(10, *decoder)
    of_bcq = (*decoder, "actor.l1", "actor.l2", "actor.l3", "critic.l1", "critic.l2", "critic.l3")
    assert acting_work(Bcq, PAPER, "halfcheetah", 1000).operations == products(1000, *of_bcq)


def test_networks_have_as_many_numbers_as_the_papers_table(paper):
    # Table 1 of the paper: 131,000 + 259,000 + 1,186,500 weights, 706 + 1,402 + 3,030 biases.
    assert parameter_count(PAPER, "walker2d") == 1_576_500 + 5_138


def test_the_papers_scale_trains_505_runs_a_task_and_scores_them_in_mujoco(paper, sources):
    """Five seeds of: dense, ten methods at seven sparsities, the straw man at one; raw, dense and
    the paper's two methods; these with other batches, iterations and data."""
    runs = 5 * (1 + 10 * 7 + 1 + 1 + 2 * 7 + 2 * 4)
    names = rows(paper)
    assert sum(", measured" not in name for name in names) == 3 * runs
    assert (
        names["hopper bcq normalised snip 95% seed 4"]
        == "results/rl/hopper/paper/bcq-sp95-1/scores.csv"
    )
    runs = 5 * (10 + 1 + 2 + 2 * 4)  # of this job
    cost = job_cost(paper, sources, "rl_train", TASK)
    update = update_work(BCQ, PAPER, "halfcheetah", 100, masked=True)
    assert cost.work["tf32"].operations == 1_000_000 * runs * update.operations
    # 20 evaluations of BCQ and BC, 10 episodes of 1000 steps, at the measured rate.
    assert cost.cpu_seconds == pytest.approx(runs * 20 * 2 * 10 * 1000 / 18_000)
    assert cost.disk == pytest.approx(runs * 1_581_638 * (4 + 1 / 8))  # and the masks


def test_downloads_are_as_large_as_the_sources_say(paper, sources):
    cost = job_cost(paper, sources, "rl_download", {"task": "hopper", "quality": ""})
    assert (cost.download, cost.about) == (152_427_435, False)


def test_rules_that_cost_nothing_to_speak_of_cost_nothing(paper, sources):
    assert job_cost(paper, sources, "rl_figure1", {}).disk == 0
