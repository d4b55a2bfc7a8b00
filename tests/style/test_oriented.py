"""Oriented filters against scikit-image's Gabor kernels and closed forms."""

import math

import numpy as np
import pytest
import torch
from skimage.filters import gabor_kernel

from triptych.style.backbones import oriented as module
from triptych.style.backbones.architectures import ORIENTED, ORIENTED_FILTERS
from triptych.style.backbones.oriented import oriented, oriented_filters

LIGHTNESS = slice(0, 8)
"""Four directions, an even and an odd filter each; the mixture itself is number 8."""


def grating(angle: float, size: int = 64, wavelength: float = module.WAVELENGTH) -> torch.Tensor:
    """A grey wave that runs along an angle, [1, 3, S, S] in [0, 1]."""
    y, x = np.mgrid[0:size, 0:size]
    wave = 0.5 + 0.4 * np.sin(
        2 * math.pi * (x * math.cos(angle) + y * math.sin(angle)) / wavelength
    )
    return torch.from_numpy(wave).float().expand(1, 3, size, size)


def of(images: torch.Tensor, layer: str = "oriented1") -> torch.Tensor:
    return oriented(images, [layer], oriented_filters().float())[layer]


def test_odd_filters_are_scikit_images_gabor_kernels() -> None:
    filters = oriented_filters()
    for turn in range(4):
        kernel = gabor_kernel(
            1 / module.WAVELENGTH,
            theta=math.pi * turn / 4,
            sigma_x=module.ACROSS,
            sigma_y=module.ALONG,
            n_stds=4,
        ).imag
        middle = kernel.shape[0] // 2, kernel.shape[1] // 2
        kernel = kernel[middle[0] - 3 : middle[0] + 4, middle[1] - 3 : middle[1] + 4]
        own = filters[2 * turn + 1, 1].numpy()  # of green
        cosine = (own * kernel).sum() / np.linalg.norm(own) / np.linalg.norm(kernel)
        assert cosine == pytest.approx(1, abs=1e-12)


def test_a_uniform_image_is_seen_by_the_plain_channels_alone() -> None:
    image = torch.tensor([0.8, 0.3, 0.5])[:, None, None].expand(1, 3, 32, 32)
    r, g, b = (image[0, :, 0, 0] - module.MIDDLE).tolist()
    values = 0.299 * r + 0.587 * g + 0.114 * b, 0.5 * (r - g), 0.5 * b - 0.25 * (r + g)
    for layer in ORIENTED:
        mean = of(image, layer)[0].mean((1, 2))
        signed = mean[:ORIENTED_FILTERS] - mean[ORIENTED_FILTERS:]
        expected = torch.zeros(ORIENTED_FILTERS)
        expected[[8, 13, 18]] = torch.tensor(values)
        torch.testing.assert_close(signed, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("turn", range(4))
def test_a_wave_is_seen_most_by_the_filters_that_look_along_it(turn: int) -> None:
    found = of(grating(math.pi * turn / 4))[0, LIGHTNESS, 8:-8, 8:-8]
    energy = found.square().mean((1, 2)).view(4, 2).sum(1)
    assert int(energy.argmax()) == turn
    assert energy.max() > 4 * energy.median()


def test_a_wave_twice_as_long_is_seen_a_level_higher() -> None:
    def strongest(image: torch.Tensor) -> int:
        found = oriented(image, ORIENTED, oriented_filters().float()).values()
        return int(torch.stack([each[0, LIGHTNESS].square().mean() for each in found]).argmax())

    waves = [grating(0, 256, module.WAVELENGTH * 2**level) for level in range(4)]
    assert [strongest(wave) for wave in waves] == [0, 1, 2, 3]


def test_a_grey_image_has_no_colour_and_its_negative_the_other_sign() -> None:
    image = torch.rand(1, 1, 32, 32, generator=torch.Generator().manual_seed(0)).expand(
        -1, 3, -1, -1
    )
    found = of(image)[0]
    assert found[9:ORIENTED_FILTERS].abs().max() < 1e-5
    negative = of(2 * module.MIDDLE - image)[0]
    torch.testing.assert_close(negative[:ORIENTED_FILTERS], found[ORIENTED_FILTERS:])


def test_a_shift_by_whole_cells_is_a_shift() -> None:
    image = torch.rand(1, 3, 176, 160, generator=torch.Generator().manual_seed(1))
    whole, part = of(image, "oriented5"), of(image[:, :, 16:], "oriented5")
    torch.testing.assert_close(whole[:, :, 4:], part[:, :, 3:])
