"""An optimiser and a style loss, added as CONTRIBUTING.md says to a study that has finished."""

import shutil

import pandas as pd
import pytest
import yaml
from recipes import follow
from tiny_checkout import TINY, copy_checkout

from triptych.core.config import merged

pytestmark = pytest.mark.slow
RECIPES = {"An optimiser of Version 1": "steepest", "A style loss": "sliced"}
"""The experiment that each adds."""
NETWORK = "results/style/networks/mosaic/plain/network.safetensors"
FIGURES = ("style_figure5", "style_figure6", "style_presets")


def due(checkout, *targets):
    """(rule, experiment or "") of the jobs that a run for the targets would start."""
    return {
        (job["rule_name"], job["wildcards"].get("experiment", ""))
        for job in checkout.jobs(*targets)
    }


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout with both, in which they have run; the files that each touched, and what was to
    be done for both where the study seemed to have finished."""
    checkout = copy_checkout(tmp_path_factory.mktemp("methods"))
    checkout.pretend(*FIGURES, NETWORK)
    config, touched = TINY, {}
    for recipe in RECIPES:
        touched[recipe] = follow(recipe, checkout.root)
        mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
        config = merged(config, mine)
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(config))
    jobs = due(checkout, *FIGURES, NETWORK)
    shutil.rmtree(checkout.root / "results")
    checkout.snakemake(*FIGURES)
    return checkout, touched, jobs


@pytest.mark.parametrize("recipe", RECIPES)
def test_it_is_one_new_file_and_one_line_of_config(added, recipe):
    checkout, touched, _ = added
    assert all(touched[recipe].values()) and len(touched[recipe]) == 2
    mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
    assert len(mine["style"]["experiments"]) == 1


def test_only_their_own_images_are_made(added):
    images = {("style_optimize", experiment) for experiment in RECIPES.values()}
    assert added[2] == images | {(figure, "") for figure in FIGURES}


@pytest.mark.parametrize(
    ("product", "run"),
    [
        ("style_figure5", "steepest-tuned"),
        ("style_figure6", "steepest-tuned"),
        ("style_presets", "sliced_wasserstein"),
    ],
)
def test_it_stands_in_its_figure(added, product, run):
    results = added[0].root / "results"
    assert run in set(pd.read_csv(results / "tables" / f"{product}.csv")["run"])
    named = "Steepest" if run.startswith("steepest") else "Sliced wasserstein"
    assert named in (results / "figures" / f"{product}.svg").read_text()


def test_it_goes_its_own_way(added):
    folder = added[0].root / "results/style/optimize"
    losses = {}
    for experiment in ("optimizers", "steepest", "presets", "sliced"):
        runs = pd.read_csv(folder / experiment / "runs.csv").set_index("run")
        losses |= runs["total_loss_final"].to_dict()
    tuned = [losses[f"{name}-tuned"] for name in ("lbfgs", "adam", "sgd", "steepest")]
    assert len(set(tuned)) == 4
    assert losses["sliced_wasserstein"] != losses["tuned"]


def test_an_edit_of_an_optimizer_makes_its_experiments_anew_and_nothing_else(added):
    checkout = added[0]
    assert due(checkout, *FIGURES) == set()
    path = checkout.root / "workflow_scripts/triptych/style/optimise/optimizers/steepest.py"
    path.write_text(path.read_text().replace("1e-30", "1e-20"))
    edited = {("style_optimize", "steepest"), ("style_figure5", ""), ("style_figure6", "")}
    assert due(checkout, *FIGURES) == edited
