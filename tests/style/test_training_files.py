"""A training's files: all checkpoints, the losses, the sheets, and the chosen network."""

import dataclasses

import pandas as pd
import pytest
import style_training_job as job
import torch
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.style.network.network import Architecture
from triptych.style.network.network_files import load_network
from triptych.style.network.perceptual import PerceptualLoss
from triptych.style.network.training import initial_network, train
from triptych.style.network.training_files import (
    read_checkpoints,
    select_network,
    write_training,
)

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,), palette=True)
RECORD = {
    "painting": "swirls",
    "variant": "plain",
    "origin": "trained in this run",
    "training": {"batches": 7},
}


class Crops(job.Noise):
    validation = range(40, 43)


@pytest.fixture(scope="module")
def loss():
    return PerceptualLoss(job.random_backbone(), job.LOSSES, [job.painting()])


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
        RECORD,
        weights=folder / "weights.safetensors",
        losses=folder / "losses.csv",
        samples=folder / "samples.png",
    )
    return folder


def select(folder, loss, target):
    select_network(
        read_checkpoints(folder / "weights.safetensors"),
        loss,
        Crops(),
        2,
        "float32",
        CPU,
        network=target / "network.safetensors",
        selection=target / "selection.csv",
    )


def test_the_chosen_network_is_its_checkpoint_and_says_so(folder, loss, tmp_path):
    select(folder, loss, tmp_path)
    network, record = load_network(tmp_path / "network.safetensors")
    weights = read_checkpoints(folder / "weights.safetensors").weights[record["batches"]]
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert record["training"] == {"batches": 7}
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
    assert record["validation"]["total"] == pytest.approx(table["total"].min())
    assert table["batch"][table["chosen"]].item() == record["batches"]
