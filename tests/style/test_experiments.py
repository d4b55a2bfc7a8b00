"""The experiment table of Version 1, and running it with groups, stops and resumes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from random_networks import backbone
from stops import Never, StopAfter
from two_layers import images

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stop, Stopped
from triptych.style.data.backbone import save_backbone
from triptych.style.data.images import read_image, write_image
from triptych.style.optimise.choices import COLUMNS, experiment_runs
from triptych.style.optimise.runs import RUN_COLUMNS, Inputs, OptimisedRuns, run_experiment

OPTIMIZE = {
    "preset": "tuned",
    "size": 40,
    "evaluations": 6,
    "content": "china",
    "painting": "swirls",
    "backbone": "vgg",
}
BACKBONES = {
    "vgg": {"architecture": "vgg16", "weights": "embedded"},
    "alexnet": {"architecture": "narrow_alexnet", "weights": "/weights/mine.safetensors"},
}


def runs(**experiments: dict[str, Any]) -> list[dict[str, Any]]:
    return experiment_runs(OPTIMIZE, experiments, BACKBONES)


def of(rows: list[dict[str, Any]], column: str) -> list[Any]:
    return [row[column] for row in rows]


def test_rows_are_the_product_of_what_varies_and_a_preset_fills_in_the_rest():
    varied = {"optimizer": ["lbfgs", "sgd"], "rates": ["authors", "tuned"]}
    rows = runs(
        optimizers={"vary": varied},
        single={"size": 64},
        presets={"vary": {"preset": ["paper", "authors"]}},
    )
    assert all(tuple(row) == COLUMNS for row in rows)
    names = ["lbfgs-authors", "lbfgs-tuned", "sgd-authors", "sgd-tuned"]
    assert of(rows, "run") == [*names, "single", "paper", "authors"]
    assert of(rows, "size") == [40] * 4 + [64] + [40] * 2
    assert of(rows[4:], "rates") == ["tuned", "tuned", "authors"]
    assert set(of(rows, "painting")) == {"swirls"}


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"vary": {"optimizer": ["lion"]}}, "experiment trial: optimizer is 'lion'"),
        ({"backbone": "resnet"}, "no backbone 'resnet'; expected one of vgg, alexnet"),
        ({"scales": 7}, "6 evaluations are too few for 7 scales"),
        ({"scales": 2, "initialisation": "noise"}, "begin from the content, not noise"),
    ],
)
def test_what_does_not_exist_is_refused(experiment, message):
    with pytest.raises(ValueError, match=message):
        runs(trial=experiment)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    content, painting = images(1, height=60, width=50)[0], images(1, seed=2, height=50, width=70)[0]
    write_image(folder / "china.png", content)
    for name in ("swirls", "waves"):
        write_image(folder / f"{name}.png", painting)
        painting = painting.flip(0)
    backbones = {}
    for role, settings in BACKBONES.items():
        backbones[role] = folder / f"{role}.safetensors"
        save_backbone(
            backbones[role], backbone(settings["architecture"]), weights="embedded", origin={}
        )
    return Inputs(
        contents={"china": folder / "china.png"},
        paintings={name: folder / f"{name}.png" for name in ("swirls", "waves")},
        backbones=backbones,
        calibration=images(3, seed=5, height=48, width=48).float(),
    )


MIXED = {
    "vary": {
        "painting": ["swirls", "waves"],
        "preset": ["paper", "authors", "tuned"],
        "optimizer": ["lbfgs", "adam"],
    }
}


def run(inputs: Inputs, folder: Path, stop: Stop) -> OptimisedRuns:
    rows, checkpoint = runs(mixed=MIXED), Checkpoint(folder, "fixed")
    return run_experiment(rows, inputs, torch.device("cpu"), float("inf"), checkpoint, stop)


def without_seconds(optimised: OptimisedRuns) -> tuple[str, str]:
    return (
        optimised.runs.drop(columns="seconds").to_csv(),
        optimised.history.drop(columns="seconds").to_csv(),
    )


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory):
    return run(inputs, tmp_path_factory.mktemp("whole"), Never())


def test_every_row_is_run_in_the_tables_order(whole):
    assert whole.runs.columns.tolist() == RUN_COLUMNS
    assert whole.runs["run"].tolist() == of(runs(mixed=MIXED), "run") == list(whole.images)
    assert (whole.runs["status"] == "finished").all()
    assert (whole.runs["batch"] == 2).all()  # the two paintings of equal choices
    squashed = whole.runs["preset"] != "tuned"
    assert (whole.runs.loc[squashed, ["height", "width"]] == 40).all(axis=None)
    assert whole.runs.loc[~squashed, "height"].unique().tolist() == [48]  # 60 x 50 at 40


def test_a_resumed_experiment_equals_an_unbroken_one(inputs, whole, tmp_path):
    for after in (9, 17):  # in the second group, and in a later one
        with pytest.raises(Stopped):
            run(inputs, tmp_path, StopAfter(after))
    resumed = run(inputs, tmp_path, Never())
    assert without_seconds(resumed) == without_seconds(whole)
    assert all(torch.equal(resumed.images[name], whole.images[name]) for name in whole.images)


def coarse_to_fine(inputs: Inputs, folder: Path, stop: Stop) -> OptimisedRuns:
    rows = runs(paintings={"scales": 2, "vary": {"painting": ["swirls", "waves"]}})
    device, checkpoint = torch.device("cpu"), Checkpoint(folder, "fixed")
    return run_experiment(rows, inputs, device, float("inf"), checkpoint, stop)


def test_scales_share_the_evaluations_and_stops_between_them_change_nothing(inputs, tmp_path):
    whole = coarse_to_fine(inputs, tmp_path / "whole", Never())
    assert (whole.runs["evaluations_done"] == 6).all() and (whole.runs["batch"] == 2).all()
    assert {tuple(image.shape) for image in whole.images.values()} == {(3, 48, 40)}
    for _, history in whole.history.groupby("run"):
        assert history["evaluation"].tolist() == [1, 2, 3, 4, 5, 6]
    for after in (2, 1, 2):  # in the first scale, at its end, in the second
        with pytest.raises(Stopped):
            coarse_to_fine(inputs, tmp_path / "stopped", StopAfter(after))
    resumed = coarse_to_fine(inputs, tmp_path / "stopped", Never())
    assert without_seconds(resumed) == without_seconds(whole)
    assert all(torch.equal(resumed.images[name], whole.images[name]) for name in whole.images)


def test_an_image_painted_through_scales_has_its_paintings_colours(inputs, tmp_path):
    swirls = read_image(inputs.paintings["swirls"])
    plain = run_experiment(
        runs(plain={}), inputs, torch.device("cpu"), 1e9, Checkpoint(tmp_path / "a", "a"), Never()
    )
    scaled = coarse_to_fine(inputs, tmp_path / "b", Never())

    def distance(image: torch.Tensor) -> float:
        return float((image.mean((1, 2)) - swirls.mean((1, 2))).abs().max())

    assert distance(scaled.images["swirls"]) < 0.25 * distance(plain.images["plain"])
