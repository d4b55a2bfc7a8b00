"""The first screen, bars, and the pictures as the page holds them."""

import base64
import io
import math
import re
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image
from test_page import PRICES, claims

from triptych.audio.report.page import glance as audio_glance
from triptych.report.claims import NOT_TESTABLE
from triptych.report.embedding import embedded
from triptych.report.page import PageFigure
from triptych.report.palette import save_figure
from triptych.report.summary import Bar, Bars
from triptych.report.tables import DASH, MINUS
from triptych.rl.report.page import glance as rl_glance
from triptych.rl.tasks.task import NORMALISED


def test_a_row_of_a_claim_shows_what_was_measured_or_what_it_would_take():
    assert {claim["brief"] for claim in claims()} >= {"first; second"}
    untested = {claim["id"]: claim["brief"] for claim in claims(PRICES, verdict=NOT_TESTABLE)}
    assert untested.pop("rl-bcq-95") == "config/night.yaml decides it."
    assert set(untested.values()) == {"a; b; c; d; e"}
    assert {claim["brief"] for claim in claims(reason="", verdict=NOT_TESTABLE)} == {DASH}


def test_bars_share_one_axis_and_are_cut_at_its_ends():
    bars = Bars("", [Bar("a", 30.0, "", low=-5.0, high=40.0), Bar("b", 10.0, "", high=math.inf)])
    lengths = {-5.0: 0, 0.0: 0, 10.0: 25, 40.0: 100, math.inf: 100, math.nan: 0}
    assert {length: bars.share(length) for length in lengths} == lengths
    assert Bars("", [Bar("a", math.nan, "")]).share(1.0) == 100


def test_an_alternative_text_says_what_the_figure_shows():
    caption = "Total *loss* of `Version 1`. A second sentence. More."
    figure = PageFigure("f", "Figure 2. Loss history.", caption, "data:,")
    assert figure.alt == "Loss history. Total loss of Version 1."


SIZES = pd.DataFrame(
    {"method": method, "format": form, "value": value}
    for method, form, value in (("dense", "dense", 1.0), ("snip", "coo", 0.25))
    for _ in ("actor", "critic", "vae")
)
BEHAVIOUR = {"hopper": 80.0, "walker2d": 90.0}
POLICIES = pd.DataFrame(
    {"task": task, "score_normalised_mean": score, "source": "collected"}
    for task, score in BEHAVIOUR.items()
)


def rl_scores(walker):
    """Table rows of two algorithms on two tasks, one of them also as a mean over tasks and in its
    own unit."""
    return pd.DataFrame(
        {"algorithm": algorithm, "task": task, "method": method, "sparsity_percent": level}
        | {"value": share * dense, "low": share * dense - 1, "high": share * dense + 1}
        | {"ratio_to_dense": share, "ratio_low": share - 0.1, "ratio_high": share + 0.1}
        | {"unit": "return" if task == "own" else NORMALISED}
        for algorithm in ("BCQ", "BC")
        for method, level, share in (("dense", 0, 1.0), ("snip", 95, 0.75), ("grasp", 95, 0.25))
        for task, dense in (("hopper", 80), ("walker2d", walker), ("own", 1), ("all tasks", 40))
    )


def test_offline_rl_shows_shares_where_the_dense_policies_learned():
    shown = rl_glance(SIZES, rl_scores(30), POLICIES, None, observations="normalised", updates=7)
    assert "0.75 [0.65, 0.85] on Hopper" in shown.sentence and "Walker2d" not in shown.sentence
    assert [value for value, _ in shown.numbers] == ["75%", "4.00×"]  # noqa: RUF001
    assert "Walker2d (30 of 90)" in shown.limits and "Hopper" not in shown.limits
    assert [(bar.group, bar.value, bar.strong) for bar in shown.bars.bars] == [
        ("Hopper", 80.0, False),
        ("Hopper", 60.0, True),
        ("Walker2d", 30.0, False),
        ("Walker2d", 22.5, True),
    ]


def test_offline_rl_that_learned_nothing_shows_no_share():
    scores = rl_scores(30)
    nothing = scores[scores["task"] != "hopper"]
    shown = rl_glance(SIZES, nothing, POLICIES, None, observations="normalised", updates=7)
    assert [value for value, _ in shown.numbers] == ["4.00×"]  # noqa: RUF001
    assert "%" not in shown.sentence and "0.75" not in shown.sentence
    own = scores[scores["unit"] != NORMALISED]
    assert not rl_glance(SIZES, own, POLICIES, None, observations="raw", updates=7).bars.bars


