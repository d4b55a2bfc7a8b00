"""Figures of the audio study: lines, bars and chance where the numbers are; stable bytes."""

import numpy as np
import pytest
import synthetic_audio as made

from triptych.audio.report.figures import beyond_figure, finetuning_figure, finetuning_long
from triptych.audio.report.labels import CAPTION_COLOURS
from triptych.audio.report.tables_others import beyond_long
from triptych.report.palette import MUTED


@pytest.fixture(scope="module")
def scores():
    return made.metrics(made.queries(made.runs(), clips=40, captions=2), clips=40)


@pytest.fixture(scope="module")
def curves():
    return finetuning_long(made.history(made.runs()), made.study(), scale="demo")


def test_figure2_has_a_line_and_bars_for_each_kind_of_captions(curves):
    figure = finetuning_figure(curves)
    loss, score = figure.axes
    for captions, colour in CAPTION_COLOURS.items():
        bars = [each for each in loss.containers if each[0].get_color() == colour]
        assert len(bars) == 1
        cells = curves[(curves["captions"] == captions) & (curves["measure"] == "validation_loss")]
        heights = np.asarray(bars[0][0].get_ydata(), dtype=float)
        np.testing.assert_allclose(heights, cells.sort_values("epoch")["value"])
        ends = np.array(bars[0][2][0].get_segments())[:, :, 1]
        for end, name in enumerate(("minimum", "maximum")):
            np.testing.assert_allclose(ends[:, end], cells[name].astype(float))
    assert score.get_title(loc="left") == "Validation mAP@10"
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {
        "human captions, 3 runs",
        "new captions, 3 runs",
    }


def test_every_panel_has_chance_and_every_system_its_point(scores):
    long = beyond_long(scores, made.study(), scale="demo")
    assert {"single", "seen", "unseen"} == set(long["measure"])
    figure = beyond_figure(long)
    assert len(figure.axes) == 2
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert len(names) == 13 and "Chance" not in names
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[1:] == ["Unseen combinations"]
    for axes in figure.axes:
        dotted = [line for line in axes.lines if line.get_label() == "chance"]
        assert len(dotted) == 1 and dotted[0].get_color() == MUTED
        assert dotted[0].get_xdata()[0] == pytest.approx(100 * 2.929 / 40, rel=1e-3)
    points = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "o"]
    single = long[(long["measure"] == "single") & (long["kind"] != "chance")]
    np.testing.assert_allclose(sorted(points), sorted(single["value"]))
    low, high = figure.axes[0].get_xlim()
    assert low == 0 and high > single["high"].max()
