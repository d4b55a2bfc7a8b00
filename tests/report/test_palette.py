"""What figures have in common."""

import pytest
from matplotlib.figure import Figure

from triptych.report.palette import count_axis, legend_below


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


@pytest.mark.parametrize("panels", [1, 2, 3])
def test_a_legend_is_no_wider_than_its_figure_and_leaves_the_panels_their_room(panels):
    figure = Figure(figsize=(1 + 2.75 * panels, 3.4), layout="constrained")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for panel in axes:
        for number in range(5):
            panel.plot([0, 1], [0, 1], label=f"a curve with a long name {number}")
    legend_below(figure, axes, columns=5)
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert all(panel.get_position().height > 0.3 for panel in axes)