def test_offline_rl_shows_both_kinds_of_observations_from_runs_by_seed():
    sensors = pd.DataFrame(
        {"task": task, "observations": seen, "method": method, "sparsity_percent": level}
        | {"seed": seed, "value": value + seed, "unit": NORMALISED, "name": None}
        for task, method, level, seen, value in (
            *(("hopper", "dense", 0, "raw", 90), ("hopper", "snip", 95, "raw", 9)),
            *(("walker2d", "dense", 0, "raw", 20), ("walker2d", "snip", 95, "raw", 4)),
            ("hopper", "dense", 0, "normalised", 1),
        )
        for seed in (-1, 0, 1)
    )
    shown = rl_glance(SIZES, rl_scores(90), POLICIES, sensors, observations="normalised", updates=7)
    assert [value for value, _ in shown.numbers] == ["75%", "6", "4.00×"]  # noqa: RUF001
    assert "0.10 [" in shown.sentence and "Walker2d (20 of 90)" in shown.limits
    hopper = [bar for bar in shown.bars.bars if bar.group == "Hopper"]
    assert [bar.value for bar in hopper] == [80.0, 60.0, 90.0, 9.0]
    assert len({bar.label for bar in hopper}) == 4


def table2(scores, data="scenes", captions="template"):
    """The long Table 2 of systems (audio model, kind, system, mAP@10), each but chance with an
    interval one point wide to either side; R@10 is twice as high."""
    return pd.DataFrame(
        {"block": "run", "metric": metric, "kind": kind, "value": value * factor, "data": data}
        | {"audio_model": model, "text_model": "t", "clips": 100, "system": system}
        | {"low": (value - wide) * factor, "high": (value + wide) * factor, "gpt": captions}
        | {"published": 41.42 if system == "ensemble" else None}
        for metric, factor in (("map_at_10", 1), ("r_at_10", 2))
        for model, kind, system, value in scores
        for wide in [math.nan if kind == "chance" else 1]
    )


LEARNT = (
    *(("a", "finetuned_gpt", "model", 30.0), ("a", "finetuned_gpt", "model", 28.0)),
    *(("a", "finetuned_human", "model", 31.0), ("a", "pretrained", "model", 20.0)),
    ("b", "finetuned_gpt", "model", 50.0),
    *((None, "ensemble_published", "ensemble", 33.0), (None, "chance", "baseline", 3.0)),
    (None, "keywords", "baseline", 40.0),
)


def test_audio_shows_the_main_pair_between_chance_and_the_ensemble():
    shown = audio_glance(table2(LEARNT))
    assert "66 [64, 68]% of the sentences" in shown.sentence and "chance: 6%" in shown.sentence
    assert "33.0 [32.0, 34.0]" in shown.sentence and "50.0 [49.0, 51.0]" in shown.sentence
    assert "40.0 [39.0, 41.0]" in shown.sentence
    assert [value for value, _ in shown.numbers] == ["33.0%", "+11.0", f"{MINUS}17.0"]
    [*_, (captions, label)] = audio_glance(table2(LEARNT, captions="GPT")).numbers
    assert captions == f"{MINUS}2.0" and "captions" in label
    assert "paper: 41.4" in shown.numbers[0][1]
    values = {bar.label: bar.value for bar in shown.bars.bars}
    assert values["With new captions"] == 29.0 and next(iter(values)) == "Chance"
    assert "Untrained" not in values


def test_audio_that_learnt_nothing_says_so_in_place_of_gains():
    chance = [(*system, 2.5 + number / 10) for number, (*system, _) in enumerate(LEARNT)]
    shown = audio_glance(table2(chance))
    assert "than chance" in shown.sentence
    assert [value for value, _ in shown.numbers] == ["3.0%"]


def test_audio_tells_of_computed_sounds_and_templates_only_where_there_are_some():
    def limits(*kind):
        return audio_glance(table2(LEARNT, *kind)).limits

    assert "computed" in limits("scenes", "template") and "template" in limits("scenes", "template")
    assert not {"computed", "template"} & set(re.findall(r"\w+", limits("Clotho", "GPT")))
    assert limits("Clotho", "GPT")


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
