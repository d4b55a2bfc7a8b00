"""The share of regular patterns: of noise by its integral, of plane waves all; what is shipped."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import random_networks
import torch
from scipy.integrate import quad

from triptych.style.network.mixtures import styles_of
from triptych.style.network.network_files import load_network
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.network.regularity import BY_CHANCE, PEAK, SHARPNESS, SIDE, regular_share

SHIPPED = sorted((Path(__file__).parents[2] / "resources/style/networks").glob("*.safetensors"))
STYLES = [(path, style) for path in SHIPPED for style in styles_of(path) or [""]]


def noise(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_of_noise_it_is_what_exponential_energies_have_beyond_the_peak():
    """Energies over their mean have the density exp(-r); the share is their mean weight."""
    expected, _ = quad(lambda r: r * math.exp(-r) / (1 + math.exp(SHARPNESS * (PEAK - r))), 0, 60)
    found = regular_share(noise(12, 3, 5 * SIDE, 5 * SIDE))
    assert found.shape[0] == 12
    # Coefficients of a ring are few, and so their own mean stays below a peak of theirs.
    assert 0.8 * expected < float(found.mean()) < expected < BY_CHANCE


@pytest.mark.parametrize("turn", [0.0, 0.7, math.pi / 2])
@pytest.mark.parametrize("period", [2.6, 4.0, 9.0])
def test_of_a_plane_wave_in_any_direction_it_is_nearly_all(period, turn):
    y, x = torch.meshgrid(torch.arange(200.0), torch.arange(150.0), indexing="ij")
    wave = (2 * math.pi / period * (y * math.cos(turn) + x * math.sin(turn))).sin()
    images = 0.5 + 0.1 * wave + 0.001 * noise(1, 3, 200, 150)
    assert regular_share(images).min() > 0.75
    assert regular_share(images[..., :40, :40]).min() > 0.5  # less than a window


def test_a_flat_picture_has_nothing_regular_and_a_finite_gradient():
    images = torch.full((1, 3, SIDE, SIDE), 0.3, requires_grad=True)
    share = regular_share(images).sum()
    share.backward()
    assert share < 1e-3 and images.grad is not None and images.grad.isfinite().all()


def test_the_loss_counts_what_the_photograph_has_not():
    weights = dict.fromkeys(("content_weight", "style_weight", "total_variation_weight"), 0.0)
    layers = {"content_layers": ["relu1_1"], "style_layers": ["relu1_1"]}
    settings = LossSettings(**weights, **layers, scaling="relative", regularity_weight=3.0)
    backbone = random_networks.backbone("vgg16", dtype=torch.float64)
    loss = PerceptualLoss(backbone, settings, [torch.rand(3, 32, 32).double()])
    bars = 0.5 + 0.2 * (torch.arange(SIDE) // 3 % 2).double().expand(1, 3, SIDE, SIDE)
    clouds = 0.5 + 0.01 * noise(1, 3, SIDE, SIDE)
    share = regular_share(bars).mean() - regular_share(clouds).mean() - BY_CHANCE
    torch.testing.assert_close(loss.terms(clouds, bars)["regularity"], 3 * share)
    assert loss.terms(bars, bars)["regularity"] == loss.terms(bars, clouds)["regularity"] == 0


def sky(colour):
    """A flat sky of 384 pixels, with a slope and the noise of a sensor, [1, 3, 384, 384]."""
    random = np.random.default_rng(0)
    slope = np.linspace(-0.05, 0.05, 384)[:, None, None]
    picture = np.array(colour) + slope + random.normal(0, 0.008, (384, 384, 3))
    return torch.from_numpy(picture.astype(np.float32)).permute(2, 0, 1)[None]


def in_peaks(picture):
    """Share of the detail, at 2 to 40 pixels, of 50 times the median of as long waves.

    In one window over the whole picture, of the grey values; a median where the loss has a mean.
    """
    grey = picture[0].mean(0).numpy()
    window = np.hanning(len(grey))
    power = np.abs(np.fft.fft2((grey - grey.mean()) * np.outer(window, window))) ** 2
    turns = np.fft.fftfreq(len(grey))
    radius = np.hypot(turns[:, None], turns)
    edges = np.linspace(1 / 40, 0.5, 46)
    whole = peaks = 0.0
    for low, high in pairwise(edges):
        ring = power[(radius >= low) & (radius < high)]
        whole, peaks = whole + ring.sum(), peaks + ring[ring > 50 * np.median(ring)].sum()
    return peaks / whole


@pytest.mark.parametrize(("path", "style"), STYLES, ids=[style for _, style in STYLES])
@pytest.mark.parametrize("colour", [(0.8, 0.85, 0.9), (0.12, 0.16, 0.32), (0.45, 0.42, 0.4)])
def test_no_network_that_is_shipped_paints_a_lattice_over_the_sky(path, style, colour):
    network, _ = load_network(path, style)
    with torch.no_grad():
        assert in_peaks(network(sky(colour)).clamp(0, 1)) <= 0.05
