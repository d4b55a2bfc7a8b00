"""Verdicts on the style study's claims: runs made to satisfy, to break or not to test them."""

import numpy as np
import pandas as pd
import pytest
import synthetic_style as made
from paper_runs import below, paper_run, said, scaled, without

from triptych.report.claims import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SEEN,
    UNDECIDED,
)

SPEED = "style-speedup"
LOSS = "total_loss_final"


def end_far_above(history):
    """AlexNet's loss rises again."""
    return scaled("total", 30, run="alexnet", evaluation=list(range(501, 701)))(history)


def unspoiled(history):
    """AlexNet's loss at 1024 pixels is that at 512."""
    others = history[history["run"] != "alexnet-1024"]
    return pd.concat([others, history[history["run"] == "alexnet-512"].assign(run="alexnet-1024")])


def spiked(history):
    """One step of a line search overshoots, which is no trend."""
    return scaled("total", 50, run="vgg", evaluation=300)(history)


BROKEN = [
    (SPEED, "style_timing", scaled("seconds", 10, backbone="network"), "AlexNet at 256: 6"),
    ("style-4k", "style_stylised_runs", scaled("seconds", 29), "3.19 s for Waves"),
    (
        *("style-alexnet-faster", "style_timing", scaled("seconds", 0.25, backbone="alexnet")),
        "times as fast",
    ),
    ("style-backbone-loss-trend", "style_history", end_far_above, "AlexNet rises to"),
    (
        *("style-lbfgs-lowest", "style_runs", said(LOSS, 1e-9, run="adam-authors")),
        "Adam's final loss (1e-09) is not above",
    ),
    ("style-sgd-fails", "style_quality", said("ssim_luma", 0.6), "SGD's image keeps structure"),
    (
        *("style-content-init", "style_quality", said("ssim_luma", 0.9, run="noise")),
        "a start from white noise keeps as much",
    ),
    (
        *("style-video", "style_properties", said("frames_per_second", 25.0, file="video")),
        "frames per second 25, the source's 24",
    ),
    (
        *("style-versions-differ", "style_quality", scaled("gram_distance", 9, version=1)),
        "style distance, Version 1 minus 2 is",
    ),
    ("style-adam-content", "style_quality", said("ssim_luma", 0.1, run="adam-authors"), "SSIM"),
    (
        "style-losses-alike",
        "style_quality",
        said("ssim_luma", 0.4, run="l1"),
        "SSIM differs by 0.22",
    ),
    (
        *("style-backbones-alike", "style_quality", said("colour_distance", 0.2, run="alexnet")),
        "colours differs by 0.15",
    ),
    ("style-video-consistency", "style_flicker", scaled("ratio", 2), "Waves flickers"),
]
UNCLEAR = [
    (
        *("style-loss-function-time", "style_loss_timing"),
        lambda frame: made.timing_losses(device=made.GPU),
        "no clear difference",
    ),
    (
        *("style-video", "style_speed", said("frames_per_second", 20.0)),
        "not clearly faster than single frames",
    ),
    ("style-versions-differ", "style_quality", said("gram_distance", 0.5), "style distance"),
    (
        *("style-adam-content", "style_runs", said("status", "diverged", run="lbfgs-authors")),
        "its image is its last good state",
    ),
]
BOTH = "both images measured (missing: alexnet)"
FOUND = [
    (SPEED, "style_timing", without(size=512, backbone="alexnet"), "timed at each size (0 here)"),
    (SPEED, "style_timing", said("device", made.CPU), "a GPU (Some Processor 9000, 2 cores here)"),
    (SPEED, "style_timing", said("precision", "fp16"), "float32 or TF32 (fp16 here)"),
    ("style-4k", "style_stylised_runs", said("height", 100), "pixels (403,200 here)"),
    ("style-4k", "style_stylised_runs", said("width", 16), "32 channels (16 here)"),
    ("style-alexnet-faster", "style_timing", below("image", 7), "timed with both (7 here)"),
    ("style-versions-differ", "style_stylised_runs", said("batches", 90), "batches (90 here)"),
    ("style-versions-differ", "style_runs", said("precision", "bf16"), "TF32 (bf16 here)"),
    ("style-versions-differ", "style_quality", without(version=2, content="lake"), "(2 here)"),
    ("style-lbfgs-lowest", "style_runs", without(run="adam-authors"), "rates (missing: adam)"),
    ("style-sgd-fails", "style_history", below("evaluation", 601), "a whole loss history"),
    ("style-alexnet-1024", "style_runs", without(run="vgg-1024"), "larger (missing: vgg 1024)"),
    ("style-content-init", "style_quality", without(run="noise"), "measured (missing: noise)"),
    ("style-backbones-alike", "style_quality", without(run="alexnet"), BOTH),
    (
        "style-losses-alike",
        "style_quality",
        without(run="l1"),
        "four losses measured (missing: l1)",
    ),
    ("style-video", "style_speed", without(batch=8), "larger batch (0 here)"),
    ("style-video", "style_properties", without(file="video"), "every video read back"),
    ("style-video-consistency", "style_flicker", below("frame", 80), "frames of every video"),
]
"""What only a run can know."""


