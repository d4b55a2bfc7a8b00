"""Timings count what they say."""

import pandas as pd
import pytest
import torch

from triptych.style.data.backbone import ARCHITECTURES, Backbone
from triptych.style.measures.timing import loss_times, network_times, optimisation_times
from triptych.style.optimise.presets import preset
from triptych.style.report.runs import target_times

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def backbone():
    torch.manual_seed(0)
    architecture = ARCHITECTURES["narrow_alexnet"]
    weights = {key: 0.1 * torch.randn(shape) for key, shape in architecture.shapes().items()}
    return Backbone(architecture, weights, mean=(0.5,) * 3, std=(0.2,) * 3, pooling="max")


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


def test_a_network_is_timed_one_image_at_a_time_after_a_warm_up():
    seen = []
    table = network_times(images(2), lambda x: seen.append(tuple(x.shape)), [64], 3, "bf16", CPU)
    assert len(table) == 6
    assert seen == [(1, 3, 64, 64)] * 7


def test_every_repeat_times_all_content_losses(backbone):
    choices = preset("tuned", "narrow_alexnet", pooling="max")
    table = loss_times(images(1), images(1), backbone, choices, 2, 3, CPU)
    per_repeat = table.groupby("repeat")["content_loss"].apply(sorted)
    assert per_repeat.tolist() == [["huber", "l1", "mse", "smooth_l1"]] * 3


def test_a_target_is_reached_where_the_loss_first_falls_to_it():
    run = {"experiment": "e", "run": "r", "backbone": "vgg", "optimizer": "adam"}
    runs = pd.DataFrame([run | {"rates": "tuned", "size": 64, "device": "cpu"}])
    history = pd.DataFrame(
        {
            "run": "r",
            "evaluation": [1, 2, 3, 4],
            "total": [8.0, 4.0, 5.0, 1.0],
            "seconds": [0.1, 0.2, 0.3, 0.4],
        }
    )
    table = target_times([history], [runs], [0.5, 0.1])
    assert table["reached"].tolist() == [True, False]
    assert table["seconds"].tolist()[0] == 0.2
    assert table["evaluations"].tolist()[0] == 2
