"""The first screen's rows, and the pictures as the page holds them."""

import base64
import io
import re
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image
from test_page import PRICES, claims, page, study

from triptych.audio.report.page import headlines as audio_headlines
from triptych.report.claims import NOT_TESTABLE, REPRODUCED
from triptych.report.embedding import embedded
from triptych.report.page import PageFigure
from triptych.report.palette import save_figure
from triptych.report.scoreboard import Headline, scores
from triptych.report.tables import DASH, MINUS
from triptych.rl.report.page import headlines as rl_headlines
from triptych.style.report.page import headlines as style_headlines


def row(**changes):
    return Headline(**{"text": "T", "where": "W", "published": 4.0, "ours": 3.8, **changes})


@pytest.mark.parametrize(
    ("ours", "points", "distance"),
    [(3.8, False, f"{MINUS}5.0 %"), (5.0, True, "+1.0 MB"), (float("nan"), False, DASH)],
)
def test_a_distance_is_relative_or_in_points(ours, points, distance):
    assert row(ours=ours, points=points, unit=" MB", digits=1).distance() == distance


def test_a_claim_shows_its_number_and_others_their_words():
    number = row(unit=" MB", digits=2, claim="rl-bc-95", interval="[3.70, 3.90]")
    found = {each.anchor: each for each in scores(claims(), [number])}
    ours = found["claim-rl-bc-95"]
    assert (ours.published, ours.ours) == ("4.00 MB", "3.80 MB")
    assert (ours.interval, ours.distance) == ("[3.70, 3.90]", f"{MINUS}5.0 %")
    other = found["claim-rl-memory-4x"]
    assert (other.published, other.ours) == ("about 4× smaller", "first; second")  # noqa: RUF001
    assert (other.interval, other.distance) == (DASH, DASH)


def test_a_claim_that_was_not_tested_shows_no_number_bare_beside_the_published_one():
    number = row(unit=" MB", digits=2, claim="rl-bc-95")
    untested = claims(verdict=NOT_TESTABLE, measured="another network: 3.80 MB")
    found = {each.anchor: each for each in scores(untested, [number])}["claim-rl-bc-95"]
    assert (found.published, found.ours) == ("4.00 MB", "another network: 3.80 MB")
    assert found.distance == DASH


def test_what_was_not_tested_says_which_scale_would_and_what_is_lacking():
    rows = scores(claims(PRICES, verdict=NOT_TESTABLE, reason="One seed; no GPU."), [])
    said = {each.anchor.removeprefix("claim-"): each.price for each in rows}
    assert said.pop("rl-bcq-95") == "config/night.yaml decides it. One seed. No GPU."
    assert set(said.values()) == {"One seed. No GPU."}
    assert {each.price for each in scores(claims(PRICES, verdict=REPRODUCED), [])} == {""}
    many = scores(claims(verdict=NOT_TESTABLE, reason="One seed; no GPU; one image; bf16."), [])
    assert {each.price for each in many} == {"One seed. No GPU. And 2 more."}


def test_untested_claims_and_numbers_that_cannot_be_compared_are_folded_below():
    numbers = [row(unit="", digits=1, unlike=unlike) for unlike in ("", "Another network.")]
    rows = study(claims=claims(), headlines=numbers)
    assert [each.price for each in rows.scores(False)][1:] == ["Another network."]
    assert NOT_TESTABLE not in {each.verdict for each in rows.scores(True)}
    html = page(studies=[rows])
    fold = html[html.index("<details>") :]
    assert "Another network." in fold[: fold.index("</details>")]


def test_an_alternative_text_says_what_the_figure_shows():
    caption = f"Total *loss* of `Version 1`. A second sentence. {'More of it ' * 30}."
    figure = PageFigure("f", "Figure 2. Loss history.", caption, "data:,")
    assert figure.alt == "Loss history. Total loss of Version 1. A second sentence."


def test_every_wings_numbers_come_from_its_table():
    cells = [
        ("dense", "dense", 0, 1.0, 1.1),
        ("snip", "coo", 95, 0.25, 0.26),
        ("grasp", "coo", 95, 0.25, 0.2),
    ]
    table = pd.DataFrame(
        {"method": method, "format": form, "column": network, "sparsity_percent": level}
        | {"value": value, "published": printed, "seeds": 5}
        for method, form, level, value, printed in cells
        for network in ("actor", "critic", "vae")
    )
    ratios = pd.DataFrame(
        {"algorithm": "BC", "task": task, "method": "snip", "sparsity_percent": 95}
        | {"ratio_to_dense": ratio, "ratio_low": ratio - 0.1, "ratio_high": ratio + 0.1}
        for task, ratio in (("hopper", 0.7), ("walker2d", 0.9), ("ant", 0.1))
    )
    rl = {each.claim or each.text: each for each in rl_headlines(table, ratios)}
    assert rl["rl-memory-4x"].ours == pytest.approx(4)
    assert rl["rl-bc-95"].ours == 0.7 and rl["rl-bc-95"].interval.startswith("[0.60, 0.80]")
    assert np.isnan(rl["rl-bcq-95"].ours)
    assert rl["Actor, GraSP at 95%: megabytes stored"].published == 0.2

    audio = pd.DataFrame(
        {"block": "run", "metric": "map_at_10", "corpus": "leak_free", "kind": kind, "value": value}
        | {"audio_model": model, "text_model": "t", "low": value - 1, "high": value + 1}
        for model, kind, value in (
            *(("a", "finetuned_gpt", 30.0), ("a", "finetuned_gpt", 28.0)),
            *(("a", "finetuned_human", 27.0), ("a", "pretrained", 20.0)),
            *(("b", "finetuned_gpt", 29.5), (None, "ensemble_published", 33.0)),
        )
    )
    found = {each.claim: each for each in audio_headlines(audio)}
    assert found["audio-best-single"].interval == "[29.00, 31.00]"
    assert found["audio-gpt-helps"].ours == pytest.approx(2)
    assert found["audio-finetune-helps"].ours == pytest.approx(7)
    assert found["audio-ensemble"].distance() == f"{MINUS}8.42 mAP@10"


@pytest.mark.parametrize(
    ("comparable", "value", "unlike"),
    [(True, 1.0, ""), (False, 1.0, "vgg16"), (False, np.nan, "512 pixels were not timed")],
)
def test_seconds_of_other_networks_are_not_compared(comparable, value, unlike):
    table = pd.DataFrame(
        {"size": 512, "column": column, "counts": "run", "value": value, "published": 5.0}
        | {"architecture": "vgg16", "device": "CPU", "comparable": comparable}
        | {"minimum": value, "maximum": value}
        for column in ("alexnet", "vgg", "network")
    )
    assert all(unlike in each.unlike for each in style_headlines(table) if not each.claim)
    assert any(each.unlike for each in style_headlines(table)) == bool(unlike)


@pytest.fixture
def drawn(tmp_path):
    """A figure of a photograph and a line, as the figures' scripts write them."""
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    noise = np.random.default_rng(0).normal(0, 25, (400, 400, 3))
    ramp = np.linspace(0, 255, 400)[:, None, None]
    left.imshow(np.clip(ramp + noise, 0, 255).astype(np.uint8))
    right.plot(np.linspace(0, 1, 50) ** 2)
    save_figure(figure, tmp_path / "drawn", photographs=True)
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
