"""Timings count what they say."""

from dataclasses import replace
from functools import partial

import pytest
import random_networks
import torch

from triptych.style.measures.timing import loss_times
from triptych.style.optimise.choices import preset

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def backbone():
    return random_networks.backbone("narrow_alexnet")


def images(count, side=96):
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(1))


def test_every_repeat_times_all_content_losses_and_each_is_first_once(backbone):
    choices = preset("tuned", "narrow_alexnet", pooling="max")
    losses = [replace(choices, content_loss=name) for name in ("l1", "huber", "mse")]
    timed = partial(loss_times, images(1), images(1), backbone, losses, device=CPU)
    table = timed(evaluations=2, repeats=3)
    names = table.groupby("repeat")["content_loss"].apply(list)
    assert all(sorted(each) == ["huber", "l1", "mse"] for each in names)
    assert [each[0] for each in names] == ["l1", "huber", "mse"]
