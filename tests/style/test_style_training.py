"""Training: resuming after a kill, the order of batches, rates."""

import dataclasses
import math
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
import style_training_job as job
import torch
from broken_runs import start, wait_for_checkpoint
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.stopping import SAVED_EXIT_CODE
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import PerceptualLoss
from triptych.style.feedforward.training import (
    initial_network,
    learning_rate,
    train,
)
from triptych.style.feedforward.training_data import TrainingSettings, batch_indices, load_batch

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,))
RUNNER = Path(job.__file__)


def settings(**changes):
    return dataclasses.replace(job.TRAINING, **changes)


def default_loss():
    return PerceptualLoss(job.random_backbone(), job.LOSSES, [job.painting()])


def run(folder, loss=None, chosen=None, architecture=SMALL, crops=None, stop=None):
    chosen, loss = chosen or settings(batches=4), loss or default_loss()
    architecture = dataclasses.replace(architecture, styles=len(loss.paintings))
    return train(
        initial_network(architecture, chosen.seed),
        loss,
        crops or job.Noise(),
        chosen,
        CPU,
        Checkpoint(folder, "x"),
        stop or Never(),
    )


def files(folder):
    return {name: (folder / name).read_bytes() for name in ("weights.safetensors", "losses.csv")}


@pytest.mark.slow
def test_a_run_that_is_killed_and_then_stopped_ends_with_an_unbroken_runs_bytes(tmp_path):
    folder, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    folder.mkdir()
    unbroken.mkdir()
    process = start(RUNNER, folder)
    wait_for_checkpoint(folder, process, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    process = start(RUNNER, folder)
    wait_for_checkpoint(folder, process, 2)
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0]
    assert time.monotonic() - asked < 10
    assert process.returncode == SAVED_EXIT_CODE, output
    assert "resuming at batch" in output

    process = start(RUNNER, folder)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 0, output
    assert "resuming at batch" in output
    job.main(unbroken, Never())
    assert files(folder) == files(unbroken)


def test_the_update_is_adams_on_the_sum_of_the_terms(tmp_path):
    chosen = settings(batches=3, schedule="constant", log_every=1)
    trained = run(tmp_path, chosen=chosen)
    network = initial_network(SMALL, chosen.seed)
    loss = PerceptualLoss(job.random_backbone(), job.LOSSES, [job.painting()])
    adam = torch.optim.Adam(network.parameters(), chosen.learning_rate, foreach=False)
    totals = []
    for number in range(3):
        images = load_batch(job.Noise(), chosen, number).float() / 255
        stylised = network(images)
        disturbed = keyed_generator(CPU, "disturbed", chosen.seed, number)
        total = sum(loss.terms(images, stylised).values()) + loss.temporal(
            network, images, stylised, loss.disturbance(images, disturbed)
        )
        adam.zero_grad()
        total.backward()
        adam.step()
        totals.append(total.item())
    assert trained.losses["total"].tolist() == pytest.approx(totals, rel=1e-5)
    # Compared by what they do: biases in front of an instance norm have no gradient but noise.
    ours = TransformationNetwork(SMALL)
    ours.load_state_dict(trained.checkpoints[3].weights)
    image = load_batch(job.Noise(), chosen, 50) / 255
    torch.testing.assert_close(ours(image), network(image), rtol=0, atol=1e-4)


def test_checkpoints_and_rows_come_at_their_batches_and_at_the_end(tmp_path):
    trained = run(tmp_path, chosen=settings(batches=7, checkpoint_every=3, log_every=2))
    assert list(trained.checkpoints) == [3, 6, 7]
    assert trained.losses["batch"].tolist() == [2, 4, 6, 7]
    assert trained.losses.columns.tolist() == [
        "batch",
        "content",
        "style",
        "total_variation",
        "temporal",
        "total",
        "learning_rate",
        "seconds",
        "gamut",
    ]
    assert trained.losses["seconds"].is_monotonic_increasing


def test_a_sample_shows_a_training_image_beside_its_stylised_version(tmp_path):
    chosen = settings(batches=2)
    kept = run(tmp_path, chosen=chosen).checkpoints[2]
    image = load_batch(job.Noise(), chosen, 1)[0]
    network = TransformationNetwork(SMALL)
    network.load_state_dict(kept.weights)
    with torch.no_grad():
        stylised = network(image[None] / 255)[0].clamp(0, 1)
    assert kept.sample.shape == (3, 20, 40)
    assert torch.equal(kept.sample[..., :20], image)
    assert (kept.sample[..., 20:] - stylised * 255).abs().max() <= 0.51


def test_a_palette_holds_the_paintings_colours_and_is_not_trained(tmp_path):
    architecture = Architecture(4, "nearest", blocks=(0,), palette=True)
    weights = run(tmp_path, chosen=settings(batches=3), architecture=architecture).checkpoints[3]
    colours = job.painting().flatten(1)
    matrix, offset = weights.weights["palette.matrix"], weights.weights["palette.offset"]
    torch.testing.assert_close(offset, colours.mean(1))
    covariance = torch.cov(colours, correction=0)
    torch.testing.assert_close(matrix @ matrix.mT, covariance, rtol=1e-3, atol=2e-6)


