"""A criterion and an algorithm added to a finished study as CONTRIBUTING.md says: their own jobs
run and no others, and they stand where the others do."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from recipes import follow
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
    "cloning": ("Cloning", {"actor"}),
    "td3_bc": ("TD3+BC", {"actor", "critic"}),
    "iql": ("IQL", {"actor", "critic", "value"}),
    "bcq": ("BCQ", {"actor", "critic", "vae"}),
}
OWN = {
    CRITERION: {("rl_prune", "measured-gradient"), ("rl_train", "bcq-gradient")},
    ALGORITHM: {("rl_train", "cloning-paper")},
}


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout with both, in which all has run, the files that each recipe touched, and the jobs
    that were to run for both where the study seemed to have finished."""
    checkout = copy_checkout(tmp_path_factory.mktemp("algorithm"))
    sweeps = {**OTHERS, "bcq": {"runs": {"raw": None, "controls": None}}}
    tiny = merged(TINY, {"rl": {"sweeps": sweeps}})
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    checkout.pretend("rl")
    touched = {}
    for title in OWN:
        touched[title] = follow(title, checkout.root)
        mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
        tiny = merged(tiny, mine)
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    jobs = checkout.jobs("rl")
    shutil.rmtree(checkout.root / "results")
    checkout.snakemake("rl")
    return checkout, touched, jobs


@pytest.mark.slow
@pytest.mark.parametrize("title", OWN)
def test_a_recipe_is_one_new_file_and_lines_of_config(added, title):
    assert len(added[1][title]) == 2 and all(added[1][title].values())


@pytest.mark.slow
def test_recipes_run_only_their_own_jobs(added):
    computed = {
        (job["rule_name"], job["wildcards"].get("stack"))
        for job in added[2]
        if not job["output"][0].startswith(("results/figures", "results/tables"))
    }
    assert computed == set().union(*OWN.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "product", ["rl_criteria", "rl_curves", "rl_figure3", "rl_figure4", "rl_table1", "rl_scores"]
)
def test_the_criterion_stands_in_every_table_figure_and_curve(added, product):
    results = added[0].root / "results"
    assert "gradient" in set(pd.read_csv(results / "tables" / f"{product}.csv")["method"])
    table = results / "tables" / f"{product}.md"
    assert "Gradient" in table.read_text() if table.exists() else True
    assert table.exists() or (results / "figures" / f"{product}.svg").exists()


@pytest.mark.slow
def test_the_criterions_masks_are_its_own_and_the_papers_figures_do_not_change(added):
    tables = added[0].root / "results" / "tables"
    layers = pd.read_csv(tables / "rl_figure3.csv").set_index(["task", "network", "layer"])
    kept = {method: values.to_list() for method, values in layers.groupby("method")["value"]}
    assert kept["gradient"] not in (kept["snip"], kept["grasp"])
    assert set(pd.read_csv(tables / "rl_figure1.csv")["method"]) == {"dense", "snip"}


@pytest.mark.slow
@pytest.mark.parametrize("sweep", NETWORKS)
def test_an_algorithm_prunes_its_own_networks_and_stands_in_figures_and_tables(added, sweep):
    root = added[0].root / "results"
    algorithm, networks = NETWORKS[sweep]
    for product in ("rl_figure1", "rl_curves", "rl_scores"):
        rows = pd.read_csv(root / "tables" / f"{product}.csv")
        assert rows.loc[rows["algorithm"] == algorithm, "value"].notna().any()
    folder = root / "rl" / "hopper" / "narrow" / f"{sweep}-paper"
    layers, sizes = (pd.read_csv(folder / name) for name in ("layers.csv", "sizes.csv"))
    assert set(layers["network"]) == set(sizes["network"]) == networks
    named = "narrow" if algorithm == "BCQ" else f"narrow, {algorithm}"
    assert set(layers["networks"]) == {named}
    pruned = layers[layers["sparsity_percent"] == 95].groupby(["method", "seed", "group"])
    kept = pruned[["kept", "weights"]].sum()
    assert (kept["kept"] == (kept["weights"] * 0.05).map(round)).all()
    with safe_open(folder / "policies.safetensors", framework="numpy") as stored:
        about = json.loads(stored.metadata()["policies"])
        actor = stored.get_tensor("actor.l2.weight")
    assert about["settings"]["algorithm"] == algorithm
    group = layers[(layers["network"] == "actor") & (layers["layer"] == "l2")]
    at_most = group.set_index(["method", "sparsity_percent", "seed"])["kept"]
    for k, row in enumerate(about["rows"]):
        kept = at_most[row["method"], row["sparsity_percent"], row["seed"]]
        assert np.count_nonzero(actor[k]) <= kept


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
