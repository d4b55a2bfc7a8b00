"""Verdicts on the style study's claims: runs made to satisfy, to break or not to test them."""

import pandas as pd
import pytest
import synthetic_style as made
from paper_runs import below, needed, paper_run, said, scaled, without

from triptych.report.claims import NOT_REPRODUCED, REPRODUCED

SPEED, VIDEO = "style-speedup", {"painting": "waves", "variant": "plain"}
LOSS = "total_loss_final"


def end_far_above(history):
    """AlexNet's loss rises again."""
    return scaled("total", 30, run="alexnet", evaluation=list(range(501, 701)))(history)


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
        *("style-loss-function-time", "style_loss_timing"),
        lambda frame: made.timing_losses(device=made.GPU),
        "no difference",
    ),
    (
        "style-lbfgs-lowest",
        "style_runs",
        said(LOSS, 1e-9, run="adam-authors"),
        "Adam ends at 1e-09",
    ),
    ("style-sgd-fails", "style_quality", said("ssim_luma", 0.6), "SGD's image keeps structure"),
    ("style-sgd-fails", "style_runs", said(LOSS, 0.05, run="sgd-authors"), "SGD ends at"),
    (
        *("style-sgd-fails", "style_runs", said("status", "not_finite", run="lbfgs-authors")),
        "L-BFGS did not finish either",
    ),
    (
        *("style-content-init", "style_quality", said("ssim_luma", 0.9, run="noise")),
        "a start from white noise keeps as much",
    ),
    (
        *("style-video", "style_speed"),
        lambda frame: made.speed(batches={1: 20.0, 8: 20.0}).assign(**VIDEO),
        f"not clearly faster than single frames on {made.CPU}",
    ),
    (
        *("style-video", "style_properties", said("frames_per_second", 25.0, file="video")),
        "frames per second 25, the source's 24",
    ),
    ("style-versions-differ", "style_quality", said("gram_distance", 0.5), "style distance"),
    ("style-versions-differ", "style_quality", said("edge_correlation", 0.5), "edges kept"),
    ("style-adam-content", "style_quality", said("ssim_luma", 0.1, run="adam-authors"), "SSIM"),
    ("style-video-consistency", "style_flicker", scaled("ratio", 2), "Waves flickers"),
]
ENDS = ["backbones", "losses", "optimizers", "initialisations", "paintings", "sizes"]


def _of(*kinds, experiments=ENDS):
    return {f"{experiment} {kind}" for experiment in experiments for kind in kinds}


