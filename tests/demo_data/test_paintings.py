"""Paintings are reproducible, colourful, of any size, and each has the structure of its style."""

import hashlib
import itertools

import cv2
import numpy as np
import pytest
import torch

from triptych.core.errors import InputError
from triptych.demo.paintings import paint as paintings
from triptych.demo.paintings.canvas import Canvas, sample, unit_grid
from triptych.demo.paintings.flow import line_integral, trace
from triptych.demo.paintings.mosaic import GROUT, design, lay_tiles, paint_mosaic
from triptych.demo.paintings.paint import PAINTINGS
from triptych.demo.paintings.swirls import night_scene
from triptych.demo.paintings.waves import curl, spline

STYLES = tuple(PAINTINGS)


def paint(*arguments, **settings):
    """A painting as [3, H, W]."""
    pixels = torch.from_numpy(paintings.paint(*arguments, **settings))
    return pixels.permute(2, 0, 1).contiguous()


@pytest.fixture(scope="module")
def painted():
    """Every style once, at 96 x 131 pixels from seed 3."""
    return {name: paint(name, (96, 131), seed=3) for name in STYLES}


@pytest.fixture(scope="module")
def night():
    """The plan of `paint("swirls", (512, 512), seed=2)`."""
    return night_scene(np.random.default_rng([2, *b"swirls"]), 512, 512)


def digest(image):
    return hashlib.sha256(image.numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("name", STYLES)
def test_a_painting_is_an_image_of_the_size_asked_for_odd_ones_too(painted, name):
    assert painted[name].shape == (3, 96, 131)
    assert painted[name].dtype == torch.float32 and painted[name].is_contiguous()
    assert painted[name].min() >= 0 and painted[name].max() <= 1


@pytest.mark.parametrize("name", STYLES)
def test_the_same_seed_paints_the_same_bytes_whatever_the_number_of_threads(painted, name):
    before = cv2.getNumThreads()
    cv2.setNumThreads(1 if before > 1 else 3)
    try:
        assert digest(paint(name, (96, 131), seed=3)) == digest(painted[name])
    finally:
        cv2.setNumThreads(before)


@pytest.mark.parametrize("name", STYLES)
def test_another_seed_paints_another_picture(painted, name):
    assert (paint(name, (96, 131), seed=4) - painted[name]).abs().mean() > 0.02


@pytest.mark.parametrize("name", STYLES)
def test_a_painting_is_rich_in_colour_and_contrast(painted, name):
    r, g, b = painted[name].double().flatten(1).numpy() * 255
    # Hasler and Suesstrunk 2003: 45 is "averagely" and 82 "highly" colourful.
    spread = np.hypot(np.std(r - g), np.std((r + g) / 2 - b))
    mean = np.hypot(np.mean(r - g), np.mean((r + g) / 2 - b))
    if name in ("ink", "hatching"):  # black on paper
        assert spread + 0.3 * mean < 45
    else:
        assert spread + 0.3 * mean > 45
    luma = 0.299 * r + 0.587 * g + 0.114 * b
    assert np.percentile(luma, 97) - np.percentile(luma, 3) > 110


def test_no_two_styles_share_their_palette(painted):
    means = [image.flatten(1).mean(1) for image in painted.values()]
    for i, first in enumerate(means):
        for second in means[:i]:
            assert (first - second).norm() > 0.08


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
def test_strokes_are_as_wide_as_their_hand_has_them_at_512(name):
    """Where the picture changes is told by the spectrum: a share of it at periods of strokes.

    A stroke and the gap beside it are one period: 10 to 80 pixels, 3 to 10 of an engraver's lines.
    Broad skies and mountains leave dots and ink a smaller share.
    """
    image = paint(name, (512, 512), seed=0).mean(0).double()
    window = torch.hann_window(512, dtype=torch.float64)
    power = torch.fft.rfft2((image - image.mean()) * window[:, None] * window).abs() ** 2
    frequency = torch.hypot(torch.fft.fftfreq(512)[:, None], torch.fft.rfftfreq(512)[None])
    shortest, longest = (3, 10) if name == "hatching" else (10, 80)
    strokes = (frequency > 1 / longest) & (frequency < 1 / shortest)
    assert power[strokes].sum() / power.sum() > {"dots": 0.2, "ink": 0.15}.get(name, 0.25)
    assert power[frequency >= 1 / shortest].sum() < power[strokes].sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
def test_a_seed_gives_the_same_picture_at_every_size(name):
    small = paint(name, (64, 80), seed=5)
    large = paint(name, (256, 320), seed=5)
    reduced = torch.nn.functional.avg_pool2d(large, 4)
    assert torch.corrcoef(torch.stack((small.flatten(), reduced.flatten())))[0, 1] > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"), list(zip(STYLES, itertools.cycle([(300, 75), (75, 300)]), strict=False))
)
def test_the_narrowest_formats_are_painted_to_the_edges(name, size):
    image = paint(name, size, seed=0)
    assert image.shape == (3, *size)
    for strip in (image[:, :8], image[:, -8:], image[:, :, :8], image[:, :, -8:]):
        assert strip.std(unbiased=False) > 0.02


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("scream", (64, 64), r"no painting 'scream'.*swirls, waves, mosaic"),
        ("waves", (15, 40), r"15 x 40.*at least 16"),
        ("waves", (20, 100), r"20 x 100.*at most 4 times"),
    ],
)
def test_what_cannot_be_painted_is_refused(name, size, message):
    with pytest.raises(InputError, match=message):
        paint(name, size, seed=0)


