"""The four figures equal SciPy's, plain loops and closed forms; the table measures every run."""

import numpy as np
import pytest
import random_networks
import torch
from scipy import ndimage
from scipy.stats import wasserstein_distance

from triptych.core.errors import InputError
from triptych.style.data.images import write_image
from triptych.style.measures.quality import (
    BAND,
    KEYS,
    colour_distance,
    edge_correlation,
    gram_distance,
    luma,
    optimised_images,
    quality_table,
    ssim_luma,
    stylised_images,
)

LAYERS = ("relu1_1", "relu2_1", "relu3_1")
SETTINGS = {"layers": LAYERS, "projections": 16, "seed": 0}


def photograph(height=48, width=60, seed=0):
    """Smooth blobs of colour, with some grain."""
    random = np.random.default_rng(seed)
    blobs = ndimage.gaussian_filter(random.standard_normal((3, height, width)), (0, 4, 4))
    grainy = 0.5 + 1.5 * blobs + 0.05 * random.standard_normal(blobs.shape)
    return torch.from_numpy(np.clip(grainy, 0, 1).astype(np.float32))


@pytest.fixture(scope="module")
def backbone():
    return random_networks.backbone("vgg16", "average")


def window():
    """Wang et al.'s: 11 steps of a Gaussian with a deviation of 1.5, their sum 1."""
    weights = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    return weights / weights.sum()


@pytest.mark.parametrize("size", [(11, 17), (14, 11), (15, 20)])
def test_ssim_is_its_formula_written_out_at_each_place_of_the_window(size):
    image, content = photograph(*size), photograph(*size, seed=1) * 0.5 + 0.5 * photograph(*size)
    x, y = (luma(each).double().numpy() for each in (image, content))
    weights = np.outer(window(), window())
    places = []
    for row in range(size[0] - 10):
        for column in range(size[1] - 10):
            a, b = (each[row : row + 11, column : column + 11] for each in (x, y))
            ma, mb = (weights * a).sum(), (weights * b).sum()
            va, vb = (weights * (a - ma) ** 2).sum(), (weights * (b - mb) ** 2).sum()
            vab = (weights * (a - ma) * (b - mb)).sum()
            places.append(
                (2 * ma * mb + 0.01**2)
                * (2 * vab + 0.03**2)
                / ((ma**2 + mb**2 + 0.01**2) * (va + vb + 0.03**2))
            )
    assert ssim_luma(image, content) == pytest.approx(np.mean(places), abs=1e-6)


@pytest.mark.parametrize("height", [BAND + 10, BAND + 11, 2 * BAND + 15])
def test_ssim_of_a_ramp_and_its_half_is_a_closed_form_however_many_bands_there_are(height):
    # On a ramp the window's mean is its middle, and its variance the slope's square times its own.
    ramp = torch.linspace(0, 1, height, dtype=torch.float64)
    image = ramp[None, :, None].repeat(3, 1, 12)
    variance = (window() * np.arange(-5, 6) ** 2).sum() / (height - 1) ** 2
    middle = ramp[5:-5].numpy()
    expected = (middle**2 + 0.01**2) / (1.25 * middle**2 + 0.01**2)
    expected *= (variance + 0.03**2) / (1.25 * variance + 0.03**2)
    assert ssim_luma(image, image / 2) == pytest.approx(expected.mean(), abs=1e-6)


def test_edge_correlation_is_pearson_s_of_scipy_s_sobel_gradients():
    image, content = photograph(), photograph(seed=1) + 0.3 * photograph()
    magnitudes = []
    for each in (image, content):
        plane = luma(each).double().numpy()
        magnitude = np.hypot(ndimage.sobel(plane, 0), ndimage.sobel(plane, 1))
        magnitudes.append(magnitude[1:-1, 1:-1].ravel())
    expected = np.corrcoef(*magnitudes)[0, 1]
    assert edge_correlation(image, content) == pytest.approx(expected, abs=1e-6)


def test_gram_distance_is_its_formula_written_out(backbone):
    image, painting = photograph(32, 40), photograph(48, 32, seed=5)
    terms = []
    for name in LAYERS:
        grams = []
        for each in (image, painting):
            f = backbone(each[None], [name])[name][0].double().numpy()
            grams.append(np.einsum("chw,dhw->cd", f, f) / (f.shape[1] * f.shape[2]))
        terms.append(((grams[0] - grams[1]) ** 2).sum() / (grams[1] ** 2).sum())
    assert gram_distance(image, painting, backbone, LAYERS) == pytest.approx(
        np.mean(terms), rel=1e-4
    )


def test_colour_distance_is_that_of_scipy_along_the_drawn_directions():
    image, painting = photograph(20, 20), photograph(16, 30, seed=4)
    directions = np.random.default_rng(7).standard_normal((5, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    expected = np.mean(
        [
            wasserstein_distance(d @ image.flatten(1).numpy(), d @ painting.flatten(1).numpy())
            for d in directions
        ]
    )
    assert colour_distance(image, painting, 5, seed=7) == pytest.approx(expected, abs=1e-6)


OPTIMISED = """experiment,run,content,painting,status
losses,l1,cat,waves,finished
losses,mse,hut,waves,diverged
losses,huber,hut,waves,not_finite
"""


def test_the_table_measures_every_image_and_misses_that_of_a_finished_run(tmp_path, backbone):
    pictures = {
        "contents/cat": photograph(40, 50, seed=0),
        "contents/hut": photograph(40, 50, seed=1),
        "paintings/waves": photograph(40, 50, seed=0),
        "optimize/images/l1": photograph(40, 50, seed=0),  # its content and its painting
        "optimize/images/mse": photograph(32, 32, seed=8),
        "stylised/hut": photograph(40, 50, seed=1),  # its content
    }
    for name, picture in pictures.items():
        write_image(tmp_path / f"{name}.png", picture)
    first, second = (tmp_path / kind / "runs.csv" for kind in ("optimize", "stylised"))
    first.write_text(OPTIMISED)
    second.write_text("content,painting\nhut,waves\n")
    sources = {
        kind: {path.stem: path for path in (tmp_path / kind).iterdir()}
        for kind in ("contents", "paintings")
    }
    images = [*optimised_images(first), *stylised_images(second)]
    table = quality_table(images, **sources, backbone=backbone, **SETTINGS)
    assert table[[*KEYS]].to_numpy().tolist() == [
        [1, "losses", "l1", "cat", "waves"],
        [1, "losses", "mse", "hut", "waves"],
        [2, "", "waves-hut", "hut", "waves"],
    ]
    assert table["ssim_luma"].round(5).tolist()[::2] == [1, 1]
    assert table["gram_distance"][0] < 1e-9 < table["gram_distance"][2]
    assert table["ssim_luma"][1] < 0.5
    (tmp_path / "optimize/images/l1.png").unlink()
    with pytest.raises(InputError, match=r"l1\.png"):
        quality_table(optimised_images(first), **sources, backbone=backbone, **SETTINGS)
