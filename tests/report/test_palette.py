"""What figures have in common."""

import pytest
from matplotlib.figure import Figure

from triptych.report.palette import count_axis


@pytest.mark.parametrize("counts", [[1], [2, 4], [1, 2, 3], [0, 250, 600], [0, 1_000_000]])
def test_an_axis_of_counts_says_where_its_points_are(counts):
    figure = Figure()
    axes = figure.subplots()
    axes.plot(counts, counts)
    count_axis(axes)
    figure.canvas.draw()
    low, high = axes.get_xlim()
    labels = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    shown = {tick: label.get_text() for tick, label in labels if low <= tick <= high}
    assert shown and all(text == f"{tick:,.0f}" for tick, text in shown.items())
    assert all(tick == int(tick) for tick in shown)
