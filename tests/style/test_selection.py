"""Choosing a checkpoint on crops that training never saw, and the sheets that show it."""

import math

import pytest
import style_training_job as job
import torch

from triptych.core.errors import InputError
from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.network.perceptual import PerceptualLoss
from triptych.style.network.training_files import (
    Checkpoints,
    select,
    validation_losses,
)

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,))


class Crops(job.Noise):
    validation = range(40, 47)

    def __init__(self):
        self.asked = []

    def batch(self, indices):
        indices = list(indices)
        self.asked += indices
        return super().batch(indices)


@pytest.fixture(scope="module")
def loss():
    return PerceptualLoss(job.random_backbone(), job.LOSSES, [job.painting()])


def weights(seed, scale=1.0):
    torch.manual_seed(seed)
    state = TransformationNetwork(SMALL).state_dict()
    state["deconv3.conv2d.weight"] *= scale
    return state


def test_the_checkpoint_of_the_lowest_total_is_chosen(loss):
    crops = Crops()
    checkpoints = {20: weights(0, 300.0), 10: weights(1), 30: weights(2, 100.0)}
    table = select(Checkpoints(checkpoints, SMALL, {}), loss, crops, 4, "float32", CPU)
    assert table.columns.tolist() == ["batch", "content", "style", "total", "chosen"]
    assert table["batch"].tolist() == [10, 20, 30]
    lowest = table.loc[table["total"].idxmin(), "batch"]
    assert table["batch"][table["chosen"]].tolist() == [lowest]
    assert set(crops.asked) == set(range(40, 47))


def test_a_checkpoint_that_is_not_finite_is_never_chosen(loss):
    checkpoints = {10: weights(0, math.nan), 20: weights(1)}
    table = select(Checkpoints(checkpoints, SMALL, {}), loss, Crops(), 4, "float32", CPU)
    assert table["batch"][table["chosen"]].tolist() == [20]
    with pytest.raises(InputError, match="none of the 1 checkpoints"):
        select(Checkpoints({10: weights(0, math.nan)}, SMALL, {}), loss, Crops(), 4, "float32", CPU)


def test_validation_losses_are_means_over_all_crops_whatever_the_batch(loss):
    network = TransformationNetwork(SMALL)
    network.load_state_dict(weights(0))
    one, several = (
        validation_losses(network, loss, Crops(), batch, "float32", CPU) for batch in (1, 3)
    )
    images = Crops().batch(range(40, 47)).float() / 255
    with torch.no_grad():
        terms = loss.terms(images, network(images))
    assert one == pytest.approx(several, rel=1e-5)
    assert one["content"] == pytest.approx(terms["content"].item(), rel=1e-5)
    assert one["total"] == pytest.approx(sum(terms.values()).item(), rel=1e-5)
