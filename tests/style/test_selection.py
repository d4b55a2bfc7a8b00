"""Choosing a checkpoint on crops that training never saw, and the sheets that show it."""

import math

import numpy as np
import pandas as pd
import pytest
import style_training_job as job
import torch
from PIL import Image

from triptych.core.errors import InputError
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import PerceptualLoss
from triptych.style.feedforward.selection import held_out_losses, select, through_checkpoints
from triptych.style.feedforward.sheets import columns_for, contact_sheet, write_sheet

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,))


class Crops(job.Noise):
    held_out = range(40, 47)

    def __init__(self):
        self.asked = []

    def batch(self, indices):
        indices = list(indices)
        self.asked += indices
        return super().batch(indices)


class NothingHeldOut(job.Noise):
    held_out = range(40, 40)


@pytest.fixture(scope="module")
def loss():
    return PerceptualLoss(job.random_backbone(), job.LOSSES, [job.painting()])


def weights(seed, scale=1.0):
    torch.manual_seed(seed)
    state = TransformationNetwork(SMALL).state_dict()
    state["deconv3.conv2d.weight"] *= scale
    return state


def test_held_out_losses_are_means_over_all_crops_whatever_the_batch(loss):
    network = TransformationNetwork(SMALL)
    network.load_state_dict(weights(0))
    one, several = (
        held_out_losses(network, loss, Crops(), batch, "float32", CPU) for batch in (1, 3)
    )
    images = Crops().batch(range(40, 47)).float() / 255
    with torch.no_grad():
        terms = loss.terms(images, network(images))
    assert one == pytest.approx(several, rel=1e-5)
    assert one["content"] == pytest.approx(terms["content"].item(), rel=1e-5)
    assert one["total"] == pytest.approx(sum(terms.values()).item(), rel=1e-5)


def test_the_checkpoint_of_the_lowest_total_is_chosen(loss):
    crops = Crops()
    checkpoints = {20: weights(0, 300.0), 10: weights(1), 30: weights(2, 100.0)}
    selection = select(checkpoints, SMALL, loss, crops, 4, "float32", CPU)
    table = selection.losses
    assert table.columns.tolist() == ["batch", "content", "style", "total", "chosen"]
    assert table["batch"].tolist() == [10, 20, 30]
    assert selection.chosen == table.loc[table["total"].idxmin(), "batch"]
    assert table["batch"][table["chosen"]].tolist() == [selection.chosen]
    assert set(crops.asked) == set(range(40, 47))


def test_a_checkpoint_that_is_not_finite_is_never_chosen(loss):
    checkpoints = {10: weights(0, math.nan), 20: weights(1)}
    assert select(checkpoints, SMALL, loss, Crops(), 4, "float32", CPU).chosen == 20
    with pytest.raises(InputError, match="none of the 1 checkpoints"):
        select({10: weights(0, math.nan)}, SMALL, loss, Crops(), 4, "float32", CPU)


def test_of_equal_checkpoints_the_earlier_one_is_chosen(loss):
    checkpoints = {20: weights(1), 10: weights(1)}
    assert select(checkpoints, SMALL, loss, Crops(), 4, "float32", CPU).chosen == 10


def test_without_held_out_crops_there_is_nothing_to_choose_by(loss):
    with pytest.raises(InputError, match="no crops are held out"):
        select({10: weights(0)}, SMALL, loss, NothingHeldOut(), 4, "float32", CPU)


def test_an_image_goes_through_the_checkpoints_in_order():
    image = torch.rand(3, 21, 30)
    first, second = through_checkpoints({20: weights(1), 10: weights(0)}, SMALL, image)
    network = TransformationNetwork(SMALL)
    network.load_state_dict(weights(0))
    with torch.no_grad():
        expected = network(image[None])[0].clamp(0, 1) * 255
    assert first.dtype == torch.uint8
    assert (first - expected).abs().max() <= 0.51
    assert not torch.equal(first, second)


def pixels(sheet):
    return np.asarray(sheet).astype(int)


def test_a_sheet_shows_every_image_and_marks_the_chosen_one():
    images = [torch.full((3, 20, 30), value, dtype=torch.uint8) for value in (10, 90, 170)]
    plain = contact_sheet(images, ["a", "b", "c"], columns=2)
    marked = contact_sheet(images, ["a", "b", "c"], columns=2, marked=1)
    for value in (10, 90, 170):
        assert (pixels(plain) == value).all(2).sum() >= 600
        assert (pixels(marked) == value).all(2).sum() >= 600
    changed = np.argwhere((pixels(plain) != pixels(marked)).any(2))
    assert changed[:, 1].min() > 30  # only the second column
    assert changed[:, 0].max() < plain.height / 2  # only the first row


def test_images_of_several_sizes_share_a_sheet(tmp_path):
    images = [torch.zeros(3, 20, 30, dtype=torch.uint8), torch.zeros(3, 40, 10, dtype=torch.uint8)]
    sheet = contact_sheet(images, ["wide", "tall"], columns=8)
    write_sheet(tmp_path / "sheet.png", sheet)
    with Image.open(tmp_path / "sheet.png") as stored:
        assert stored.size == sheet.size
        assert stored.size[0] > 60
        assert stored.size[1] > 40


def test_a_sheet_needs_a_caption_for_each_image():
    with pytest.raises(InputError, match="1 images and 2 captions"):
        contact_sheet([torch.zeros(3, 9, 9, dtype=torch.uint8)], ["a", "b"], 2)
    with pytest.raises(InputError, match="at least one"):
        contact_sheet([], [], 2)


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 2), (9, 3), (60, 8), (400, 8)])
def test_sheets_are_about_square_and_not_too_wide(count, columns):
    assert columns_for(count) == columns


def test_the_table_is_plain_data(loss):
    table = select({10: weights(0)}, SMALL, loss, Crops(), 4, "float32", CPU).losses
    assert pd.api.types.is_bool_dtype(table["chosen"])
    assert pd.api.types.is_integer_dtype(table["batch"])


def test_wide_images_stand_in_fewer_columns():
    assert columns_for(15, aspect=8) == 1
    assert columns_for(18, aspect=2) == 3
