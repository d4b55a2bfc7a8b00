"""A short training of a transformation network as a process of its own, to be killed by tests."""

import logging
import sys
from pathlib import Path

import torch
from random_networks import backbone
from safetensors.torch import save_file

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped, StopRequest
from triptych.style.network.architecture import Architecture
from triptych.style.network.network_files import initial_network
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.network.training import train
from triptych.style.network.training_data import TrainingSettings


class Noise:
    """40 crops of 24 pixels and 4 held out, each a function of its number."""

    training = range(40)
    validation = range(40, 44)

    def batch(self, indices):
        def crop(index):
            generator = torch.Generator().manual_seed(index)
            return torch.randint(0, 256, (3, 24, 24), generator=generator, dtype=torch.uint8)

        return torch.stack([crop(index) for index in indices])


def painting():
    return torch.rand(3, 30, 20, generator=torch.Generator().manual_seed(9))


LOSSES = LossSettings(
    content_layers=("relu2_2",),
    style_layers=("relu1_2", "relu2_2"),
    scaling="relative",
    content_weight=0.3,
    style_weight=1.0,
    total_variation_weight=0.1,
)

TRAINING = TrainingSettings(
    batches=48,
    batch=3,
    size=20,
    learning_rate=3e-3,
    schedule="one_cycle",
    flips=True,
    checkpoint_every=8,
    log_every=4,
    precision="float32",
    seed=5,
)


def loss():
    return PerceptualLoss(backbone("vgg16"), LOSSES, [painting()])


def main(folder, stop):
    trained = train(
        initial_network(Architecture(4, "nearest", blocks=(0,)), TRAINING.seed),
        loss(),
        Noise(),
        TRAINING,
        torch.device("cpu"),
        Checkpoint(folder / "checkpoint", "fixed"),
        stop,
    )
    tensors = {
        f"{batches}/{name}": value
        for batches, kept in trained.checkpoints.items()
        for name, value in {**kept.weights, "sample": kept.sample}.items()
    }
    save_file(tensors, folder / "weights.safetensors")
    trained.losses.drop(columns="seconds").to_csv(folder / "losses.csv", index=False)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.INFO)
    torch.set_num_threads(1)
    try:
        main(Path(sys.argv[1]), StopRequest())
    except Stopped as stopped:
        print(stopped)
        raise
