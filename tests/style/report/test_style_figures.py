"""Figures of the style study: images in their places, numbers as given, files small and stable."""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic_style as made
from PIL import Image

from triptych.report.palette import save_figure
from triptych.style.report.figures_images import (
    busiest_window,
    cropped,
    optimizer_images_figure,
    paintings_figure,
    styles_figure,
)
from triptych.style.report.figures_losses import (
    backbones_figure,
    loss_times_figure,
    loss_times_long,
    optimizers_figure,
)
from triptych.style.report.figures_network import checkpoints_figure, checkpoints_long
from triptych.style.report.panels import (
    Panel,
    files_by_stem,
    picture_figure,
    read_picture,
    stylised_by_pair,
)
from triptych.style.report.runs import history_long, results_long, styles_long, versions_long


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    return made.write_results(folder, side=24)


def panel(height, width, title="x"):
    return Panel(np.full((height, width, 3), 90, np.uint8), title)


def texts(figure):
    return [text.get_text() for text in figure.texts]


def test_images_of_one_row_are_equally_high_and_keep_their_shape():
    figure, _ = picture_figure([[panel(60, 80), panel(90, 30), panel(50, 50)]])
    wide, high = figure.get_size_inches()
    sizes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.height, 9) for box in sizes}) == 1
    shapes = [box.width * wide / (box.height * high) for box in sizes]
    np.testing.assert_allclose(shapes, [80 / 60, 30 / 90, 1.0])
    assert all(box.x0 >= 0 and box.x1 <= 1 and box.y0 >= 0 and box.y1 <= 1 for box in sizes)


def test_columns_stand_below_each_other_and_empty_places_stay_empty():
    figure, charts = picture_figure([[panel(9, 9), panel(9, 9)], [None, panel(9, 9)]], charts=2)
    assert len(figure.axes) == 5 and len(charts) == 2
    _, right, below = figure.axes[:3]
    assert below.get_position().x0 == right.get_position().x0
    with pytest.raises(ValueError, match="at least one image"):
        picture_figure([[None]])


def test_what_is_transparent_is_shown_on_white(tmp_path):
    Image.new("RGBA", (2, 2), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (read_picture(tmp_path / "clear.png") == 255).all()
    (tmp_path / "not.png").write_text("no image")
    with pytest.raises(ValueError, match=r"not\.png: an image expected"):
        read_picture(tmp_path / "not.png")


def test_an_image_in_the_svg_is_the_one_that_was_given_with_the_same_bytes_again(tmp_path):
    picture = np.zeros((40, 60, 3), np.uint8)
    picture[:, :30] = (200, 30, 30)
    picture[:, 30:] = (30, 30, 200)
    figure, _ = picture_figure([[Panel(picture, "two halves")]])
    for name in ("f", "again"):
        save_figure(figure, tmp_path / name, photographs=True)
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


def test_optimizers_have_a_row_for_each_kind_of_rates_and_say_how_they_ended(files):
    long = results_long(
        pd.read_csv(files["optimizers_runs"]), experiment="optimizers", scale="demo"
    )
    figure = optimizer_images_figure(
        long,
        images=files_by_stem(files["optimizers_images"]),
        contents=files_by_stem(files["contents"]),
        paintings=files_by_stem(files["paintings"]),
    )
    said = texts(figure)
    assert len(figure.axes) == 8
    assert said.count("L-BFGS") == said.count("Adam") == said.count("SGD") == 2
    assert {"Authors' rates", "Tuned rates", "diverged: last good state"} <= set(said)


def test_each_style_stands_above_its_result(files):
    long = results_long(pd.read_csv(files["paintings_runs"]), experiment="paintings", scale="demo")
    figure = paintings_figure(
        long,
        images=files_by_stem(files["paintings_images"]),
        contents=files_by_stem(files["contents"]),
        paintings=files_by_stem(files["paintings"]),
    )
    places = [round(axes.get_position().x0, 6) for axes in figure.axes]
    assert places[1:4] == places[4:]
    assert {"Swirls", "Waves", "Mosaic"} <= set(texts(figure))


def test_a_missing_result_is_named(files):
    long = results_long(pd.read_csv(files["paintings_runs"]), experiment="paintings", scale="demo")
    with pytest.raises(ValueError, match="no result named 'swirls-lake'; there are: other"):
        paintings_figure(
            long,
            images={"other": Path("other.png")},
            contents=files_by_stem(files["contents"]),
            paintings=files_by_stem(files["paintings"]),
        )


def test_both_versions_must_have_run_on_the_pair(files):
    runs, quality = pd.read_csv(files["paintings_runs"]), pd.read_csv(files["quality"])
    stylised = pd.read_csv(files["stylised_runs"][0])
    chosen = {"content": "lake", "painting": "swirls", "scale": "demo"}
    long = versions_long(runs, stylised, quality, **chosen)
    assert set(long[long["measure"] == "ssim_luma"]["version"]) == {1, 2}
    with pytest.raises(ValueError, match="Version 2 was not run on lake with mosaic"):
        versions_long(runs, stylised, quality, **{**chosen, "painting": "mosaic"})


def test_loss_curves_draw_the_relative_totals(files):
    runs, history = (pd.read_csv(files[f"backbones_{kind}"]) for kind in ("runs", "history"))
    long = history_long(history, runs, experiment="backbones", scale="demo")
    axes = backbones_figure(long).axes[0]
    assert axes.get_yscale() == "log"
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.lines}
    totals = history[history["run"] == "vgg"]["total"].to_numpy()
    np.testing.assert_allclose(drawn["VGG-16 (hed)"], totals / totals[0])


