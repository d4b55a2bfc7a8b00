"""An optimiser and a style loss, added as CONTRIBUTING.md says to a study that has finished."""

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
TARGETS = ("style_draw_optimizers", "style_presets", NETWORK)


def jobs(checkout):
    """Jobs that a run for the targets would start: (rule, experiment or "")."""
    return {
        (job["rule_name"], job["wildcards"].get("experiment", ""))
        for job in checkout.jobs(*TARGETS)
    }


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout in which the study finished, both were added and it ran again; the files that each
    touched, and what then was to be done."""
    checkout = copy_checkout(tmp_path_factory.mktemp("methods"))
    checkout.snakemake(*TARGETS)
    config, touched, due = TINY, {}, {}
    for recipe in RECIPES:
        touched[recipe] = follow(recipe, checkout.root)
        mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
        config = merged(config, mine)
        (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(config))
        due[recipe] = jobs(checkout)
        checkout.snakemake(*TARGETS)
    return checkout, touched, due


@pytest.mark.parametrize("recipe", RECIPES)
def test_it_is_one_new_file_and_one_line_of_config(added, recipe):
    checkout, touched, _ = added
    assert all(touched[recipe].values()) and len(touched[recipe]) == 2
    mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
    assert len(mine["style"]["experiments"]) == 1


@pytest.mark.parametrize(
    ("recipe", "figure"),
    [*zip(RECIPES, ("style_draw_optimizers", "style_presets"), strict=True)],
)
def test_only_its_own_images_are_made(added, recipe, figure):
    assert added[2][recipe] == {("style_optimize", RECIPES[recipe]), (figure, "")}


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
    assert jobs(checkout) == set()
    path = checkout.root / "workflow_scripts/triptych/style/optimise/optimizers/steepest.py"
    path.write_text(path.read_text().replace("1e-30", "1e-20"))
    assert jobs(checkout) == {("style_optimize", "steepest"), ("style_draw_optimizers", "")}
