"""Variants of the pruning that could not be made are refused before a job starts, by their keys."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from triptych.core.config import ConfigError, check_config, merged, read_config
from triptych.rl.workflow import Workflow

ROOT = Path(__file__).resolve().parents[2]
ITERATED = {"iterated": {"iterations": 3}}


def workflow(overlay):
    config = merged(read_config(ROOT), {"rl": overlay})
    check_config(config, ROOT / "config" / "schema.yaml")
    return Workflow(config, yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text()))


def varied(variants, name, methods=("snip",), **others):
    part = {"pruning": name, "methods": list(methods), "sparsities": [95]}
    sweeps = {"bc": {"runs": {"varied": part}}}
    return {"pruning": {"variants": variants}, "sweeps": sweeps, **others}


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        (varied({}, "other"), "rl.sweeps.bc.runs.varied.pruning is 'other'; allowed is default"),
        (varied(ITERATED, "iterated", ["snip", "erk"]), "changes nothing for erk"),
        (varied({"s": {"quality": "random"}}, "s"), "hopper (collected) has no such data"),
        (
            {
                "pruning": {"variants": ITERATED},
                "mask_statistics": {"runs": {"paper": {"pruning": "iterated"}}},
            },
            "rl.mask_statistics.runs make no mask of 95% (rl.shown_sparsity)",
        ),
    ],
)
def test_a_variant_that_cannot_be_made_is_refused(overlay, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        workflow(overlay)


def test_a_variant_prunes_with_its_own_settings_and_data():
    of = workflow(varied({"shifted": {"quality": "medium", "snip_batch": 7}}, "shifted"))
    pruning = of.pruning(SimpleNamespace(task="hopper", stack="bc-varied"))
    assert pruning["default"]["transitions"] == "results/rl/hopper/transitions.safetensors"
    assert pruning["shifted"]["transitions"] == "results/rl/hopper-medium/transitions.safetensors"
    assert (pruning["default"]["snip_batch"], pruning["shifted"]["snip_batch"]) == (100, 7)
    assert list(of.variants) == ["shifted"] and "rl_variants" in "".join(map(str, of.products))
