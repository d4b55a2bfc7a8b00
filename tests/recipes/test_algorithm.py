"""A criterion and an algorithm added as CONTRIBUTING.md says stand where the others do."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from recipes import BOOK, STEP, follow
from safetensors import safe_open
from tiny_checkout import ROOT, TINY, copy_checkout

from triptych.core.config import ConfigError, check_config, completed, merged
from triptych.rl.workflow import Workflow

CRITERION, ALGORITHM = "A pruning criterion", "An algorithm of offline RL"
RUNS = {"paper": {"methods": ["snip", "set"], "sparsities": [95]}}
OTHERS = {
    name: {"algorithms": [algorithm], "widths": "narrow", "seeds": [0, 1], "runs": RUNS}
    for name, algorithm in (("td3_bc", "TD3+BC"), ("iql", "IQL"))
}
NETWORKS = {
    "Cloning": {"actor"},
    "TD3+BC": {"actor", "critic"},
    "IQL": {"actor", "critic", "value"},
    "BCQ": {"actor", "critic", "vae"},
}


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout with both, in which the study has run at a tiny size, and the files touched."""
    checkout = copy_checkout(tmp_path_factory.mktemp("algorithm"))
    tiny, touched = TINY, {}
    for title in (CRITERION, ALGORITHM):
        touched[title] = follow(title, checkout.root)
        tiny = merged(tiny, yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text()))
    sweeps = {**OTHERS, "bcq": {"runs": {"paper": {"sparsities": [95]}, "raw": None}}}
    tiny = merged(tiny, {"rl": {"sweeps": sweeps, "runs_per_job": "all"}})
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake("rl", config="mine.yaml")
    return checkout, touched


@pytest.mark.slow
def test_few_files_are_touched_and_at_most_150_lines_written(added):
    assert {title: len(files) for title, files in added[1].items()} == {CRITERION: 3, ALGORITHM: 4}
    assert [file for file, new in added[1][CRITERION].items() if new] == ["config/mine.yaml"]
    assert sum(not new for new in added[1][ALGORITHM].values()) == 2
    (recipe,) = re.findall(rf"^## {ALGORITHM}\n.*?^## ", BOOK.read_text(), re.M | re.DOTALL)
    assert sum(step["text"].count("\n") for step in STEP.finditer(recipe)) <= 150


@pytest.mark.slow
@pytest.mark.parametrize(
    "product", ["rl_criteria", "rl_curves", "rl_figure3", "rl_figure4", "rl_table1", "rl_scores"]
)
def test_the_criterion_stands_in_every_table_figure_and_curve(added, product):
    results = added[0].root / "results"
    assert "gradient" in set(pd.read_csv(results / "tables" / f"{product}.csv")["method"])
    shown = [results / "tables" / f"{product}.md", results / "figures" / f"{product}.svg"]
    assert any(path.exists() for path in shown)
    if shown[0].exists():
        assert "Gradient" in shown[0].read_text()


@pytest.mark.slow
def test_the_criterions_masks_are_its_own_and_the_papers_figures_do_not_change(added):
    tables = added[0].root / "results" / "tables"
    layers = pd.read_csv(tables / "rl_figure3.csv").set_index(["task", "network", "layer"])
    kept = {method: values.to_list() for method, values in layers.groupby("method")["value"]}
    assert kept["gradient"] not in (kept["snip"], kept["grasp"])
    figure1 = pd.read_csv(tables / "rl_figure1.csv").query("algorithm == 'BCQ'")
    assert set(figure1["method"]) == {"dense", "snip", "random", "shuffled"}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", NETWORKS)
@pytest.mark.parametrize("product", ["rl_figure1", "rl_curves", "rl_scores"])
def test_the_algorithm_stands_in_every_table_and_figure_of_scores(added, product, algorithm):
    tables = added[0].root / "results" / "tables"
    rows = pd.read_csv(tables / f"{product}.csv")
    assert rows.loc[rows["algorithm"] == algorithm, "value"].notna().any()
    shown = (tables / f"{product}.md", added[0].root / "results" / "figures" / f"{product}.svg")
    assert any(algorithm in path.read_text() for path in shown if path.exists())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", NETWORKS)
def test_its_own_networks_are_pruned_and_no_others(added, algorithm):
    sweep = {**dict(zip(NETWORKS, ("cloning", "td3_bc", "iql"), strict=False)), "BCQ": "bcq"}
    folder = added[0].root / "results" / "rl" / "hopper" / "narrow" / f"{sweep[algorithm]}-all"
    layers, sizes = (pd.read_csv(folder / name) for name in ("layers.csv", "sizes.csv"))
    assert set(layers["network"]) == set(sizes["network"]) == NETWORKS[algorithm]
    named = "narrow" if algorithm == "BCQ" else f"narrow, {algorithm}"
    assert set(layers["networks"]) == {named}
    pruned = layers[layers["method"] != "dense"].groupby(["method", "seed", "group"])
    kept = pruned[["kept", "weights"]].sum()
    assert (kept["kept"] == (kept["weights"] * 0.05).map(round)).all()
    with safe_open(folder / "policies.safetensors", framework="numpy") as stored:
        about = json.loads(stored.metadata()["policies"])
        actor = stored.get_tensor("actor.l2.weight")
    assert about["settings"]["algorithm"] == algorithm
    group = layers[(layers["network"] == "actor") & (layers["layer"] == "l2")]
    at_most = group.set_index(["observations", "method", "seed"])["kept"]
    for k, row in enumerate(about["rows"]):
        left = np.count_nonzero(actor[k])
        assert left <= at_most[row["observations"], row["method"], row["seed"]]


@pytest.mark.parametrize(
    ("algorithms", "said"),
    [
        (["CQL"], "rl.sweeps.new.algorithms names CQL; allowed are BCQ, BC, TD3+BC, IQL"),
        (["IQL", "TD3+BC"], "rl.sweeps.new.algorithms are IQL, TD3+BC; expected one, or BCQ, BC"),
        (["BC", "BCQ"], "rl.sweeps.new.algorithms are BC, BCQ; expected one, or BCQ, BC"),
        (["BCQ"], "rl.sweeps.bcq and rl.sweeps.new both train BCQ"),
    ],
)
def test_what_no_training_gives_is_refused_by_its_key(algorithms, said):
    new = {"algorithms": algorithms, "widths": "narrow", "seeds": [0], "runs": RUNS}
    overlay = {"rl": {"sweeps": {"bc": None, "new": new}}}
    config = completed(overlay, ROOT)
    check_config(config, ROOT / "config" / "schema.yaml")
    sources = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text())
    with pytest.raises(ConfigError, match=re.escape(said)):
        Workflow(config, sources)
