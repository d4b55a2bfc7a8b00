"""A task of more inputs than a panel shows."""

import pandas as pd

from triptych.rl.report.sensors import SHOWN, sensors_figure

RUN = {"task": "ant", "method": "snip", "sparsity_percent": 95}


def test_a_panel_shows_the_inputs_that_keep_most():
    kept = [
        {**RUN, "observations": kind, "input": i, "name": f"input {i}", "value": i, "cut": 0}
        for kind in ("raw", "normalised")
        for i in range(40)
    ]
    scores = [{**RUN, "observations": kind, "value": 50.0} for kind in ("raw", "normalised")]
    behaviour = pd.DataFrame({"task": ["ant"], "score_normalised_mean": [90.0]})
    figure = sensors_figure(pd.DataFrame(scores + kept), behaviour)
    below = next(axes for axes in figure.axes if "of 40 inputs" in axes.get_ylabel())
    names = [text.get_text() for text in below.get_yticklabels()]
    assert names == [f"input {i}" for i in range(40 - SHOWN, 40)]
