"""A picture shows a training while it runs, and again when it goes on."""

import pandas as pd
import pytest
import torch
from PIL import Image
from stacks import BC, BCQ, CPU, STEPS, random_masks, stack
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.networks.sampling import DeviceData
from triptych.rl.pruning.stack import PrunedStack
from triptych.rl.tasks.task import task_named
from triptych.rl.training.curves import draw_curves
from triptych.rl.training.train import TrainingSettings, train


def test_scores_so_far_are_a_picture_that_a_resumed_training_draws_again(
    tmp_path, narrow, transitions
):
    about = {"task": "hopper", "observations": "raw", "pruning": "default", "seed": 0}
    rows = pd.DataFrame(
        [
            about | {"method": method, "sparsity_percent": level}
            for method, level in (("dense", 0), ("snip", 95))
        ]
    )
    parameters = stack(BCQ, narrow, [0, 0], torch.float32)
    masks = {name: mask.numpy() for name, mask in random_masks(parameters, 0.05).items()}
    settings = TrainingSettings(
        algorithms=(BCQ, BC),
        steps=STEPS,
        evaluation=EvaluationSettings(1, 1, candidates=2, seed=0, task=task_named("hopper")),
        updates=40,
        evaluate_every=20,
        checkpoint_every=20,
        precision="float32",
    )
    picture, drawn = tmp_path / "curves.png", []

    def show(scores, losses):
        draw_curves(scores, picture)
        drawn.append((sorted(set(scores["update"])), Image.open(picture).size))

    def run(stop):
        data = DeviceData(transitions, CPU, torch.float32)
        pruned = PrunedStack(rows, "narrow", BCQ, [], parameters, masks)
        train(pruned, data, settings, Checkpoint(tmp_path / "state", "x"), stop, show)

    class AfterTheFirstPicture:
        @property
        def reason(self):
            return "SIGTERM" if drawn else None

    with pytest.raises(Stopped):
        run(AfterTheFirstPicture())
    picture.unlink()  # as Snakemake deletes it before another attempt
    run(Never())
    assert [updates for updates, _ in drawn] == [[20], [20], [20, 40]]
    assert all(width > 400 and height > 200 for _, (width, height) in drawn)
    assert {path.name for path in tmp_path.iterdir()} == {"curves.png", "state"}
