"""A training's files: all checkpoints, the losses, the sheets, and the chosen network."""

import dataclasses

import pandas as pd
import pytest
import style_training_job as job
import torch
from PIL import Image
from safetensors import safe_open
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.style.backbones.backbone import save_backbone
from triptych.style.feedforward.network import Architecture
from triptych.style.feedforward.network_files import load_network, save_network
from triptych.style.feedforward.perceptual import PerceptualLoss
from triptych.style.feedforward.training import initial_network, train
from triptych.style.feedforward.training_files import (
    Style,
    read_checkpoints,
    read_loss,
    select_network,
    write_training,
)
from triptych.style.images import write_image

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,), palette=True)
STYLE = Style("swirls", "plain")
RECORD = {"origin": "trained in this run", "training": {"batches": 7}}


class Crops(job.Noise):
    held_out = range(40, 43)


@pytest.fixture(scope="module")
def loss():
    losses = dataclasses.replace(job.LOSSES, temporal_weight=0.0)
    return PerceptualLoss(job.random_backbone(), losses, [job.painting()])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, loss):
    folder = tmp_path_factory.mktemp("network")
    chosen = dataclasses.replace(job.TRAINING, batches=7, checkpoint_every=3, log_every=2)
    checkpoint = Checkpoint(folder / "checkpoint", "x")
    network = initial_network(SMALL, chosen.seed)
    trained = train(network, loss, Crops(), chosen, CPU, checkpoint, Never())
    write_training(
        trained,
        SMALL,
        STYLE,
        RECORD,
        weights=folder / "weights.safetensors",
        losses=folder / "losses.csv",
        samples=folder / "samples.png",
    )
    return folder


def select(folder, loss, target):
    return select_network(
        read_checkpoints(folder / "weights.safetensors"),
        loss,
        Crops(),
        torch.rand(3, 30, 41, generator=torch.Generator().manual_seed(0)),
        2,
        "float32",
        CPU,
        network=target / "network.safetensors",
        selection=target / "selection.csv",
        sheet=target / "checkpoints.png",
    )


def test_all_checkpoints_are_in_one_file_under_their_batches(folder):
    with safe_open(folder / "weights.safetensors", "pt") as file:
        keys = set(file.keys())
        assert list(file.metadata()) == ["training"]
    assert {"000003/conv1.conv2d.weight", "000006/in5.bias", "000007/res1.in2.bias"} <= keys
    checkpoints = read_checkpoints(folder / "weights.safetensors")
    assert sorted(checkpoints.weights) == [3, 6, 7]
    assert checkpoints.architecture == SMALL
    assert checkpoints.record == {"painting": "swirls", "variant": "plain", **RECORD}


def test_the_losses_are_tidy(folder):
    losses = pd.read_csv(folder / "losses.csv")
    assert losses.columns[:3].tolist() == ["painting", "variant", "batch"]
    assert losses["batch"].tolist() == [2, 4, 6, 7]
    terms = ["content", "style", "total_variation", "temporal", "gamut"]
    pd.testing.assert_series_equal(
        losses[terms].sum(axis=1), losses["total"], check_names=False, rtol=1e-6
    )


def test_the_samples_are_pairs(folder):
    with Image.open(folder / "samples.png") as sheet:
        assert sheet.width > 2 * 40  # two columns of two images of 20 pixels


def test_the_chosen_network_is_its_checkpoint_and_says_so(folder, loss, tmp_path):
    selection = select(folder, loss, tmp_path)
    network, record = load_network(tmp_path / "network.safetensors")
    weights = read_checkpoints(folder / "weights.safetensors").weights[selection.chosen]
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert record["batches"] == selection.chosen
    assert record["origin"] == "trained in this run"
    table = pd.read_csv(tmp_path / "selection.csv")
    assert table.columns.tolist() == [
        "painting",
        "variant",
        "batch",
        "content",
        "style",
        "total",
        "chosen",
    ]
    assert record["held_out"]["total"] == pytest.approx(table["total"].min())
    assert table["batch"][table["chosen"]].item() == selection.chosen
    with Image.open(tmp_path / "checkpoints.png") as sheet:
        assert sheet.width > 2 * 41


def test_choosing_again_gives_the_same_bytes(folder, loss, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        select(folder, loss, tmp_path / name)
    for name in ("network.safetensors", "selection.csv", "checkpoints.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_loss_is_read_from_files(tmp_path):
    save_backbone(
        tmp_path / "b.safetensors", job.random_backbone(), weights="random", origin={"seed": 0}
    )
    write_image(tmp_path / "p.png", torch.rand(3, 40, 60))
    full, small = (
        read_loss(tmp_path / "b.safetensors", "max", [tmp_path / "p.png"], size, job.LOSSES, CPU)
        for size in (None, 20)
    )
    assert full.paintings[0].shape == (3, 40, 60)
    assert small.paintings[0].shape == (3, 20, 30)


def test_another_file_is_not_a_trainings_weights(tmp_path):
    from triptych.style.feedforward.network import TransformationNetwork

    save_network(tmp_path / "n.safetensors", TransformationNetwork(SMALL), {})
    with pytest.raises(InputError, match="no metadata 'training'"):
        read_checkpoints(tmp_path / "n.safetensors")
    (tmp_path / "t.safetensors").write_text("text")
    with pytest.raises(InputError, match="cannot be read"):
        read_checkpoints(tmp_path / "t.safetensors")
    with pytest.raises(InputError, match="cannot be read"):
        read_checkpoints(tmp_path / "absent.safetensors")
