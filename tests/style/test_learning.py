"""A style learnt by norms alone: what may change does, what may not doesn't, and it resumes."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import style_training_job as job
import torch
from PIL import Image
from stops import Never, StopAfter

from triptych import cli
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped
from triptych.style.data.backbone import save_backbone
from triptych.style.data.images import resize
from triptych.style.network import learning
from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.network.network_files import load_network, save_network
from triptych.style.network.perceptual import PerceptualLoss

CPU = torch.device("cpu")


class Noise(job.Noise):
    """Crops as large as learning wants them."""

    training = range(2**20)

    def batch(self, indices):
        return super().batch(indices).repeat(1, 1, 2, 2)[..., :32, :32]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A conditional network of two styles, and the backbone of its loss."""
    monkeypatch.setattr(learning, "SIZE", 24)
    torch.manual_seed(3)
    shape = Architecture(width=4, blocks=(0,), palette=True, styles=2)
    network = TransformationNetwork(shape)
    for value in network.parameters():
        value.data += 0.1 * torch.randn_like(value)
    record = {"styles": ["ink", "tiles"], "losses": asdict(job.LOSSES), "painting_size": 24}
    save_network(tmp_path / "hands.safetensors", network, record)
    save_backbone(tmp_path / "judge.safetensors", job.random_backbone(), weights="x", origin={})
    return tmp_path


def learn(folder, name, stop=None, batches=12):
    to = folder / f"{name}.safetensors"
    learning.learn_style(
        folder / "hands.safetensors",
        job.painting(),
        "oil",
        Noise(),
        batches,
        backbone=folder / "judge.safetensors",
        precision="float32",
        device=CPU,
        checkpoint=folder / f"{name}-checkpoint",
        stop=stop or Never(),
        to=to,
    )
    return to


def test_the_norms_alone_are_learnt_and_the_loss_falls(files):
    learnt, record = load_network(learn(files, "new", batches=40))
    begun, _ = load_network(files / "hands.safetensors", "ink+tiles")
    own = learnt.of_styles()
    before = begun.state_dict()
    for name, value in learnt.state_dict().items():
        assert torch.equal(value, before[name]) == (name not in own), name
    assert (record["painting"], record["variant"], record["styles"]) == ("oil", "learned", ["oil"])
    painting = resize(job.painting(), 24)
    loss = PerceptualLoss(job.random_backbone(), learning.LOSSES, [painting])
    images = Noise().batch(range(100, 104)).float() / 255

    def total(network):
        with torch.no_grad():
            terms = loss.terms(images, network(images))
        return float(sum(terms.values()))

    begun.palette.take([painting])
    assert total(learnt) < 0.85 * total(begun)


def test_one_that_was_stopped_goes_on_to_the_same_bytes(files):
    unbroken = learn(files, "unbroken").read_bytes()
    with pytest.raises(Stopped):
        learn(files, "broken", stop=StopAfter(4))
    assert not (files / "broken.safetensors").exists()
    assert learn(files, "broken").read_bytes() == unbroken


@pytest.mark.parametrize("styles", [1, 2])
def test_a_network_begins_in_the_middle_of_anothers_styles(files, styles):
    shape = Architecture(width=4, blocks=(0,), palette=True, styles=styles)
    begun = learning.begun_from(files / "hands.safetensors", shape, ["oil", "chalk"][:styles])
    images = torch.rand(2, 3, 32, 32)
    ends = [load_network(files / "hands.safetensors", name)[0] for name in ("ink", "tiles")]
    for network in begun.alone():
        assert torch.equal(network.res1.conv1.conv2d.weight, ends[0].res1.conv1.conv2d.weight)
        mean = (ends[0].res1.in1.weight + ends[1].res1.in1.weight) / 2
        torch.testing.assert_close(network.res1.in1.weight, mean)
        assert network(images).isfinite().all()
    assert all(parameter.requires_grad for parameter in begun.parameters())
    with pytest.raises(InputError, match=r"width=4.*width=8.*make them agree"):
        learning.begun_from(files / "hands.safetensors", replace(shape, width=8), ["oil", "chalk"])


def test_a_network_of_the_same_styles_is_trained_on(files):
    file, names = files / "hands.safetensors", ["ink", "tiles"]
    shape = Architecture(width=4, blocks=(0,), palette=True, styles=2)
    images = torch.rand(2, 3, 32, 32)
    for name, network in zip(names, learning.begun_from(file, shape, names).alone(), strict=True):
        torch.testing.assert_close(network(images), load_network(file, name)[0](images))


def test_a_network_of_one_style_is_refused(files):
    network, record = load_network(files / "hands.safetensors", "ink")
    save_network(files / "hands.safetensors", network, record)
    with pytest.raises(InputError, match="is no network of several styles"):
        learn(files, "new")


def test_the_command_makes_a_style_that_has_a_name(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    Image.fromarray(np.uint8(255 * np.random.default_rng(0).random((40, 50, 3)))).save("My Oil.png")
    given = ["--network", "hands.safetensors", "--batches", "2"]
    assert cli.main(["learn-style", "My Oil.png", *given]) == 0
    assert "results/style/networks/my_oil/learned/network.safetensors" in capsys.readouterr().out
    assert [each.name for each in (files / "results").rglob("*") if each.is_file()] == [
        "network.safetensors"
    ]
    assert cli.main(["stylize", "My Oil.png", "--style", "my_oil", "-o", "painted.png"]) == 0
    assert Image.open("painted.png").size == (50, 40)
