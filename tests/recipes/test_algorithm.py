"""An algorithm added as CONTRIBUTING.md says is a row of the sweep, as TD3+BC and IQL are."""

import json
import re
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import yaml
from recipes import BOOK, STEP, follow
from safetensors import safe_open
from tiny_checkout import ROOT, TINY, copy_checkout

from triptych.core.config import ConfigError, check_config, completed, merged
from triptych.rl.workflow import Workflow

TITLE = "An algorithm of offline RL"
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
    """A checkout with the algorithm, in which the study has run at a tiny size, BCQ beside it."""
    checkout = copy_checkout(tmp_path_factory.mktemp("algorithm"))
    touched = follow(TITLE, checkout.root)
    mine = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
    tiny = deepcopy(merged(merged(TINY, mine), {"rl": {"sweeps": OTHERS, "runs_per_job": "all"}}))
    tiny["rl"]["sweeps"]["bcq"]["runs"] = {**RUNS, "controls": None}
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake("rl", config="mine.yaml")
    return checkout, touched


def test_it_takes_at_most_150_lines():
    sections = re.split(r"^## ", BOOK.read_text(), flags=re.MULTILINE)
    (recipe,) = (each for each in sections if each.startswith(TITLE))
    steps = [step["text"] for step in STEP.finditer(recipe)]
    assert len(steps) == 6 and sum(text.count("\n") for text in steps) <= 150


@pytest.mark.slow
def test_four_files_are_touched_of_which_one_is_config(added):
    touched = added[1]
    assert len(touched) == 4 and "config/mine.yaml" in touched
    assert sum(not new for new in touched.values()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", NETWORKS)
@pytest.mark.parametrize("product", ["rl_figure1", "rl_curves", "rl_scores"])
def test_it_stands_in_every_table_and_figure_of_scores(added, product, algorithm):
    tables = added[0].root / "results" / "tables"
    rows = pd.read_csv(tables / f"{product}.csv")
    assert rows.loc[rows["algorithm"] == algorithm, "value"].notna().any()
    shown = (tables / f"{product}.md", added[0].root / "results" / "figures" / f"{product}.svg")
    assert any(f"{algorithm}" in path.read_text() for path in shown if path.exists())


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
