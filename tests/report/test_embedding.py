"""Bars, and the pictures as the page holds them."""

import base64
import io
import math
import re
from urllib.parse import unquote

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from triptych.report.embedding import embedded
from triptych.report.palette import save_figure
from triptych.report.summary import Bar, Bars


def test_bars_share_one_axis_and_are_cut_at_its_ends():
    bars = Bars("", [Bar("a", 30.0, "", low=-5.0, high=40.0), Bar("b", 10.0, "", high=math.inf)])
    lengths = {-5.0: 0, 0.0: 0, 10.0: 25, 40.0: 100, math.inf: 100, math.nan: 0}
    assert {length: bars.share(length) for length in lengths} == lengths
    assert Bars("", [Bar("a", math.nan, "")]).share(1.0) == 100


@pytest.fixture
def drawn(tmp_path):
    """A figure of a photograph and a line, as the figures' scripts write them."""
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    noise = np.random.default_rng(0).normal(0, 25, (400, 400, 3))
    ramp = np.linspace(0, 255, 400)[:, None, None]
    left.imshow(np.clip(ramp + noise, 0, 255).astype(np.uint8))
    right.plot(np.linspace(0, 1, 50) ** 2)
    save_figure(figure, tmp_path / "drawn")
    return tmp_path / "drawn"


def test_a_figure_is_lighter_on_the_page_and_still_the_same(drawn):
    svg = drawn.with_suffix(".svg")
    found = embedded(svg)
    assert len(found.source) < 0.6 * svg.stat().st_size
    assert (found.width, found.height, found.photographs) == (648, 288, True)
    assert not set(found.source) & set('<>&"')
    text = unquote(found.source.removeprefix("data:image/svg+xml,"))

    def line(source):
        path = re.findall(r'd="(M [^"]*)"[^>]*stroke: #1f77b4', source)[-1]
        return np.array(re.findall(r"[\d.]+", path), dtype=float)

    assert np.abs(line(text) - line(svg.read_text())).max() < 0.01
    photograph = re.search(r"data:image/webp;base64,([\w+/=]+)", text)
    with Image.open(io.BytesIO(base64.b64decode(photograph[1]))) as picture:
        assert picture.format == "WEBP"