def test_every_crop_is_seen_once_an_epoch_and_the_order_changes():
    epochs = [[batch_indices(11, 3, 0, epoch * 3 + n) for n in range(3)] for epoch in range(2)]
    for epoch in epochs:
        counts = Counter(index for batch in epoch for index in batch)
        assert len(counts) == 9
        assert set(counts.values()) == {1}
        assert set(counts) <= set(range(11))
    assert epochs[0] != epochs[1]
    assert batch_indices(11, 3, 1, 0) != epochs[0][0]


class Ramps:
    """Crops whose pixels tell their row and column, and the crop's number; 10 to train on."""

    training = range(5, 15)

    def __init__(self):
        self.asked = []

    def batch(self, indices):
        indices = list(indices)
        self.asked += indices
        rows, columns = torch.meshgrid(torch.arange(12), torch.arange(12), indexing="ij")
        return torch.stack(
            [torch.stack([rows, columns, torch.full((12, 12), i)]).byte() for i in indices]
        )


def test_crops_are_cut_within_the_image_and_half_of_them_flipped():
    crops, chosen = Ramps(), settings(batch=4, size=9)
    tops, lefts, flips = set(), set(), 0
    for number in range(60):
        for image in load_batch(crops, chosen, number):
            rows, columns = image[0, :, 0].int(), image[1, 0].int()
            flipped = bool(columns[0] > columns[1])
            assert torch.equal(rows, rows[0] + torch.arange(9).int())
            columns = columns.flip(0) if flipped else columns
            assert torch.equal(columns, columns[0] + torch.arange(9).int())
            tops.add(rows[0].item())
            lefts.add(columns[0].item())
            flips += flipped
    assert tops == lefts == {0, 1, 2, 3}
    assert 90 < flips < 150
    assert set(crops.asked) == set(range(5, 15))


def test_a_batch_is_a_function_of_its_number():
    chosen = settings(batch=4, size=9)
    assert torch.equal(load_batch(Ramps(), chosen, 7), load_batch(Ramps(), chosen, 7))
    assert not torch.equal(load_batch(Ramps(), chosen, 7), load_batch(Ramps(), chosen, 8))


def test_flips_can_be_left_out():
    chosen = settings(batch=4, size=12, flips=False)
    assert all((load_batch(Ramps(), chosen, n)[:, 1].diff(dim=2) > 0).all() for n in range(10))


def test_the_first_weights_depend_on_the_seed_and_on_nothing_else():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = initial_network(SMALL, 3).state_dict()
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    two = initial_network(SMALL, 3).state_dict()
    other = initial_network(SMALL, 4).state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["conv1.conv2d.weight"], other["conv1.conv2d.weight"])


def test_the_one_cycle_rises_for_a_quarter_and_falls_to_almost_nothing():
    chosen = settings(batches=400, learning_rate=0.01)
    rates = [learning_rate(number, chosen) for number in range(400)]
    assert rates.index(max(rates)) == 99
    assert max(rates) == pytest.approx(0.01)
    assert rates[49] == pytest.approx(0.005)
    assert rates[249] == pytest.approx(0.01 * (1 + math.cos(math.pi / 2)) / 2)
    assert rates[-1] == pytest.approx(1e-5)
    constant = settings(schedule="constant", learning_rate=0.01)
    assert {learning_rate(number, constant) for number in range(48)} == {0.01}


def test_bf16_training_lowers_the_loss(tmp_path):
    losses = dataclasses.replace(job.LOSSES, temporal_weight=0.0)
    loss = PerceptualLoss(job.random_backbone(), losses, [job.painting()])
    chosen = settings(batches=40, precision="bf16", log_every=10, learning_rate=0.01)
    history = run(tmp_path, loss, chosen).losses
    assert history["total"].iloc[-1] < 0.8 * history["total"].iloc[0]
    assert (history["temporal"] == 0).all()


def test_too_few_crops_and_too_small_ones_are_told(tmp_path):
    with pytest.raises(InputError, match="40 crops are fewer than one batch of 41"):
        run(tmp_path, chosen=settings(batch=41))
    with pytest.raises(InputError, match="24x24 pixels, smaller than the 32"):
        run(tmp_path, chosen=settings(size=32))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "bf16", "fp16"])
def test_a_gpu_lowers_the_loss_in_every_precision(tmp_path, precision):
    device = torch.device("cuda")
    loss = PerceptualLoss(job.random_backbone().to(device), job.LOSSES, [job.painting().to(device)])
    chosen = settings(batches=40, precision=precision, log_every=10, learning_rate=0.01)
    network, checkpoint = initial_network(SMALL, chosen.seed), Checkpoint(tmp_path, "x")
    trained = train(network, loss, job.Noise(), chosen, device, checkpoint, Never())
    assert trained.losses["total"].iloc[-1] < trained.losses["total"].iloc[0]
    assert isinstance(chosen, TrainingSettings)
