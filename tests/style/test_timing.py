"""Timings count what they say."""

import pytest
import random_networks
import torch

from triptych.style.measures.timing import loss_times, optimisation_times
from triptych.style.optimise.presets import preset

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def backbone():
    return random_networks.backbone("narrow_alexnet")


def images(count, side=96):
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(1))


def test_every_image_size_and_backbone_is_timed_in_batches(backbone):
    choices = preset("tuned", "narrow_alexnet", pooling="max")
    table = optimisation_times(
        images(3), images(1)[0], {"alexnet": (backbone, choices)}, [64, 80], 2, 700, 2, "ours", CPU
    )
    assert set(table["evaluations_done"]) == {2}
    assert table.groupby("size")["image"].apply(sorted).to_dict() == {64: [0, 1, 2], 80: [0, 1, 2]}
    assert table["batch"].tolist() == [2, 2, 1] * 2
    assert set(table["evaluations"]) == {2}
    assert set(table["evaluations_stated"]) == {700}
    assert (table["seconds"] > 0).all()


def test_every_repeat_times_all_content_losses(backbone):
    choices = preset("tuned", "narrow_alexnet", pooling="max")
    table = loss_times(images(1), images(1), backbone, choices, 2, 3, CPU)
    per_repeat = table.groupby("repeat")["content_loss"].apply(sorted)
    assert per_repeat.tolist() == [["huber", "l1", "mse", "smooth_l1"]] * 3
