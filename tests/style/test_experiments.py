"""The experiment table of Version 1, and running it with groups, stops and resumes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from two_layers import images

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.backbones.backbone import Backbone, save_backbone
from triptych.style.images import write_image
from triptych.style.optimisation.experiments import COLUMNS, experiment_records, experiment_runs
from triptych.style.optimisation.gatys import Optimisation
from triptych.style.optimisation.runs import RUN_COLUMNS, Inputs, OptimisedRuns, run_experiment

OPTIMIZE = {
    "preset": "tuned",
    "size": 40,
    "evaluations": 6,
    "content": "china",
    "painting": "swirls",
    "backbone": "vgg",
}
BACKBONES = {
    "vgg": {"architecture": "narrow_vgg", "weights": "embedded"},
    "alexnet": {"architecture": "narrow_alexnet", "weights": "/weights/mine.safetensors"},
}


def runs(**experiments: dict[str, Any]) -> pd.DataFrame:
    return experiment_runs(OPTIMIZE, experiments, BACKBONES)


def test_rows_are_the_product_of_what_varies() -> None:
    table = runs(
        optimizers={"vary": {"optimizer": ["lbfgs", "sgd"], "rates": ["authors", "tuned"]}}
    )
    assert list(table.columns) == list(COLUMNS)
    assert table["run"].tolist() == ["lbfgs-authors", "lbfgs-tuned", "sgd-authors", "sgd-tuned"]
    assert table["experiment"].unique().tolist() == ["optimizers"]
    assert table["painting"].unique().tolist() == ["swirls"]


def test_an_experiment_overrides_what_all_share() -> None:
    table = runs(
        paintings={"size": 64, "vary": {"painting": ["swirls", "waves"]}},
        losses={"vary": {"content_loss": ["l1", "mse"]}},
    )
    assert table["size"].tolist() == [64, 64, 40, 40]
    assert table["content_loss"].tolist() == ["mse", "mse", "l1", "mse"]


def test_the_preset_fills_in_what_a_row_leaves_out() -> None:
    table = runs(presets={"vary": {"preset": ["paper", "authors", "tuned"]}})
    assert table["rates"].tolist() == ["tuned", "authors", "tuned"]
    assert table["optimizer"].tolist() == ["lbfgs"] * 3


def test_a_backbone_brings_its_architecture_and_weights() -> None:
    table = runs(backbones={"vary": {"backbone": ["vgg", "alexnet"]}})
    assert table["architecture"].tolist() == ["narrow_vgg", "narrow_alexnet"]
    assert table["weights"].tolist() == ["embedded", "path"]


def test_repeats_are_rows_of_their_own() -> None:
    table = runs(initialisations={"repeats": 2, "vary": {"initialisation": ["noise", "style"]}})
    assert table["run"].tolist() == ["noise-0", "noise-1", "style-0", "style-1"]
    assert table["repeat"].tolist() == [0, 1, 0, 1]


def test_an_experiment_without_vary_is_one_run() -> None:
    assert runs(single={})["run"].tolist() == ["single"]


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"colour": 1}, "experiment trial: no key is called colour; keys are preset"),
        ({"vary": {"repeats": [1, 2]}}, "no key is called repeats"),
        ({"vary": {"size": 64}}, "vary.size is 64; expected a list"),
        ({"vary": {"size": []}}, "expected a list of distinct values"),
        ({"vary": {"size": [64, 64]}}, "expected a list of distinct values"),
        ({"vary": {"optimizer": ["lion"]}}, "experiment trial: optimizer is 'lion'"),
        ({"backbone": "resnet"}, "no backbone 'resnet'; expected one of vgg, alexnet"),
        ({"preset": "pretty"}, "no preset 'pretty'"),
    ],
)
def test_what_does_not_exist_is_refused(experiment: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runs(trial=experiment)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ValueError, match="trial: size is missing"):
        experiment_runs(
            {k: v for k, v in OPTIMIZE.items() if k != "size"}, {"trial": {}}, BACKBONES
        )


def test_the_table_can_be_built_without_torch() -> None:
    """Snakemake builds it each time it reads the rules."""
    code = "import sys, triptych.style.optimisation.experiments; sys.exit('torch' in sys.modules)"
    library = Path(__file__).parents[2] / "workflow_scripts"
    environment = {**os.environ, "PYTHONPATH": str(library)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


class Asked:
    """A stop request that comes after a number of looks."""

    def __init__(self, after: float = float("inf")) -> None:
        self._left = after

    @property
    def reason(self) -> str | None:
        self._left -= 1
        return "SIGTERM" if self._left < 0 else None


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder = tmp_path_factory.mktemp("inputs")
    content, painting = images(1, height=60, width=50)[0], images(1, seed=2, height=50, width=70)[0]
    write_image(folder / "china.png", content)
    for name in ("swirls", "waves"):
        write_image(folder / f"{name}.png", painting)
        painting = painting.flip(0)
    backbones = {}
    for role, settings in BACKBONES.items():
        architecture = ARCHITECTURES[settings["architecture"]]
        generator = torch.Generator().manual_seed(1)
        weights = {
            key: torch.randn(shape, generator=generator)
            * (2 / max(1, shape[-1] ** 2 * shape[0])) ** 0.5
            for key, shape in architecture.shapes().items()
        }
        network = Backbone(architecture, weights, mean=(0.5,) * 3, std=(0.25,) * 3, pooling="max")
        backbones[role] = folder / f"{role}.safetensors"
        save_backbone(backbones[role], network, weights="embedded", origin={})
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


def run(
    inputs: Inputs, folder: Path, stop: Asked, memory_bytes: float = float("inf")
) -> OptimisedRuns:
    rows = experiment_records(runs(mixed=MIXED), "mixed")
    checkpoint = Checkpoint(folder, "fixed")
    return run_experiment(rows, inputs, torch.device("cpu"), memory_bytes, checkpoint, stop)


def without_seconds(optimised: OptimisedRuns) -> tuple[str, str]:
    return (
        optimised.runs.drop(columns="seconds").to_csv(),
        optimised.history.drop(columns="seconds").to_csv(),
    )


@pytest.fixture(scope="module")
def whole(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> OptimisedRuns:
    return run(inputs, tmp_path_factory.mktemp("whole"), Asked())


def test_every_row_is_run_in_the_tables_order(whole: OptimisedRuns) -> None:
    expected = runs(mixed=MIXED)
    assert whole.runs.columns.tolist() == RUN_COLUMNS
    assert whole.runs["run"].tolist() == expected["run"].tolist() == list(whole.images)
    assert (whole.runs["status"] == "finished").all()
    assert (whole.runs["batch"] == 2).all()  # the two paintings of equal choices
    squashed = whole.runs["preset"] != "tuned"
    assert (whole.runs.loc[squashed, ["height", "width"]] == 40).all(axis=None)
    assert whole.runs.loc[~squashed, "height"].unique().tolist() == [48]  # 60 x 50 at 40


def test_final_losses_are_those_of_the_last_evaluation(whole: OptimisedRuns) -> None:
    last = whole.history[whole.history["evaluation"] == 6].set_index("run").loc[whole.runs["run"]]
    first = whole.history[whole.history["evaluation"] == 1].set_index("run").loc[whole.runs["run"]]
    assert whole.runs["total_loss_final"].tolist() == last["total"].tolist()
    ratios = last["total"] / first["total"]
    assert whole.runs["relative_loss_final"].tolist() == pytest.approx(ratios.tolist())
    assert len(whole.history) == 6 * len(whole.runs)


def test_a_resumed_experiment_equals_an_unbroken_one(
    inputs: Inputs, whole: OptimisedRuns, tmp_path: Path
) -> None:
    for after in (9, 17):  # in the second group, and in a later one
        with pytest.raises(Stopped):
            run(inputs, tmp_path, Asked(after))
    resumed = run(inputs, tmp_path, Asked())
    assert without_seconds(resumed) == without_seconds(whole)
    assert all(torch.equal(resumed.images[name], whole.images[name]) for name in whole.images)


def test_a_finished_group_is_not_run_again(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(inputs, tmp_path, Asked())
    monkeypatch.setattr(Optimisation, "advance", lambda self: pytest.fail("ran again"))
    run(inputs, tmp_path, Asked())


def test_groups_may_be_split_otherwise_at_the_next_attempt(
    inputs: Inputs, whole: OptimisedRuns, tmp_path: Path
) -> None:
    """A retry is granted more memory than the attempt before."""
    with pytest.raises(Stopped):
        run(inputs, tmp_path, Asked(9), memory_bytes=1)
    resumed = run(inputs, tmp_path, Asked())
    assert resumed.runs["run"].tolist() == whole.runs["run"].tolist()
    assert set(resumed.runs["batch"]) == {1, 2}
