"""What a short training of a transformation network needs."""

import torch
from random_networks import backbone

from triptych.style.network.perceptual import LossSettings, PerceptualLoss
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
