"""Figures: that they draw the numbers they are given, and write stable files."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import synthetic
from drawn import misplaced

from rl import figure4, table1
from triptych.report.palette import save_figure
from triptych.rl.report.figures import curves_figure, curves_long, sparsity_figure
from triptych.rl.report.labels import of_methods
from triptych.rl.report.masks import FLOOR, layers_figure, layers_long
from triptych.rl.report.scores import run_scores, summarise_scores
from triptych.rl.tasks.task import OWN

PUBLISHED = pd.DataFrame(
    {
        **{"method": ["dense"], "sparsity_percent": [0], "format": ["dense"]},
        **{"network": ["actor"], "published": [0.5287]},
    }
)


@pytest.fixture(scope="module")
def summary() -> pd.DataFrame:
    return synthetic.cells(summarise_scores(run_scores(synthetic.scores())))


def line(axes, label):
    return next(line for line in axes.lines if line.get_label() == label)


def test_the_score_line_goes_through_the_means_from_dense_to_the_sparsest(summary):
    figure = sparsity_figure(summary, synthetic.datasets(), ["snip"])
    assert len(figure.axes) == 6
    drawn = line(figure.axes[0], "BCQ, SNIP").get_ydata()
    cells = summary.query("task == 'hopper' and algorithm == 'BCQ' and method in ['dense', 'snip']")
    np.testing.assert_allclose(drawn, cells.sort_values("sparsity_percent")["value"])
    ticks = [text.get_text() for text in figure.axes[3].get_xticklabels()]
    assert ticks == ["0", "50", "80", "90", "95"]
    expert = line(figure.axes[0], "policy behind the data").get_ydata()
    assert expert[0] == synthetic.EXPERTS["hopper"]
    assert {"BCQ dense", "Random by layer"} <= {item.get_label() for item in figure.axes[0].lines}


def test_shares_are_drawn_where_they_are_and_emptied_layers_on_the_edge():
    layers = synthetic.layers()
    same = "task == 'hopper' and method == 'snip' and sparsity_percent == 95"
    long = layers_long(layers, sparsity_percent=95, scale="demo")
    cell = long.query(f"{same} and group == 'actor' and layer == 'l3'").iloc[0]
    shares = 100 * layers.query(f"{same} and group == 'actor' and layer == 'l3'")["share_kept"]
    assert (cell["value"], cell["deviation"]) == pytest.approx((shares.mean(), shares.std()))
    axes = layers_figure(long).axes[0]
    crosses = [item.get_xdata() for item in axes.lines if item.get_marker() == "x"]
    assert crosses == [[FLOOR["share"]]]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names[0] == "Actor  l1" and names[-1] == "Decoder  d3" and len(names) == 16
    # The dense count stands beside each layer.
    assert "562,500" in {text.get_text() for text in axes.texts}


def test_memory_lines_cross_at_the_break_even():
    long = figure4.numbers(synthetic.sizes(), PUBLISHED, scale="demo")
    axes = figure4.figure(long, task="halfcheetah").axes[0]
    sparse, dense = line(axes, "sparse indices (COO)"), line(axes, "dense")
    crossing = np.interp(
        -dense.get_ydata()[0], -np.array(sparse.get_ydata()), np.array(sparse.get_xdata())
    )
    assert crossing == pytest.approx(80, abs=1)
    published = line(axes, "published")
    assert list(published.get_xdata()) == [0] and list(published.get_ydata()) == [0.5287]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [33.3, 75.5, 82, 99.5])
def test_memory_of_a_task_that_the_paper_lacks_has_its_legend_below_its_axes(tmp_path, level):
    sizes = synthetic.sizes().query("task == 'hopper' and sparsity_percent in [0, 95]")
    sizes = sizes.assign(task="mine", sparsity_percent=sizes["sparsity_percent"].replace(95, level))
    figure = figure4.figure(figure4.numbers(sizes, PUBLISHED, scale="custom"), task="mine")
    save_figure(figure, tmp_path / "figure4")
    (legend,) = figure.legends
    assert "published" not in {text.get_text() for text in legend.texts}
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert 0 < legend.get_window_extent().y1 <= lowest
    labels = figure.axes[0].get_xticklabels()
    spans = [label.get_window_extent() for label in labels]
    assert all(one.x1 < other.x0 for one, other in pairwise(spans))
    published = pd.DataFrame({**PUBLISHED.iloc[:1].to_dict("list"), "column": ["Actor"]})
    table1.numbers(sizes, published, task="mine", sparsity=level, scale="custom")


@pytest.mark.filterwarnings("error")
def test_scores_that_are_all_zero_are_drawn_without_a_warning(tmp_path):
    zeros = synthetic.scores(tasks=["hopper"]).assign(score_normalised=0.0, unit="return")
    summary = synthetic.cells(summarise_scores(run_scores(zeros)), zeros)
    figure = sparsity_figure(summary, synthetic.datasets().iloc[:0], ["snip"])
    save_figure(figure, tmp_path / "figure1")


def test_learning_curves_draw_each_evaluation_of_dense_and_of_one_sparsity():
    scores = synthetic.scores()
    long = synthetic.cells(curves_long(scores, 95))
    assert set(long["sparsity_percent"]) == {0, 95}
    last = "task == 'hopper' and algorithm == 'BC' and method == 'dense' and update == 2000"
    expected = scores.query(last).groupby("seed")["score_normalised"].mean()
    cell = long.query(last).iloc[0]
    assert (cell["value"], cell["minimum"]) == pytest.approx((expected.mean(), expected.min()))
    drawn = line(curves_figure(long).axes[0], "Dense")
    assert list(drawn.get_xdata()) == [500, 1000, 1500, 2000]


LONG = "my_own_quadruped_on_rough_terrain_v2"
FIGURES = {
    "sparsity": lambda of: sparsity_figure(of["summary"], of["datasets"], ["snip"]),
    "criteria": lambda of: sparsity_figure(of["summary"], of["datasets"], ["snip", "grasp"]),
    "curves": lambda of: curves_figure(of["curves"]),
    "levels": lambda of: curves_figure(of["snip"], by="sparsity_percent"),
    "layers": lambda of: layers_figure(of["layers"]),
    "counts": lambda of: layers_figure(of["layers"], by="count"),
    "sizes": lambda of: figure4.figure(of["sizes"], task=LONG),
}


@pytest.mark.parametrize(
    ("tasks", "methods"),
    [(["hopper"], synthetic.METHODS), (["hopper", "walker2d"], ["snip"])],
    ids=["one task", "two tasks"],
)
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_of_own_tasks_with_long_names_is_cut_or_covered(name, tasks, methods):
    scores = synthetic.scores(methods, range(3), 2, tasks=tasks).assign(unit=OWN)
    small = synthetic.sizes()
    small = small.assign(bytes=small["bytes"] // 3000)  # of networks of a few units
    of = {
        "summary": synthetic.cells(summarise_scores(run_scores(scores)), scores),
        "curves": synthetic.cells(curves_long(scores, 95), scores),
        "snip": synthetic.cells(curves_long(of_methods(scores, ["snip"])), scores),
        "layers": layers_long(synthetic.layers(methods), sparsity_percent=95, scale="custom"),
        "sizes": figure4.numbers(small, PUBLISHED, scale="custom"),
        "datasets": synthetic.datasets(),
    }
    names = {"hopper": LONG, "walker2d": f"another-{LONG}"}
    own = {
        key: frame[frame["task"].isin(tasks)].assign(task=lambda rows: rows["task"].map(names))
        for key, frame in of.items()
    }
    assert misplaced(FIGURES[name](own)) == []