@pytest.fixture(scope="module")
def run():
    return paper_run("style")


def test_the_papers_own_run_reproduces_every_claim(run):
    verdicts = run.verdicts("style")
    assert {each.verdict for each in verdicts.values()} == {REPRODUCED}
    assert "AlexNet at 1024 [" in verdicts[SPEED].interval


@pytest.mark.parametrize(
    ("word", "claim", "name", "change", "reason"),
    [*((NOT_REPRODUCED, *each) for each in BROKEN), *((UNDECIDED, *each) for each in UNCLEAR)],
)
def test_what_contradicts_a_claim_refutes_it_and_what_holds_0_decides_nothing(
    run, word, claim, name, change, reason
):
    verdict = run.changed(name, change).verdicts("style")[claim]
    assert verdict.verdict == word
    assert reason.lower() in verdict.reason.lower()


def test_alexnet_that_finishes_at_1024_pixels_has_not_failed(run):
    finished = run.changed("style_runs", said("status", "finished", run="alexnet-1024"))
    verdict = finished.changed("style_history", unspoiled).verdicts("style")["style-alexnet-1024"]
    assert verdict.verdict == NOT_REPRODUCED
    assert "AlexNet at 1024 pixels keeps what it had" in verdict.reason


def test_a_backbone_without_a_finite_loss_refutes_the_trend(run):
    stopped = run.changed("style_history", said("total", np.inf, run="alexnet"))
    stopped = stopped.changed("style_runs", said("status", "not_finite", run="alexnet"))
    verdict = stopped.verdicts("style")["style-backbone-loss-trend"]
    assert verdict.verdict == NOT_REPRODUCED
    assert "AlexNet not finite" in verdict.reason
    assert "AlexNet: no finite loss" in verdict.measured


@pytest.mark.parametrize(
    ("claim", "name", "change"),
    [
        ("style-backbone-loss-trend", "style_history", spiked),
        ("style-lbfgs-lowest", "style_runs", said(LOSS, 1e-9, run="adam-tuned")),
        # It has no image that could keep structure.
        ("style-sgd-fails", "style_runs", said("status", "diverged", run="sgd-authors")),
    ],
)
def test_what_does_not_decide_a_claim_leaves_it_as_it_is(run, claim, name, change):
    assert run.changed(name, change).verdicts("style")[claim].verdict == REPRODUCED


@pytest.mark.parametrize(("claim", "name", "change", "reason"), FOUND)
def test_what_a_run_lacks_in_spite_of_its_config_is_found(run, claim, name, change, reason):
    verdict = run.changed(name, change).verdicts("style", claim)[claim]
    assert verdict.verdict in (NOT_TESTABLE, SEEN)
    assert reason in verdict.reason