def test_a_run_that_diverged_ends_in_a_cross(files):
    runs, history = (pd.read_csv(files[f"optimizers_{kind}"]) for kind in ("runs", "history"))
    long = history_long(history, runs, experiment="optimizers", scale="demo")
    authors, tuned = optimizers_figure(long).axes
    crosses = [
        [line for line in axes.lines if line.get_marker() == "x"] for axes in (authors, tuned)
    ]
    assert not crosses[0] and len(crosses[1]) == 1
    assert (
        crosses[1][0].get_xdata()[0] == history[history["run"] == "sgd-tuned"]["evaluation"].max()
    )


def test_run_times_start_at_zero_and_say_no_difference(files):
    runs, history = (pd.read_csv(files[f"losses_{kind}"]) for kind in ("runs", "history"))
    times = loss_times_long(pd.read_csv(files["losses"]), scale="demo")
    figure = loss_times_figure(
        times, history_long(history, runs, experiment="losses", scale="demo")
    )
    seconds, differences, trends = figure.axes
    assert seconds.get_ylim()[0] == 0
    assert "no difference" in {text.get_text() for text in differences.texts}
    assert [line.get_label() for line in trends.lines] == ["L1", "smooth L1", "Huber", "MSE"]


def test_shipped_sheets_are_told_from_those_of_this_run(files):
    selection = pd.concat([pd.read_csv(path) for path in files["selection"]])
    long = checkpoints_long(selection, scale="demo")
    figure = checkpoints_figure(long, trained=files["sheets"], shipped=files["shipped_sheets"])
    said = texts(figure)
    assert "Waves, shipped" in said and "Swirls, trained in this run" in said
    assert "chosen on held-out images: batch 160" in said


def test_each_photograph_stands_below_the_painting_that_its_network_learned_from(files):
    runs = pd.concat([pd.read_csv(path) for path in files["stylised_runs"]])
    contents = list(dict.fromkeys(runs["content"]))
    long = styles_long(runs, contents, scale="demo")
    pairs = stylised_by_pair(files["stylised"])
    figure = styles_figure(long, stylised=pairs, paintings=files_by_stem(files["paintings"]))
    assert list(zip(long["painting"], long["content"], strict=True)) == [
        ("swirls", contents[0]),
        ("waves", contents[1]),
    ]
    shown = [np.asarray(axes.get_images()[0].get_array()) for axes in figure.axes]
    for result, (_, row) in zip(shown[2:], long.iterrows(), strict=True):
        given = read_picture(pairs[row["painting"], row["content"]])
        np.testing.assert_array_equal(result, given)
    assert [text for text in texts(figure) if text in ("Swirls", "Waves")] == ["Swirls", "Waves"]
    assert any(text.startswith("trained in this run") for text in texts(figure))


def test_a_painting_is_cut_in_its_middle_to_the_results_proportions():
    picture = np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3)
    square, low = np.zeros((8, 8, 3), np.uint8), np.zeros((10, 40, 3), np.uint8)
    np.testing.assert_array_equal(cropped(picture, square), picture[:, 10:50])
    assert cropped(picture, low).shape == (15, 60, 3)