def test_swirls_change_less_along_the_flow_than_across_it(night):
    image = paint("swirls", (512, 512), seed=2).permute(1, 2, 0).double().numpy().mean(axis=-1)
    flow = night.flow
    x, y = unit_grid(512, 512)
    points = np.stack((x, y), axis=-1)[20:-20, 20:-20]
    along = sample(flow, points)
    across = np.stack((-along[..., 1], along[..., 0]), axis=-1)

    def correlation(direction, distance):
        a, b = sample(image, points), sample(image, points + distance * direction)
        return np.corrcoef(a.ravel(), b.ravel())[0, 1]

    for distance in (4, 8, 16):
        assert correlation(along, distance) > correlation(across, distance) + 0.08


def test_the_flow_of_swirls_has_unit_length_nearly_everywhere(night):
    lengths = np.linalg.norm(night.flow, axis=-1)
    assert lengths.max() < 1 + 1e-6
    assert (lengths > 0.99).mean() > 0.99


def test_line_integral_along_a_straight_flow_is_a_moving_average():
    texture = np.random.default_rng(0).standard_normal((9, 80))
    flow = np.zeros((9, 80, 2))
    flow[..., 0] = 1
    total = line_integral(texture, flow, reach=6)
    # Both ways in steps of two cells, and the middle once.
    expected = sum(texture[:, 20 + shift : 60 + shift] for shift in range(-6, 7, 2))
    np.testing.assert_allclose(total[:, 20:60], expected, atol=1e-5)


def test_lines_traced_in_a_vortex_stay_on_their_circles():
    x, y = unit_grid(200, 200)
    dx, dy = x - 100, y - 100
    flow = np.stack((-dy, dx), axis=-1) / (np.hypot(dx, dy)[..., None] + 1e-9)
    starts = np.array([(160.0, 100.0), (100.0, 50.0)])
    lines = trace(flow, starts, np.array([90.0, 90.0]), steps=12)
    assert lines.shape == (2, 13, 2)
    radii = np.hypot(lines[..., 0] - 100, lines[..., 1] - 100)
    np.testing.assert_allclose(radii, [[60.0] * 13, [50.0] * 13], rtol=0.01)
    steps = np.linalg.norm(np.diff(lines, axis=1), axis=-1)
    np.testing.assert_allclose(steps, 90 / 12, rtol=0.02)


def test_mosaic_tiles_are_plain_inside_and_differ_from_one_another():
    canvas = Canvas.for_size((512, 512))
    paint_mosaic(canvas, np.random.default_rng(1))
    generator = np.random.default_rng(1)
    plan = design(generator, 512, 512)
    tiles = lay_tiles(generator, plan, 512, 512, canvas.scale)
    inner = (tiles.margin > GROUT + 1.5).ravel()
    owner = tiles.nearest.ravel()[inner]
    values = canvas.pixels.reshape(-1, 3)[inner].mean(axis=1)
    count = np.bincount(owner)
    kept = count > 20
    means = np.bincount(owner, values)[kept] / count[kept]
    variances = np.bincount(owner, values**2)[kept] / count[kept] - means**2
    assert kept.sum() > 800
    assert variances.mean() < 0.03 * means.var()
    grout = canvas.pixels.reshape(-1, 3)[(tiles.margin < 0.5 * GROUT).ravel()]
    assert grout.mean() < 50 and grout.std(axis=0).max() < 25


def test_mosaic_tiles_are_laid_along_their_rows():
    """Neighbours of a tile lie in its own directions, as in a turned chequerboard."""
    generator = np.random.default_rng(1)
    plan = design(generator, 512, 512)
    tiles = lay_tiles(generator, plan, 512, 512, 1.0)
    seeds, angles = tiles.seeds, tiles.angles
    inside = ((seeds > 30) & (seeds < 482)).all(axis=1)
    offsets = seeds[None] - seeds[inside, None]
    distance = np.linalg.norm(offsets, axis=-1)
    distance[distance == 0] = np.inf
    nearest = distance.argmin(axis=1)
    chosen = offsets[np.arange(len(nearest)), nearest]
    turned = np.arctan2(chosen[:, 1], chosen[:, 0]) - angles[inside]
    # cos(4 angle) is 1 along and across the row, and 0 on average for a random lattice.
    assert np.cos(4 * turned).mean() > 0.35


def test_a_spline_passes_through_its_points():
    points = np.array([(0.0, 0.0), (1.0, 2.0), (3.0, 1.0), (4.0, 4.0)])
    np.testing.assert_allclose(spline(points, 31)[::10], points, atol=1e-12)


def test_a_curl_narrows_from_its_root_to_a_tip_that_has_turned():
    outline = curl(np.zeros(2), heading=0.0, length=40.0, bend=2.0, width=10.0, count=20)
    left, right = outline[:20], outline[20:][::-1]
    widths = np.linalg.norm(left - right, axis=1)
    assert widths[0] == pytest.approx(10) and widths[-1] == pytest.approx(0, abs=1e-9)
    assert (np.diff(widths) < 0).all()
    middle = (left + right) / 2
    last = middle[-1] - middle[-2]
    assert np.arctan2(last[1], last[0]) == pytest.approx(2.0, abs=1e-6)
    length = np.linalg.norm(np.diff(middle, axis=0), axis=1).sum()
    assert length == pytest.approx(40, rel=0.01)
