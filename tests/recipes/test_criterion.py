"""A pruning criterion added as CONTRIBUTING.md says is in everything that shows criteria."""

import pandas as pd
import pytest
import yaml
from recipes import follow
from tiny_checkout import TINY, copy_checkout

from triptych.core.config import merged


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout with the criterion, in which the study has run at a tiny size."""
    checkout = copy_checkout(tmp_path_factory.mktemp("criterion"))
    touched = follow("A pruning criterion", checkout.root)
    mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
    tiny = merged(
        merged(TINY, mine), {"rl": {"sweeps": {"bcq": {"runs": {"paper": {"sparsities": [95]}}}}}}
    )
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake("rl", config="mine.yaml")
    return checkout, touched


@pytest.mark.slow
def test_three_files_are_touched_of_which_one_is_config(added):
    _, touched = added
    assert len(touched) <= 3 and [file for file, new in touched.items() if new] == [
        "config/mine.yaml"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "product",
    ["rl_criteria", "rl_curves", "rl_figure3", "rl_figure4", "rl_table1", "rl_scores"],
)
def test_it_stands_in_every_table_figure_and_curve_under_its_own_name(added, product):
    checkout, _ = added
    tables = checkout.root / "results" / "tables"
    assert "gradient" in set(pd.read_csv(tables / f"{product}.csv")["method"])
    shown = [tables / f"{product}.md", checkout.root / "results" / "figures" / f"{product}.svg"]
    assert any(path.exists() for path in shown)
    if shown[0].exists():
        assert "Gradient" in shown[0].read_text()


@pytest.mark.slow
def test_its_masks_are_its_own(added):
    """By the gradient alone, not by weight times gradient."""
    checkout, _ = added
    layers = pd.read_csv(checkout.root / "results" / "tables" / "rl_figure3.csv")
    of = layers.set_index(["task", "network", "layer"]).groupby("method")["value"]
    kept = {method: values.to_list() for method, values in of}
    assert kept["gradient"] not in (kept["snip"], kept["grasp"])


@pytest.mark.slow
def test_the_papers_figures_do_not_change(added, tmp_path_factory):
    checkout, _ = added
    tables = checkout.root / "results" / "tables"
    assert set(pd.read_csv(tables / "rl_figure1.csv")["method"]) == {
        "dense", "snip", "random", "shuffled"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (
            {"methods": ["best"]},
            "rl.mask_statistics.runs.paper.methods names best; allowed are snip, grasp",
        ),
        ({"sparsities": [50]}, "rl.mask_statistics.runs make no mask of 95%"),
    ],
)
def test_what_could_not_be_drawn_is_refused_by_its_key(tmp_path, measure, said):
    checkout = copy_checkout(tmp_path)
    overlay = merged(TINY, {"rl": {"mask_statistics": {"runs": {"paper": measure}}}})
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(overlay))
    assert said in checkout.snakemake("--dry-run", "rl", check=False)
