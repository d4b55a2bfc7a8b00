"""The same results on a GPU, up to its rounding; skipped where there is none."""

import pytest
import torch
from random_networks import backbone, image, network

from triptych.style.network.stylize import stylise
from triptych.style.optimise.choices import preset
from triptych.style.optimise.gatys import optimise

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


def test_a_network_stylises_as_on_the_cpu():
    net, photograph = network(), image(70, 53)
    expected = stylise(net, photograph)
    torch.testing.assert_close(
        stylise(net.cuda(), photograph.cuda()).cpu(), expected, atol=1e-4, rtol=0
    )


def test_an_image_is_optimised_as_on_the_cpu():
    torch.manual_seed(0)
    judge = backbone("narrow_alexnet")
    choices = preset("tuned", "narrow_alexnet", pooling="max")
    contents, painting = torch.rand(2, 3, 96, 96), torch.rand(1, 3, 96, 96)
    here = optimise(contents, painting, judge, choices, 5)
    there = optimise(contents.cuda(), painting.cuda(), judge.cuda(), choices, 5)
    torch.testing.assert_close(
        torch.tensor(there.history["total"]), torch.tensor(here.history["total"]), rtol=1e-2, atol=0
    )
