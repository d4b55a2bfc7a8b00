"""Figures of the style study: images in their places, numbers as given, files small and stable."""

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest
import synthetic_style as made
from matplotlib.text import Text
from PIL import Image

from style import figure2, figure6, figure7, styles
from style.figure8 import busiest_window
from triptych.report.palette import save_figure
from triptych.style.report.panels import Experiment, Panel, Shown, picture_figure

EXPERIMENTS = made.runs_and_histories(evaluations=60)


def files(folder, results):
    return {
        "result": made.pictures(folder / "results", results),
        "content": made.pictures(folder / "contents", made.CONTENTS),
        "painting": made.pictures(folder / "paintings", made.PAINTINGS),
    }


def experiment(name, **pictures):
    return Experiment(*EXPERIMENTS[name], "demo", **pictures)


def panel(height, width):
    return Panel(np.full((height, width, 3), 90, np.uint8), "x")


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text)]


def test_images_of_one_row_are_equally_high_and_keep_their_shape():
    shapes = [(60, 80), (90, 30), (50, 50)]
    figure = picture_figure([[panel(*shape) for shape in shapes], [panel(40, 20), None]])
    figure.draw_without_rendering()
    wide, high = figure.get_size_inches()
    shown = [axes for axes in figure.axes if axes.images]
    heights = {round(axes.get_position().height * high, 6) for axes in shown}
    assert len(heights) == 1
    for axes, (down, across) in zip(shown, [*shapes, (40, 20)], strict=True):
        inches = axes.get_position().width * wide * across / axes.get_xlim()[1]
        assert inches / heights.copy().pop() == pytest.approx(across / down, rel=1e-3)


def test_an_image_in_the_svg_is_the_one_that_was_given_with_the_same_bytes_again(tmp_path):
    picture = np.zeros((40, 60, 3), np.uint8)
    picture[:, :30] = (200, 30, 30)
    picture[:, 30:] = (30, 30, 200)
    for name in ("f", "again"):
        figure = picture_figure([[Panel(picture, "two halves")]])
        save_figure(figure, tmp_path / name)
    for suffix in ("svg", "pdf", "png"):
        once, again = (tmp_path / f"{name}.{suffix}" for name in ("f", "again"))
        assert once.read_bytes() == again.read_bytes()
    data = re.search(r"data:image/jpeg;base64,([^\"]+)", (tmp_path / "f.svg").read_text())
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1]))).convert("RGB"), int)
    height, width, _ = image.shape
    assert width / height == pytest.approx(1.5, rel=0.02)
    assert np.abs(image[height // 2, width // 4] - (200, 30, 30)).max() < 12
    assert np.abs(image[height // 2, 3 * width // 4] - (30, 30, 200)).max() < 12


def test_the_detail_is_where_the_contours_are():
    picture = np.full((120, 180, 3), 128, np.uint8)
    picture[60:80, 90:120] = np.random.default_rng(1).integers(0, 255, (20, 30, 3))
    left, top, width, height = busiest_window(picture)
    assert (width, height) == (30, 20)
    assert abs(left - 90) <= 15 and abs(top - 60) <= 10


def test_optimizers_have_a_row_for_each_kind_of_rates_and_say_how_they_ended(tmp_path):
    pictures = files(tmp_path, EXPERIMENTS["optimizers"][0]["run"])
    said = texts(figure6.figure(experiment("optimizers", **pictures)))
    assert said.count("L-BFGS") == said.count("Adam") == said.count("SGD") == 2
    rates = {f"VGG-19, {rates} rates" for rates in ("authors'", "tuned")}
    assert {*rates, "diverged: last good state"} <= set(said)


def test_a_missing_result_is_named(tmp_path):
    with pytest.raises(ValueError, match="no result named 'swirls-lake'"):
        figure7.figure(experiment("paintings", **files(tmp_path, ["other"])))


def test_loss_curves_draw_the_relative_totals():
    axes = figure2.figure(experiment("backbones")).axes[0]
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.lines}
    history = EXPERIMENTS["backbones"][1]
    totals = history[history["run"] == "vgg"]["total"].to_numpy()
    np.testing.assert_allclose(lines["VGG-19"], totals / totals[0])
    assert axes.get_yscale() == "log"


def test_a_loss_that_begins_near_zero_does_not_stretch_the_axis():
    shown = experiment("backbones")
    faint = shown.history["evaluation"] == 2
    content = shown.history["term"] == "content"
    shown.history["value"] = shown.history["value"].mask(faint & content, 1e-12)
    end = shown.history["evaluation"] == shown.history["evaluation"].max()
    last = shown.history.loc[end, "value"].min()
    assert last / 100 < figure2.figure(shown).axes[0].get_ylim()[0]


def test_each_photograph_stands_below_the_painting_that_its_network_learned_from(tmp_path):
    runs = pd.concat(
        [made.stylised_runs("swirls", "trained"), made.stylised_runs("waves", "shipped")]
    )
    long = styles.numbers(runs, made.CONTENTS, scale="demo")
    pairs = list(zip(long["painting"], long["content"], strict=True))
    assert pairs == list(zip(["swirls", "waves"], made.CONTENTS, strict=True))
    names = [f"{painting}/{content}" for painting, content in pairs]
    given = Shown(long, **files(tmp_path, names))
    figure = styles.figure(given)
    shown = [np.asarray(axes.get_images()[0].get_array()) for axes in figure.axes]
    for result, name in zip(shown[2:], names, strict=True):
        np.testing.assert_array_equal(result, given.picture("result", name))
    said = texts(figure)
    assert {"Swirls", "Waves"} <= set(said)
    assert any(text.startswith("trained in this run") for text in said)
