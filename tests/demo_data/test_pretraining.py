"""Pretraining on photographs: folding, schedule, loss, views, resuming."""

import numpy as np
import pytest
import torch
from PIL import Image
from stops import StopAfter
from torch.nn import functional

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped
from triptych.demo.pretraining import (
    MEAN,
    STD,
    PretrainingSettings,
    Trainee,
    nt_xent,
    one_cycle,
    pretrain,
)
from triptych.demo.views import Views
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.backbones.backbone import Backbone
from triptych.style.inputs.photographs import embedded_photographs

CPU = torch.device("cpu")
TOY = PretrainingSettings(
    steps=7,
    batch=4,
    view=32,
    contrast_at=("relu3_2", "relu5_1"),
    learning_rate=1e-3,
    weight_decay=1e-4,
    temperature=0.2,
    precision="float32",
    seed=0,
    log_every=3,
    checkpoint_every=2,
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


def test_a_layer_to_contrast_at_that_does_not_exist_is_told():
    with pytest.raises(InputError, match=r"narrow_alexnet has no layer relu5_1.*relu5$"):
        Trainee(ARCHITECTURES["narrow_alexnet"], ("relu5_1",), torch.Generator())


def test_the_schedule_is_pytorchs_one_cycle():
    steps, top = 50, 3e-3
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimiser, top, steps, cycle_momentum=False)
    for step in range(steps):
        assert one_cycle(step, steps, top) == pytest.approx(theirs.get_last_lr()[0], rel=1e-9)
        optimiser.step()
        if step < steps - 1:
            theirs.step()


def test_nt_xent_is_the_papers_sum():
    generator = torch.Generator().manual_seed(0)
    vectors = functional.normalize(torch.randn(6, 5, generator=generator), dim=1)
    terms = []
    for i in range(6):
        j = (i + 3) % 6
        alike = [float(torch.exp(vectors[i] @ vectors[k] / 0.5)) for k in range(6)]
        terms.append(-np.log(alike[j] / (sum(alike) - alike[i])))
    loss, _ = nt_xent(vectors, 0.5)
    assert float(loss) == pytest.approx(np.mean(terms), rel=1e-5)


def test_a_pair_counts_as_found_when_it_is_the_nearest():
    corners = torch.eye(4)[:3]
    assert float(nt_xent(corners.repeat(2, 1), 0.2)[1]) == 1.0
    mixed = torch.cat([corners, corners[[1, 0, 2]]])
    assert float(nt_xent(mixed, 0.2)[1]) == pytest.approx(1 / 3)


def test_views_are_a_function_of_seed_and_step(photographs):
    views, again = Views(photographs, CPU), Views(photographs, CPU)
    first = views.at(0, 5, 3, 32)
    assert first.shape == (6, 3, 32, 32)
    assert first.min() >= 0 and first.max() <= 1
    views.at(0, 6, 3, 32)
    assert torch.equal(again.at(0, 5, 3, 32), first)
    assert not torch.equal(views.at(0, 6, 3, 32), first)
    assert not torch.equal(views.at(1, 5, 3, 32), first)


def test_both_views_of_a_pair_show_one_photograph_and_nothing_between_two():
    """Photographs of one hue each: a view must have its hue everywhere, and its pair the same."""
    hues = {"red": (200, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 200)}
    flat = {name: Image.new("RGB", (120, 115), colour) for name, colour in hues.items()}
    for step in range(5):
        shown = Views(flat, CPU).at(0, step, 16, 32).argmax(1).flatten(1)
        assert (shown == shown[:, :1]).all()
        assert torch.equal(shown[:16, 0], shown[16:, 0])


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_an_interrupted_run_equals_an_unbroken_one_to_the_bit(tmp_path, photographs, precision):
    settings = PretrainingSettings(**{**vars(TOY), "precision": precision})

    def run(folder, stop):
        checkpoint = Checkpoint(tmp_path / folder, "fingerprint")
        return pretrain(ARCHITECTURES["narrow_vgg"], photographs, settings, CPU, checkpoint, stop)

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


@pytest.mark.slow
def test_pairs_are_found_more_often_than_by_chance_after_some_steps(tmp_path):
    settings = PretrainingSettings(
        **{**vars(TOY), "steps": 60, "batch": 32, "log_every": 15, "learning_rate": 3e-3}
    )
    log = pretrain(
        ARCHITECTURES["narrow_vgg"],
        embedded_photographs(grey=True),
        settings,
        CPU,
        Checkpoint(tmp_path, "fingerprint"),
        StopAfter(1000),
    ).log
    assert log["loss"].iloc[-1] < log["loss"].iloc[0]
    assert log["pair_found_percent"].iloc[-1] > 10 > 100 / 63
