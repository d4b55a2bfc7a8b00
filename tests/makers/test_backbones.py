"""Backbones from photographs: folding, loss, views, resuming."""

import numpy as np
import pytest
import torch
from PIL import Image
from stops import StopAfter

from makers.backbones.pretraining import MEAN, STD, PretrainingSettings, Trainee, pretrain
from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.backbone import Backbone

CPU = torch.device("cpu")
TOY = PretrainingSettings(
    **dict(steps=7, batch=4, view=32, contrast_at=("relu3_2", "relu5_1"), precision="float32"),
    **dict(learning_rate=1e-3, weight_decay=1e-4, temperature=0.2),
    **dict(seed=0, log_every=3, checkpoint_every=2),
)


def painted(seed, width=130, height=110):
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (12, 14, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def photographs():
    return {"one": painted(1), "two": painted(2, 150, 120)}


@pytest.mark.parametrize("name", ["narrow_vgg", "narrow_alexnet"])
def test_the_folded_network_equals_the_one_in_evaluation_mode(name):
    architecture = ARCHITECTURES[name]
    generator = torch.Generator().manual_seed(0)
    trainee = Trainee(architecture, (), generator).double()
    images = torch.rand(4, 3, 64, 64, generator=generator, dtype=torch.float64)
    for norm in trainee.norms.values():  # away from the values they start with
        torch.nn.init.uniform_(norm.weight, 0.5, 2, generator=generator)
        torch.nn.init.normal_(norm.bias, generator=generator)
    for _ in range(5):
        trainee.activations(images)
    trainee.eval()
    backbone = Backbone(architecture, trainee.folded(), mean=MEAN, std=STD, pooling="average")
    expected = trainee.activations(images)
    found = backbone(images, list(expected))
    for layer, activation in expected.items():
        torch.testing.assert_close(found[layer], activation, rtol=1e-9, atol=1e-9)


def test_an_interrupted_run_equals_an_unbroken_one_to_the_bit(tmp_path, photographs):
    def run(folder, stop):
        checkpoint = Checkpoint(tmp_path / folder, "fingerprint")
        return pretrain(ARCHITECTURES["narrow_vgg"], photographs, TOY, CPU, checkpoint, stop)

    unbroken = run("unbroken", StopAfter(100))
    for _ in range(3):
        with pytest.raises(Stopped):
            run("broken", StopAfter(1))  # two steps an attempt
    resumed = run("broken", StopAfter(100))
    assert unbroken.log["step"].tolist() == [3, 6, 7]
    columns = ["step", "loss", "pair_found_percent"]
    assert unbroken.log[columns].equals(resumed.log[columns])
    for key, value in unbroken.backbone.weights.items():
        assert torch.equal(value, resumed.backbone.weights[key]), key
