"""A training's files: checkpoints, losses and samples, and the network chosen on crops held out."""

import dataclasses
import math
from itertools import pairwise

import pandas as pd
import pytest
import style_training_job as job
import torch
from PIL import Image
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import initial_network, load_network
from triptych.style.network.training import Kept, Trained, train
from triptych.style.network.training_files import (
    MOST_SHOWN,
    select,
    shown_batches,
    validation_losses,
    write_training,
)

CPU = torch.device("cpu")
PLAIN = Architecture(4, "nearest", blocks=(0,))
SMALL = dataclasses.replace(PLAIN, palette=True)
RECORD = {"painting": "swirls", "variant": "plain", "training": {"batches": 7}}
LOSS = job.loss()


class Crops(job.Noise):
    validation = range(40, 47)

    def __init__(self):
        self.asked = []

    def batch(self, indices):
        indices = list(indices)
        self.asked += indices
        return super().batch(indices)


def weights(seed, scale=1.0):
    torch.manual_seed(seed)
    state = TransformationNetwork(PLAIN).state_dict()
    state["deconv3.conv2d.weight"] *= scale
    return state


def trained(checkpoints):
    """What a training leaves whose checkpoints hold these weights."""
    kept = {batches: Kept(values, torch.empty(0)) for batches, values in checkpoints.items()}
    return Trained(kept, pd.DataFrame())


def test_the_chosen_network_is_its_checkpoint_and_says_so(tmp_path):
    chosen = dataclasses.replace(job.TRAINING, batches=7, checkpoint_every=3, log_every=2)
    checkpoint = Checkpoint(tmp_path / "checkpoint", "x")
    network = initial_network(SMALL, chosen.seed)
    ended = train(network, LOSS, Crops(), chosen, CPU, checkpoint, Never())
    assert list(ended.checkpoints) == [3, 6, 7]
    names = ("n.safetensors", "selection.csv", "losses.csv", "samples.png")
    written, selection, losses, samples = (tmp_path / name for name in names)
    table = select(ended, SMALL, LOSS, Crops(), 2, "float32", CPU)
    files = {"network": written, "selection": selection, "losses": losses, "samples": samples}
    write_training(ended, SMALL, table, RECORD, **files)
    network, record = load_network(written)
    kept = ended.checkpoints[record["batches"]].weights
    assert all(torch.equal(value, kept[name]) for name, value in network.state_dict().items())
    assert record["training"] == {"batches": 7}
    table = pd.read_csv(selection)
    columns = ["painting", "variant", "batch", "content", "style", "total", "chosen"]
    assert table.columns.tolist() == columns
    assert record["validation"]["total"] == pytest.approx(table["total"].min())
    assert table["batch"][table["chosen"]].item() == record["batches"]
    assert pd.read_csv(losses)["batch"].tolist() == [2, 4, 6, 7]
    assert Image.open(samples).format == "PNG"


def test_the_checkpoint_of_the_lowest_total_is_chosen():
    crops = Crops()
    checkpoints = {20: weights(0, 300.0), 10: weights(1), 30: weights(2, 100.0)}
    table = select(trained(checkpoints), PLAIN, LOSS, crops, 4, "float32", CPU)
    assert table.columns.tolist() == ["batch", "content", "style", "total", "chosen"]
    assert table["batch"].tolist() == [10, 20, 30]
    lowest = table.loc[table["total"].idxmin(), "batch"]
    assert table["batch"][table["chosen"]].tolist() == [lowest]
    assert set(crops.asked) == set(range(40, 47))


def test_a_checkpoint_that_is_not_finite_is_never_chosen():
    checkpoints = {10: weights(0, math.nan), 20: weights(1)}
    table = select(trained(checkpoints), PLAIN, LOSS, Crops(), 4, "float32", CPU)
    assert table["batch"][table["chosen"]].tolist() == [20]
    with pytest.raises(InputError, match="none of the 1 checkpoints"):
        select(trained({10: weights(0, math.nan)}), PLAIN, LOSS, Crops(), 4, "float32", CPU)


def test_validation_losses_are_means_over_all_crops_whatever_the_batch():
    network = TransformationNetwork(PLAIN)
    network.load_state_dict(weights(0))
    one, several = (
        validation_losses(network, LOSS, Crops(), batch, "float32", CPU) for batch in (1, 3)
    )
    images = Crops().batch(range(40, 47)).float() / 255
    with torch.no_grad():
        terms = LOSS.terms(images, network(images))
    assert one == pytest.approx(several, rel=1e-5)
    assert one["content"] == pytest.approx(terms["content"].item(), rel=1e-5)
    assert one["total"] == pytest.approx(sum(terms.values()).item(), rel=1e-5)


def test_of_many_checkpoints_some_are_shown_and_the_chosen_one():
    shown = shown_batches(range(500, 30_001, 500), 10_500)
    assert len(shown) <= MOST_SHOWN + 1 and {500, 10_500, 30_000} <= {*shown}
    assert max(after - before for before, after in pairwise(shown)) <= 3000
    assert shown_batches([20, 40, 60], 40) == [20, 40, 60]
