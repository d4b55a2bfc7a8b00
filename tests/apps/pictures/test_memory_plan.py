"""How large an image is optimised: the plan, and what a real process takes."""

import subprocess
import sys

import pytest
import torch

from triptych.apps.pictures.memory_plan import Needs, smallest_side
from triptych.core.errors import InputError
from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import read_image, write_image
from triptych.style.optimise.presets import preset


def sizes(painting: tuple[int, int] = (300, 400), network: str = "vgg16") -> Needs:
    return Needs(ARCHITECTURES[network], preset("tuned", network), painting)


def test_the_largest_tiles_that_fit_are_taken():
    needs, size = sizes(), (2480, 4032)
    assert needs.side((480, 640), 4e9) is None
    sides = [needs.side(size, memory) for memory in (4.4e9, 7e9, 12e9, 5e10)]
    assert sides == [256, 512, 1024, None]
    for network in ("vgg16", "vgg19"):  # a telephone's photograph, into 5.4 GB with all
        needs = sizes(network=network)
        assert needs.bytes(size, needs.side(size, 4.4e9)) <= 4.4e9


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


COMMAND = """
import sys
from triptych.cli import main
from triptych.core.memory import peak_memory
import torch
from triptych.apps.pictures.optimising_stylizer import OptimisingStylizer
torch.set_num_threads(1)
code = main(["stylize", *sys.argv[1:]])
print("peak", peak_memory())
sys.exit(code)
"""


@pytest.fixture
def photograph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = torch.Generator().manual_seed(0)
    write_image("photo.png", torch.rand(3, 600, 800, generator=generator))
    write_image("painting.png", torch.rand(3, 300, 400, generator=generator))
    return ["photo.png", *PAINTED]


PAINTED = ["--optimize", "--style", "painting.png", "-o", "painted.png"]


def run(*arguments: str) -> subprocess.CompletedProcess:
    brief = ["--evaluations", "2"]
    command = [sys.executable, "-c", COMMAND, *brief, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_keeps_to_the_memory_that_it_was_given(photograph):
    """As one image it takes 2.6 GB beside the libraries' 0.7."""
    done = run(*photograph, "--memory", "1.63GB")
    assert done.returncode == 0, done.stderr
    assert "photo.png: 800x600 pixels don't fit" in done.stderr
    assert "worked in tiles of 256 pixels, exactly" in done.stderr
    assert read_image("painted.png").shape == (3, 600, 800)
    assert 0.7e9 < int(done.stdout.split()[-1]) < 1.63e9
