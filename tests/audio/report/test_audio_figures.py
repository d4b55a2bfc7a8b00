"""Figure 2 of the audio study: lines and bars where the numbers are."""

import numpy as np
import pytest
import synthetic_audio as made

from triptych.audio.report.figures import CAPTION_COLOURS, finetuning_figure, finetuning_long


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
