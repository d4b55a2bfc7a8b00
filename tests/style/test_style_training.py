"""Training: resuming after a stop, the order of batches, rates."""

import dataclasses
from collections import Counter

import pandas as pd
import pytest
import random_networks
import style_training_job as job
import torch
from stops import Never, StopAfter

from triptych.core.checkpoint import Checkpoint
from triptych.core.files import PARTIAL
from triptych.core.stopping import Stopped
from triptych.style.data.colours import colours_of, recoloured
from triptych.style.data.images import read_image, resize, to_bytes
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import initial_network
from triptych.style.network.perceptual import EVEN, PerceptualLoss
from triptych.style.network.training import train
from triptych.style.network.training_data import TrainingSettings, batch_indices, load_batch

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,))


def settings(**changes):
    return dataclasses.replace(job.TRAINING, **changes)


def run(folder, loss=None, chosen=None, architecture=SMALL, crops=None, stop=None, **shown):
    chosen, loss = chosen or settings(batches=4), loss or job.loss()
    architecture = dataclasses.replace(architecture, styles=len(loss.paintings))
    return train(
        initial_network(architecture, chosen.seed),
        loss,
        crops or job.Noise(),
        chosen,
        CPU,
        Checkpoint(folder, "x"),
        stop or Never(),
        **shown,
    )


def test_a_training_that_is_stopped_twice_ends_with_an_unbroken_ones_bits(tmp_path):
    chosen = settings(batches=11, checkpoint_every=4, log_every=3)
    unbroken = run(tmp_path / "unbroken", chosen=chosen)
    for after in (5, 3):
        with pytest.raises(Stopped):
            run(tmp_path / "broken", chosen=chosen, stop=StopAfter(after))
    resumed = run(tmp_path / "broken", chosen=chosen)
    pd.testing.assert_frame_equal(*(t.losses.drop(columns="seconds") for t in (resumed, unbroken)))
    assert list(resumed.checkpoints) == [4, 8, 11]
    for batches, kept in unbroken.checkpoints.items():
        found = resumed.checkpoints[batches]
        assert torch.equal(found.sample, kept.sample)
        assert all(torch.equal(found.weights[name], kept.weights[name]) for name in kept.weights)


def test_equal_threads_give_equal_bits(tmp_path):
    large = settings(batches=2, batch=4, size=24)
    try:
        torch.set_num_threads(2)
        first, second = (run(tmp_path / name, chosen=large).checkpoints[2] for name in "ab")
    finally:
        torch.set_num_threads(1)
    assert all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_the_update_is_adams_on_the_sum_of_the_terms(tmp_path):
    chosen = settings(batches=3, schedule="constant", log_every=1)
    trained = run(tmp_path, chosen=chosen)
    network = initial_network(SMALL, chosen.seed)
    loss = job.loss()
    adam = torch.optim.Adam(network.parameters(), chosen.learning_rate, foreach=False)
    totals = []
    for number in range(3):
        images = load_batch(job.Noise(), chosen, number).float() / 255
        stylised = network(images)
        total = sum(loss.terms(images, stylised).values())
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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "bf16", "fp16"])
def test_a_gpu_lowers_the_loss_in_every_precision(tmp_path, precision):
    device = torch.device("cuda")
    loss = PerceptualLoss(
        random_networks.backbone("vgg16").to(device), job.LOSSES, [job.painting().to(device)]
    )
    chosen = settings(batches=40, precision=precision, log_every=10, learning_rate=0.01)
    network, checkpoint = initial_network(SMALL, chosen.seed), Checkpoint(tmp_path, "x")
    trained = train(network, loss, job.Noise(), chosen, device, checkpoint, Never())
    assert trained.losses["total"].iloc[-1] < trained.losses["total"].iloc[0]
    assert isinstance(chosen, TrainingSettings)


def test_every_checkpoint_is_shown_while_the_training_runs(tmp_path):
    """A training image, its stylised version, and one photograph in each style: with no effect."""
    photograph = torch.rand(3, 40, 60, generator=torch.Generator().manual_seed(4))
    both = PerceptualLoss(
        random_networks.backbone("vgg16"), job.LOSSES, [job.painting(), job.painting().flip(0)]
    )
    seen = []

    class Watching(Never):
        @property
        def reason(self):
            seen.append(sorted(path.name for path in (tmp_path / "shown").glob("*.png")))

    shown = {"photograph": photograph, "pictures": tmp_path / "shown"}
    killed = tmp_path / "shown" / f"{PARTIAL}killed.png"
    killed.parent.mkdir()
    killed.touch()
    chosen = settings(batches=6, checkpoint_every=2)
    made = run(tmp_path / "a", both, chosen, stop=Watching(), **shown).checkpoints
    assert not killed.exists()
    assert ["000002.png"] in seen and ["000002.png", "000004.png"] in seen
    plain = run(tmp_path / "b", both, chosen).checkpoints
    for batches, kept in made.items():
        assert all(torch.equal(kept.weights[n], v) for n, v in plain[batches].weights.items())
        assert torch.equal(kept.sample[..., :40], plain[batches].sample)
        network = TransformationNetwork(dataclasses.replace(SMALL, styles=2))
        network.load_state_dict(kept.weights)
        small = resize(photograph, 20)[None]
        with torch.no_grad():
            styles = [alone(small)[0] for alone in network.alone()]
        expected = to_bytes(torch.cat(styles, 2))
        written = to_bytes(read_image(tmp_path / f"shown/{batches:06d}.png"))
        assert torch.equal(written, kept.sample)
        torch.testing.assert_close(written[..., 40:], expected, rtol=0, atol=1)


def test_a_network_that_warms_up_copies_photographs_in_the_paintings_colours(tmp_path):
    """From chance, against what `colours` gives."""
    architecture = dataclasses.replace(SMALL, palette=True)
    chosen = settings(batches=60, warm_up=60, checkpoint_every=60, learning_rate=0.02)
    weights = run(tmp_path, chosen=chosen, architecture=architecture).checkpoints[60].weights
    images = job.Noise().batch(range(4)).float() / 255
    copies = recoloured(images, colours_of([job.painting()] * 4), EVEN)

    def error(state):
        network = TransformationNetwork(architecture)
        network.load_state_dict(state)
        with torch.no_grad():
            return float((network(images) - copies).square().mean())

    begun = initial_network(architecture, chosen.seed)
    assert begun.palette is not None
    begun.palette.take([job.painting()])
    assert error(weights) < 0.65 * error(begun.state_dict())


def test_a_long_gradient_is_shortened(tmp_path, monkeypatch):
    """Adam's own step hides a gradient's length: what it was given is looked at."""
    norms, step = [], torch.optim.Adam.step

    def seen(optimiser, *given):
        each = [p.grad for group in optimiser.param_groups for p in group["params"]]
        norms.append(float(torch.stack([grad.norm() for grad in each]).norm()))
        return step(optimiser, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", seen)
    run(tmp_path / "free", chosen=settings(batches=3))
    free, short = norms[:], 0.5 * min(norms)
    norms.clear()
    run(tmp_path / "shortened", chosen=settings(batches=3, gradient_norm=short))
    assert min(free) > short and norms == pytest.approx([short] * 3, rel=1e-3)
