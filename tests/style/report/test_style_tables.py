"""Tables of the style study: published beside ours only where they may be compared."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic_style as made

from style import figure4, scores, table1
from triptych.report.tables import DASH

PUBLISHED = Path(__file__).parents[3] / "resources" / "published"
PAPER = {"alexnet": "alexnet", "vgg": "vgg19"}
NARROW = {"alexnet": "narrow_alexnet", "vgg": "vgg16"}


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(PUBLISHED / "style_table1_seconds.csv")


def numbers(timing, published, architectures=NARROW, width=16):
    return table1.numbers(timing, published, architectures=architectures, width=width, scale="demo")


def cell(long, size, column, counts="run"):
    chosen = long[(long["size"] == size) & (long["column"] == column) & (long["counts"] == counts)]
    assert len(chosen) == 1
    return chosen.iloc[0]


def test_seconds_are_means_over_images_with_repeats_averaged_first(published):
    timing = made.timing_images()
    long = numbers(timing, published)
    ours = cell(long, 128, "network")
    rows = timing[(timing["size"] == 128) & (timing["backbone"] == "network")]
    images = rows.groupby("image")["seconds"].mean()
    assert ours["value"] == pytest.approx(images.mean())
    assert ours["deviation"] == pytest.approx(images.std(ddof=1))
    assert ours["images"] == 4 and ours["architecture"] == "width 16"


def test_scaled_seconds_stand_apart_and_the_speed_up_is_theirs(published):
    long = numbers(made.timing_images(), published)
    run, scaled = cell(long, 256, "vgg"), cell(long, 256, "vgg", "scaled")
    assert (run["evaluations"], scaled["evaluations"]) == (20, 700)
    assert scaled["value"] == pytest.approx(35 * run["value"])
    shown = table1.table(long, "", "")
    assert ("Version 1, VGG", "scaled to 700") in shown.columns
    assert "not measured" in shown.caption
    network = cell(long, 256, "network")["value"]
    ratios = [cell(long, 256, name, "scaled")["value"] / network for name in ("alexnet", "vgg")]
    assert cell(long, 256, "speedup_low", "scaled")["value"] == pytest.approx(min(ratios))
    assert cell(long, 256, "speedup_high", "scaled")["value"] == pytest.approx(max(ratios))
    assert cell(long, 256, "speedup_high", "scaled")["published"] == 1150


def test_what_was_run_or_timed_otherwise_shows_no_difference_to_the_published(published):
    long = numbers(made.timing_images(), published)
    assert not long["comparable"].any()
    shown = table1.table(long, "", "")
    assert "difference" not in {header for _, header in shown.columns}
    assert "No difference is shown" in shown.caption
    assert "VGG-16" in shown.caption and made.CPU in shown.caption
    at_256 = next(row for row in shown.rows if row[0].startswith("256"))
    assert "9.15" in at_256 and "23" in at_256
    assert np.isnan(cell(long, 1024, "vgg")["value"])
    row = shown.rows[-1]
    assert row[0].startswith("1024") and "285" in row and DASH in row


def test_the_papers_own_conditions_show_differences(published):
    timing = made.timing_images(sizes=(256, 512, 1024), evaluations=700, device=made.GPU)
    long = numbers(timing, published, PAPER, 32)
    assert long["comparable"].all() and set(long["counts"]) == {"run"}
    by_size = long[long["size"] == 512].set_index("column")["value"]
    assert by_size["speedup_high"] == pytest.approx(by_size["vgg"] / by_size["network"])
    row = cell(long, 512, "vgg")
    assert row["difference"] == pytest.approx(row["value"] - 78.8)
    shown = table1.table(long, "", "")
    assert ("Version 1, VGG", "difference") in shown.columns
    assert "scaled" not in shown.caption.lower()


def test_a_difference_in_time_has_an_interval_and_a_verdict():
    long = figure4.numbers(made.timing_losses(shift={"l1": 0.2}), scale="demo")
    paired = long[long["statistic"] == "difference_percent"].set_index("content_loss")
    assert paired.at["l1", "verdict"] == "slower"
    assert paired.at["l1", "value"] == pytest.approx(10, abs=1)
    assert paired.at["huber", "verdict"] == "no difference"
    assert "mse" not in paired.index
    # What a whole round shares cancels: the interval is far narrower than the spread of rounds.
    spread = long[long["content_loss"] == "huber"]["value"].std()
    assert paired.at["huber", "high"] - paired.at["huber", "low"] < 100 * spread


def test_quality_counts_images_of_one_network_together_and_runs_of_version_1_apart():
    experiments = made.runs_and_histories(evaluations=20)
    stylised = pd.concat(
        [made.stylised_runs("swirls", "trained"), made.stylised_runs("waves", "shipped")]
    )
    long = scores.numbers(made.quality(experiments), stylised, scale="demo")
    second = long[(long["version"] == 2) & (long["measure"] == "ssim_luma")]
    assert list(second["images"]) == [2, 2] and second["low"].notna().all()
    assert dict(zip(second["painting"], second["origin"], strict=True)) == {
        "swirls": "trained",
        "waves": "shipped",
    }
    names = [row[0] for row in scores.table(long, "", "").rows]
    assert names[:2] == ["Version 2, network trained in this run", "Version 2, network shipped"]
    assert "Version 1, optimizer sgd-authors" in names
    runs = {name: len(runs) for name, (runs, _) in experiments.items()}
    # Those of `paintings` count together by painting.
    assert len(names) == 2 + sum(runs.values()) - runs["paintings"] + len(made.PAINTINGS)


def test_the_published_speed_ups_are_quotients_of_the_published_seconds(published):
    low = (published["v1_alexnet_s"] / published["v2_s"]).astype(int)
    high = (published["v1_vgg_s"] / published["v2_s"]).round().astype(int)
    assert (low - published["speedup_low"]).abs().max() <= 1
    assert (high - published["speedup_high"]).abs().max() <= 1
