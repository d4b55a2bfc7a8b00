"""Encoders added as CONTRIBUTING.md says are in all that shows encoders, and change nothing."""

import re

import pandas as pd
import pytest
import yaml
from recipes import follow, keep_alone
from tiny_checkout import ROOT, TINY, copy_checkout

from triptych.audio.workflow import Workflow
from triptych.core.config import ConfigError, check_config, merged, read_config

MAIN = ["mini_n", "mini_roberta"]
RECIPES = {"An audio encoder": ["cnn", "mini_roberta"], "A sentence encoder": ["mini_n", "bag"]}
SMALL = {
    "pairs": [MAIN],
    "main": MAIN,
    "ensemble": {"members": [MAIN]},
    "finetuning": {"seeds": [0]},
}


def tables(root):
    """What is in the tables and figures of results, by their names."""
    return {path.stem: pd.read_csv(path) for path in (root / "results" / "tables").glob("*.csv")}


def mine(root):
    """The config that a recipe has just written."""
    return yaml.safe_load((root / "config" / "mine.yaml").read_text())


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout of the one study, the files that each recipe touched, and the tables before."""
    checkout = copy_checkout(tmp_path_factory.mktemp("encoders"))
    keep_alone(checkout.root, "audio")
    tiny = {"scale": "custom", "audio": merged(TINY["audio"], SMALL)}
    tiny["audio"]["synthesis"]["challenge"] = 10  # as many as a submission lists
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake("audio")
    before = tables(checkout.root)
    touched = {}
    for recipe, pair in RECIPES.items():
        touched[recipe] = follow(recipe, checkout.root)
        config = mine(checkout.root)
        assert pair in config["audio"].pop("pairs")
        tiny = merged(tiny, config)
        tiny["audio"]["pairs"] = [*tiny["audio"]["pairs"], pair]
    tiny = merged(tiny, {"audio": {"audio_models": {"cnn": {"blocks": 2, "dim": 16}}}})
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake()
    return checkout, touched, before


def shown(checkout, suffix, name):
    folder = "tables" if suffix == "md" else "figures"
    return (checkout.root / "results" / folder / f"{name}.{suffix}").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_three_files_are_touched_of_which_one_is_config(added, recipe):
    touched = added[1][recipe]
    assert len(touched) == 3 and "config/mine.yaml" in touched
    assert sum(not new for new in touched.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("pair", RECIPES.values())
@pytest.mark.parametrize("product", ["audio_table2", "audio_beyond"])
def test_it_stands_in_tables_and_figures_under_its_own_name(added, product, pair):
    rows = tables(added[0].root)[product]
    rows = rows[(rows["audio_model"] == pair[0]) & (rows["text_model"] == pair[1])]
    assert rows["value"].notna().all()
    assert {"finetuned_gpt", "pretrained"} <= set(rows["kind"])
    new = next(name for name in pair if name not in MAIN)
    assert new in shown(added[0], "md", product)
    if product == "audio_beyond":
        assert new in shown(added[0], "svg", product)


@pytest.mark.slow
def test_it_stands_in_claims_and_on_the_page(added):
    claims = pd.read_csv(added[0].root / "results" / "claims.csv").set_index("id")
    page = (added[0].root / "results" / "report.html").read_text()
    for name in ("cnn + RoBERTa mini", "PaSST-N mini + bag"):
        assert name in claims.loc["audio-best-single", "measured"]
        assert name in page


@pytest.mark.slow
def test_nothing_else_changes(added):
    """What the other systems got, to the last digit, but for what is chosen among all of them."""
    after = tables(added[0].root)
    assert set(after) >= set(added[2])
    for name, before in added[2].items():
        rows = after[name]
        if name == "audio_ensembles":  # of all subsets of the systems that there are
            assert len(rows) > len(before)
            continue
        if {"audio_model", "text_model"} <= set(rows):
            new = rows["audio_model"].eq("cnn") | rows["text_model"].eq("bag")
            assert new.any() == (name in ("audio_table2", "audio_beyond"))
            rows = rows[~new & ~rows["audio_model"].eq("selected")]
            before = before[~before["audio_model"].eq("selected")]
        pd.testing.assert_frame_equal(
            rows.reset_index(drop=True), before.reset_index(drop=True), check_exact=True
        )


@pytest.mark.slow
def test_only_what_depends_on_an_edit_or_a_precision_is_to_be_done_again(added):
    checkout = added[0]
    model = "results/audio/models/mini_n-mini_roberta/leak_free/pretrained"
    assert checkout.stale("all") <= {"all"}
    checkout.edit(
        "workflow_scripts/triptych/audio/scoring/ensemble.py", "\nimport ", "\nX = 1\nimport "
    )
    assert checkout.stale(model) == set()
    precision = 'audio={"stages": {"pretraining": {"precision": "bf16"}}}'
    stale = checkout.stale(model, "--config", precision)
    assert "audio_pretrain" in stale and "audio_shard" not in stale


@pytest.mark.slow
def test_planted_leaks_are_kept_out_of_training(added):
    corpus = added[0].root / "results" / "audio" / "corpora" / "leak_free"
    manifest, removed = (pd.read_csv(corpus / f"{name}.csv") for name in ("manifest", "removed"))
    leaks = set(removed[removed["reason"] == "protected recording"]["clip"])
    assert leaks
    assert not leaks & set(manifest[manifest["role"] == "train"]["clip"])


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (
            {"audio_models": {"new": {"class": "cnn", "segment_seconds": 1}}},
            "audio.audio_models.new.class is 'cnn'; allowed is one of passt",
        ),
        (
            {"audio_models": {"mini_n": {"width": 3}}},
            "audio.audio_models.mini_n has no key 'width'; a passt has label, class, weights",
        ),
    ],
)
def test_what_no_encoder_is_made_of_is_refused_by_its_key(models, said):
    config = merged(read_config(ROOT), {"audio": models})
    check_config(config, ROOT / "config" / "schema.yaml")
    sources = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text())
    with pytest.raises(ConfigError, match=re.escape(said)):
        Workflow(config, sources)