UNMET = [
    ("style_timing", below("image", 3), {"timed images", "compared images"}),
    ("style_timing", without(size=512), {"timed images", "compared images"}),
    ("style_timing", said("evaluations_done", 9, backbone="alexnet", size=512), {"timed images"}),
    ("style_timing", without(settings="notebook"), {"timed images", "compared images"}),
    ("style_timing", said("device", made.CPU), {"timing devices"}),
    ("style_timing", said("precision", "bf16"), {"timing precision", "notebook precision"}),
    (
        "style_timing",
        lambda f: f.assign(
            evaluations=f["evaluations"] // 7, evaluations_done=f["evaluations"] // 7
        ),
        {"notebook evaluations"},
    ),
    (
        "style_timing",
        lambda f: said("evaluations", 300, backbone="alexnet")(
            said("evaluations_done", 300, backbone="alexnet")(f)
        ),
        {"equal evaluations"},
    ),
    ("style.architectures", lambda roles: {**roles, "vgg": "alexnet"}, {"roles"}),
    ("style.architectures", lambda roles: {**roles, "validation": "narrow_alexnet"}, {"judge"}),
    ("style.photographs", lambda source: "folder", {"photographs"}),
    ("style_stylised_runs", said("batches", 9000), {"all batches", "filmed batches"}),
    (
        *("style_stylised_runs", said("width", 16)),
        {"timed widths", "large widths", "all widths", "filmed widths"},
    ),
    ("style_stylised_runs", lambda frame: frame[:0], {"timed widths"}),
    ("style_stylised_runs", said("width_px", 640), {"pixels"}),
    ("style_stylised_runs", said("device", made.CPU), {"large devices"}),
    ("style_stylised_runs", said("precision", "fp16"), {"large precision", "filmed precision"}),
    ("style_runs", said("weights", "embedded"), _of("backbones")),
    ("style_runs", said("evaluations", 100), _of("evaluations")),
    ("style_runs", said("precision", "bf16"), _of("precision")),
    ("style_runs", said("size", 256), {"backbones sizes", "sizes cases"}),
    ("style_runs", said("rates", "tuned"), {"sizes rates", "optimizers run"}),
    ("style_runs", without(experiment="sizes", run="alexnet-1024"), {"sizes cases"}),
    ("style_runs", without(experiment="backbones", backbone="alexnet"), {"backbones roles"}),
    ("style_runs", without(experiment="losses", content_loss="mse"), {"losses kinds"}),
    ("style_runs", without(experiment="optimizers", run="adam-authors"), {"optimizers run"}),
    ("style_runs", said("evaluations", 1400, run="lbfgs-authors"), {"optimizers equal"}),
    ("style_runs", without(experiment="initialisations", run="noise"), {"starts"}),
    (
        *("style_history", below("evaluation", 601)),
        _of("cut", experiments=["backbones", "losses", "optimizers", "sizes"]),
    ),
    ("style_quality", without(experiment="optimizers"), {"optimizers measured"}),
    ("style_quality", without(experiment="initialisations"), {"starts"}),
    ("style_quality", without(content="lake"), {"pairs"}),
    ("style_loss_timing", below("repeat", 3), {"loss repeats"}),
    ("style_loss_timing", without(content_loss="mse"), {"timed losses"}),
    ("style_flicker", below("frame", 100), {"frames"}),
    ("style_flicker", said("variant", "temporal"), {"plain videos", "frames"}),
    ("style_speed", without(batch=8), {"video batches"}),
    ("style_speed", below("repeat", 1), {"video repeats"}),
    ("style_properties", without(file="video"), {"unread"}),
    ("style_properties", lambda frame: frame[:0], {"videos"}),
]


@pytest.fixture(scope="module")
def run():
    return paper_run("style")


def test_the_papers_own_run_reproduces_every_claim(run):
    verdicts = run.verdicts("style")
    assert {each.verdict for each in verdicts.values()} == {REPRODUCED}
    assert "AlexNet at 1024 [" in verdicts[SPEED].interval


@pytest.mark.parametrize(("claim", "name", "change", "reason"), BROKEN)
def test_a_run_that_contradicts_a_claim_does_not_reproduce_it(run, claim, name, change, reason):
    verdict = run.changed(name, change).verdicts("style")[claim]
    assert verdict.verdict == NOT_REPRODUCED
    assert reason.lower() in verdict.reason.lower()


def test_alexnet_that_finishes_at_1024_pixels_has_not_failed(run):
    finished = run.changed("style_runs", said("status", "finished", run="alexnet-1024"))
    kept = finished.changed(
        "style_history",
        lambda frame: pd.concat(
            [
                frame[frame["run"] != "alexnet-1024"],
                frame[frame["run"] == "alexnet-512"].assign(run="alexnet-1024"),
            ]
        ),
    )
    verdict = kept.verdicts("style")["style-alexnet-1024"]
    assert verdict.verdict == NOT_REPRODUCED
    assert "AlexNet at 1024 pixels keeps what it had" in verdict.reason


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


@pytest.mark.parametrize(("name", "change", "facts"), UNMET)
def test_what_a_run_lacks_is_read_from_its_files(run, name, change, facts):
    assert facts <= run.changed(name, change).unmet("style")


def test_every_fact_that_is_needed_can_be_lacking():
    assert set().union(*(facts for _, _, facts in UNMET)) == needed("style")


def test_other_backbones_and_few_evaluations_test_no_claim_but_show_it():
    demo = made.runs_and_histories(paper=False, evaluations=60, device=made.CPU)
    run = paper_run("style")
    for place, name in enumerate(("style_runs", "style_history")):
        frame = pd.concat([both[place] for both in demo.values()], ignore_index=True)
        run = run.changed(name, lambda _, frame=frame: frame)
    for claim in ("style-lbfgs-lowest", "style-sgd-fails", "style-content-init"):
        verdict = run.verdicts("style")[claim]
        assert "vgg16 hed here" in verdict.reason
        assert any(character.isdigit() for character in verdict.measured)
