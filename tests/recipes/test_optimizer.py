"""An optimiser added as CONTRIBUTING.md says stands where the others do; what makes it stale."""

import pandas as pd
import pytest
import yaml
from recipes import follow
from tiny_checkout import TINY, copy_checkout

from triptych.core.config import merged

pytestmark = pytest.mark.slow
NETWORK = "results/style/networks/mosaic/plain/network.safetensors"
TARGETS = ("style_draw_optimisation", "results/style/optimize/optimizers/runs.csv", NETWORK)


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout with the optimiser, in which both versions have run at a tiny size."""
    checkout = copy_checkout(tmp_path_factory.mktemp("optimizer"))
    touched = follow("An optimiser of Version 1", checkout.root)
    mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(merged(TINY, mine)))
    checkout.snakemake(*TARGETS)
    return checkout, touched


def test_three_files_are_touched_of_which_one_is_config(added):
    _, touched = added
    assert len(touched) <= 3
    assert [file for file, new in touched.items() if new] == ["config/mine.yaml"]


@pytest.mark.parametrize("product", ["style_figure5", "style_figure6"])
def test_it_stands_in_figures_under_its_own_name(added, product):
    numbers = pd.read_csv(added[0].root / "results" / "tables" / f"{product}.csv")
    assert "steepest" in set(numbers["optimizer"])
    assert "Steepest" in (added[0].root / f"results/figures/{product}.svg").read_text()


def test_it_went_its_own_way(added):
    runs = pd.read_csv(added[0].root / "results/style/optimize/optimizers/runs.csv")
    ended = runs.set_index(["optimizer", "rates"])["total_loss_final"]
    for other in ("lbfgs", "adam", "sgd"):
        assert ended["steepest", "tuned"] != ended[other, "tuned"]


def test_editing_the_optimizer_of_version_1_makes_its_pictures_anew_and_nothing_else(added):
    checkout = added[0]
    assert checkout.stale(*TARGETS) == set()
    path = checkout.root / "workflow_scripts/triptych/style/optimise/lbfgs.py"
    path.write_text(path.read_text() + "\nEDITED = 1\n")
    assert checkout.stale(*TARGETS) == {"style_optimize", "style_draw_optimisation"}
