"""The four figures equal SciPy's, plain loops and closed forms; the table measures every run."""

import numpy as np
import pandas as pd
import pytest
import random_networks
import torch
from scipy import ndimage
from scipy.stats import wasserstein_distance

from triptych.core.errors import InputError
from triptych.style.data.images import write_image
from triptych.style.measures.quality import (
    BAND,
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


def write_runs(folder):
    """One experiment and one stylised folder; returns their tables and sources."""
    for folder_name, names in (("contents", ("cat", "hut")), ("paintings", ("waves",))):
        for number, name in enumerate(names):
            (folder / folder_name).mkdir(exist_ok=True)
            write_image(folder / folder_name / f"{name}.png", photograph(40, 50, seed=number))
    first = folder / "optimize" / "losses"
    (first / "images").mkdir(parents=True)
    pd.DataFrame(
        [
            ("losses", "l1", "cat", "waves", "finished"),
            ("losses", "mse", "hut", "waves", "diverged"),
            ("losses", "huber", "hut", "waves", "not_finite"),
        ],
        columns=["experiment", "run", "content", "painting", "status"],
    ).to_csv(first / "runs.csv", index=False)
    write_image(first / "images" / "l1.png", photograph(40, 50, seed=0))
    write_image(first / "images" / "mse.png", photograph(32, 32, seed=8))
    second = folder / "stylised" / "waves"
    second.mkdir(parents=True)
    pd.DataFrame([("hut", "waves")], columns=["content", "painting"]).to_csv(
        second / "runs.csv", index=False
    )
    write_image(second / "hut.png", photograph(40, 50, seed=1))
    sources = {
        kind: {path.stem: path for path in (folder / kind).iterdir()}
        for kind in ("contents", "paintings")
    }
    return first / "runs.csv", second / "runs.csv", sources


def test_the_table_has_one_row_for_each_image_of_both_versions(tmp_path, backbone):
    first, second, sources = write_runs(tmp_path)
    images = [*optimised_images(first), *stylised_images(second)]
    table = quality_table(images, **sources, backbone=backbone, **SETTINGS)
    assert list(table.columns) == [
        *("version", "experiment", "run", "content", "painting"),
        *("ssim_luma", "edge_correlation", "gram_distance", "colour_distance"),
    ]
    keys = table[["version", "experiment", "run", "content", "painting"]].to_numpy().tolist()
    assert keys == [
        [1, "losses", "l1", "cat", "waves"],
        [1, "losses", "mse", "hut", "waves"],
        [2, "", "waves-hut", "hut", "waves"],
    ]
    # The images l1 and waves-hut are their contents themselves; l1 is also the painting.
    assert table["ssim_luma"].round(5).tolist()[::2] == [1, 1]
    assert table["gram_distance"][0] < 1e-9 < table["gram_distance"][2]
    assert table["ssim_luma"][1] < 0.5


def test_a_finished_run_without_its_image_is_an_error(tmp_path, backbone):
    first, _, sources = write_runs(tmp_path)
    (first.parent / "images" / "l1.png").unlink()
    with pytest.raises(InputError, match=r"l1\.png"):
        quality_table(optimised_images(first), **sources, backbone=backbone, **SETTINGS)
