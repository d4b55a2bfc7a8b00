"""A picture shows a training while it runs, and again when it goes on."""

import pytest
import torch
from PIL import Image
from stacks import BCQ, random_masks, runs, stack, train_bcq

from triptych.core.stopping import Stopped
from triptych.rl.training.curves import draw_curves


def test_scores_so_far_are_a_picture_that_a_resumed_training_draws_again(
    tmp_path, narrow, transitions
):
    parameters = stack(BCQ, narrow, [0, 0], torch.float32)
    masks = random_masks(parameters, 0.05)
    picture, drawn = tmp_path / "curves.png", []

    def show(scores, losses):
        draw_curves(scores, picture)
        drawn.append((sorted(set(scores["update"])), Image.open(picture).size))

    class AfterTheFirstPicture:
        @property
        def reason(self):
            return "SIGTERM" if drawn else None

    made = tmp_path / "state", runs(("dense", 0, 0), ("snip", 95, 0)), parameters, masks
    with pytest.raises(Stopped):
        train_bcq(*made, transitions, AfterTheFirstPicture(), show)
    picture.unlink()  # as Snakemake deletes it before another attempt
    train_bcq(*made, transitions, show=show)
    assert [updates for updates, _ in drawn] == [[10], [10], [10, 20]]
    assert all(width > 400 and height > 200 for _, (width, height) in drawn)
    assert {path.name for path in tmp_path.iterdir()} == {"curves.png", "state"}
