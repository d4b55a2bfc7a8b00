"""The four figures equal SciPy's, plain loops and closed forms; the table measures every run."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import ndimage
from scipy.stats import wasserstein_distance

from triptych.core.errors import InputError
from triptych.style.data.backbone import ARCHITECTURES, Backbone
from triptych.style.data.images import write_image
from triptych.style.measures.quality import (
    BAND,
    QualitySettings,
    colour_distance,
    edge_correlation,
    gram_distance,
    luma,
    measure,
    quality_table,
    ssim_luma,
    wasserstein,
)

LAYERS = ("relu1_1", "relu2_1", "relu3_1")
SETTINGS = QualitySettings(LAYERS, projections=16, seed=0)


def photograph(height=48, width=60, seed=0):
    """Smooth blobs of colour, with some grain."""
    random = np.random.default_rng(seed)
    blobs = ndimage.gaussian_filter(random.standard_normal((3, height, width)), (0, 4, 4))
    grainy = 0.5 + 1.5 * blobs + 0.05 * random.standard_normal(blobs.shape)
    return torch.from_numpy(np.clip(grainy, 0, 1).astype(np.float32))


@pytest.fixture(scope="module")
def backbone():
    architecture = ARCHITECTURES["vgg16"]
    generator = torch.Generator().manual_seed(0)
    weights = {
        key: torch.randn(shape, generator=generator) * (2 / max(1, np.prod(shape[1:]))) ** 0.5
        for key, shape in architecture.shapes().items()
    }
    return Backbone(architecture, weights, mean=(0.5,) * 3, std=(0.25,) * 3, pooling="average")


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


def test_ssim_does_not_see_a_change_of_hue_alone():
    image = photograph() * 0.5 + 0.2
    # 0.1 of red less is 0.299 / 0.587 of that of green more, for the same brightness.
    turned = image + torch.tensor([-0.1, 0.1 * 0.299 / 0.587, 0.0])[:, None, None]
    assert ssim_luma(turned, image) == pytest.approx(1, abs=1e-5)


def test_an_image_smaller_than_ssim_s_window_is_refused():
    with pytest.raises(InputError, match=r"10 x 40 .* at least 11 x 11"):
        ssim_luma(photograph(10, 40), photograph())


def test_edge_correlation_is_pearson_s_of_scipy_s_sobel_gradients():
    image, content = photograph(), photograph(seed=1) + 0.3 * photograph()
    magnitudes = []
    for each in (image, content):
        plane = luma(each).double().numpy()
        magnitude = np.hypot(ndimage.sobel(plane, 0), ndimage.sobel(plane, 1))
        magnitudes.append(magnitude[1:-1, 1:-1].ravel())
    expected = np.corrcoef(*magnitudes)[0, 1]
    assert edge_correlation(image, content) == pytest.approx(expected, abs=1e-6)


def test_edge_correlation_with_a_flat_image_is_not_a_number():
    assert np.isnan(edge_correlation(photograph(), torch.full((3, 9, 9), 0.4)))


def test_the_content_may_have_another_size():
    image = photograph(40, 40)
    larger = torch.nn.functional.interpolate(image[None], (120, 120), mode="bilinear")[0]
    assert ssim_luma(image, larger) > 0.9
    assert edge_correlation(image, larger) > 0.9


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


def test_wasserstein_is_scipy_s_in_every_row_also_between_samples_of_different_sizes():
    random = np.random.default_rng(0)
    for n, m in ((50, 50), (50, 31), (1, 7), (64, 16), (97, 101)):
        first, second = random.random((4, n)), random.standard_normal((4, m))
        expected = [wasserstein_distance(a, b) for a, b in zip(first, second, strict=True)]
        np.testing.assert_allclose(wasserstein(first, second), expected, atol=1e-12)


def test_colour_distance_of_greys_is_the_difference_times_the_mean_length_of_a_projection():
    dark, light = torch.full((3, 12, 9), 0.2), torch.full((3, 7, 20), 0.6)
    # The mean of |cos| to a random direction is 1/2; the grey axis is sqrt(3) long.
    expected = 0.4 * 3**0.5 / 2
    assert colour_distance(dark, light, projections=20_000, seed=3) == pytest.approx(
        expected, rel=0.02
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


def test_style_figures_do_not_depend_on_the_size_of_the_painting_s_file(backbone):
    image, painting = photograph(32, 32, seed=2), photograph(32, 40, seed=1)
    larger = torch.nn.functional.interpolate(painting[None], (128, 160), mode="bicubic")[0]
    small = measure(image, image, painting, backbone, SETTINGS)
    large = measure(image, image, larger.clamp(0, 1), backbone, SETTINGS)
    for name in ("gram_distance", "colour_distance"):
        assert large[name] == pytest.approx(small[name], rel=0.15)


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
    table = quality_table([first], [second], **sources, backbone=backbone, settings=SETTINGS)
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
        quality_table([first], [], **sources, backbone=backbone, settings=SETTINGS)


def test_a_result_from_an_unknown_painting_is_named(tmp_path, backbone):
    _, second, sources = write_runs(tmp_path)
    second.write_text("content,painting\nhut,scream\n")
    with pytest.raises(InputError, match=r"painting 'scream'.*waves"):
        quality_table([], [second], **sources, backbone=backbone, settings=SETTINGS)
