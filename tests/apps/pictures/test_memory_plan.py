"""How large an image is optimised, and in which tiles."""

import pytest
import torch

from triptych.apps.pictures.memory_plan import Needs, smallest_side
from triptych.core.errors import InputError
from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.backbone import Backbone
from triptych.style.optimise.presets import preset
from triptych.style.optimise.scales import refining


def sizes(painting: tuple[int, int] = (300, 400), network: str = "vgg16") -> Needs:
    return Needs(ARCHITECTURES[network], refining(preset("tuned", network)), painting)


def test_the_largest_tiles_that_fit_are_taken():
    needs, size = sizes(), (2480, 4032)
    assert needs.side((480, 640), 4e9) is None
    sides = [needs.side(size, memory) for memory in (4.5e9, 7e9, 12e9, 5e10)]
    assert sides == [256, 512, 1024, None]
    for network in ("vgg16", "vgg19"):  # a telephone's photograph, into 5.5 GB with all
        needs = sizes(network=network)
        assert needs.bytes(size, needs.side(size, 4.5e9)) <= 4.5e9


def test_what_fits_in_no_tiles_is_refused():
    with pytest.raises(InputError, match=r"4032x2480 pixels take 4\.\d GB even in tiles.*--memory"):
        sizes().side((2480, 4032), 1.2e9)


@pytest.mark.parametrize("name", ["vgg16", "narrow_alexnet"])
def test_the_smallest_side_is_the_one_of_which_the_network_still_makes_something(name):
    choices = preset("tuned", name)
    with torch.device("meta"):
        weights = {key: torch.empty(s) for key, s in ARCHITECTURES[name].shapes().items()}
        backbone = Backbone(
            ARCHITECTURES[name], weights, mean=[0.5] * 3, std=[0.2] * 3, pooling="average"
        )
        least = smallest_side(ARCHITECTURES[name], choices)
        features = backbone(torch.empty(1, 3, least, least + 9), choices.layers)
        assert all(each.numel() for each in features.values())
        with pytest.raises(RuntimeError):
            backbone(torch.empty(1, 3, least - 1, least + 9), choices.layers)
