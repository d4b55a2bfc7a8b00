"""Encoders added as CONTRIBUTING.md says are in all that shows encoders, and rerun nothing else."""

import os
import re

import pandas as pd
import pytest
import yaml
from download_server import Behaviour, serving
from hub_site import REVISION, hub_site
from recipes import follow, keep_alone
from tiny_checkout import ROOT, TINY, copy_checkout

from triptych.audio.models.sentence_encoders import FILES
from triptych.audio.models.text_making import train_tokenizer
from triptych.audio.workflow import Workflow
from triptych.core.config import ConfigError, check_config, merged, read_config

MAIN = ["mini_n", "mini_roberta"]
RECIPES = {
    "An audio encoder": ["cnn", "mini_roberta"],
    "A sentence encoder": ["mini_n", "bag"],
    "A sentence encoder from the hub": ["mini_n", "mpnet"],
}
NEW = {"cnn", "bag", "mpnet"}
SMALL = {
    "pairs": [MAIN],
    "main": MAIN,
    "ensemble": {"members": [MAIN]},
    "finetuning": {"seeds": [0]},
}


def tables(root):
    """What is in the tables and figures of results, by their names."""
    return {path.stem: pd.read_csv(path) for path in (root / "results" / "tables").glob("*.csv")}


def times(root):
    """When each model was written."""
    models = (root / "results" / "audio" / "models").rglob("model.json")
    return {path.relative_to(root).as_posix(): path.stat().st_mtime_ns for path in models}


def tiny_mpnet(folder):
    """The files of a small MPNet with random weights, as a repository of the hub has them."""
    from transformers import MPNetConfig, MPNetModel

    tokenizer = train_tokenizer("bytes", 300, ["a dog barks", "rain falls down"])
    sizes = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 48}
    config = MPNetConfig(vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=1, **sizes)
    MPNetModel(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A checkout of one study, the files that each recipe touched, and what was there before."""
    checkout = copy_checkout(tmp_path_factory.mktemp("encoders"))
    keep_alone(checkout.root, "audio")
    tiny = {"scale": "custom", "audio": merged(TINY["audio"], SMALL)}
    tiny["audio"]["synthesis"]["challenge"] = 10  # as many as a submission lists
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    checkout.snakemake("audio")
    before = tables(checkout.root), times(checkout.root)
    touched = {}
    for recipe, pair in RECIPES.items():
        touched[recipe] = follow(recipe, checkout.root)
        config = yaml.safe_load((checkout.root / "config" / "mine.yaml").read_text())
        assert pair in config["audio"].pop("pairs")
        tiny = merged(tiny, config)
        tiny["audio"]["pairs"] = [*tiny["audio"]["pairs"], pair]
    smaller = {"audio_models": {"cnn": {"blocks": 2, "dim": 16}}}
    smaller["text_models"] = {"mpnet": {"revision": REVISION}}
    tiny = merged(tiny, {"audio": smaller})
    (checkout.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    files = tiny_mpnet(tmp_path_factory.mktemp("mpnet"))
    repository = tiny["audio"]["text_models"]["mpnet"]["repository"]
    site = hub_site("models", repository, files, large={"model.safetensors"})
    with serving(Behaviour(files=site)) as address, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "HF_ENDPOINT", address)
        checkout.snakemake()
    return checkout, touched, before


@pytest.mark.slow
def test_a_recipe_is_at_most_one_new_file_and_config(added):
    assert all(all(files.values()) for files in added[1].values())
    assert [len(files) for files in added[1].values()] == [2, 2, 1]


@pytest.mark.slow
def test_no_finished_model_is_trained_again(added):
    after = times(added[0].root)
    assert added[2][1] and {name: after[name] for name in added[2][1]} == added[2][1]
    assert len(after) == len(added[2][1]) + 2 * len(RECIPES)


@pytest.mark.slow
@pytest.mark.parametrize("pair", RECIPES.values())
def test_it_stands_in_the_table_under_its_own_name(added, pair):
    rows = tables(added[0].root)["audio_table2"]
    rows = rows[(rows["audio_model"] == pair[0]) & (rows["text_model"] == pair[1])]
    assert rows["value"].notna().all()
    assert {"finetuned_gpt", "pretrained"} <= set(rows["kind"])
    table = (added[0].root / "results" / "tables" / "audio_table2.md").read_text()
    assert next(name for name in pair if name in NEW) in table


@pytest.mark.slow
def test_it_stands_in_claims_and_on_the_page(added):
    claims = pd.read_csv(added[0].root / "results" / "claims.csv").set_index("id")
    page = (added[0].root / "results" / "report.html").read_text()
    for name in ("cnn + RoBERTa mini", "PaSST-N mini + bag", "PaSST-N mini + mpnet"):
        assert name in claims.loc["audio-best-single", "measured"]
        assert name in page


@pytest.mark.slow
def test_nothing_else_changes(added):
    """What the other systems got, to the last digit, but for what is chosen among all of them."""
    after = tables(added[0].root)
    assert set(after) >= set(added[2][0])
    for name, before in added[2][0].items():
        rows = after[name]
        if {"audio_model", "text_model"} <= set(rows):
            new = rows["audio_model"].isin(NEW) | rows["text_model"].isin(NEW)
            assert new.any() == (name in ("audio_table2", "audio_training"))
            rows = rows[~new & ~rows["audio_model"].eq("selected")]
            before = before[~before["audio_model"].eq("selected")]
        pd.testing.assert_frame_equal(
            rows.reset_index(drop=True), before.reset_index(drop=True), check_exact=True
        )


@pytest.mark.slow
def test_an_edit_of_an_encoder_reruns_the_models_that_have_it(added):
    checkout = added[0]
    models = "results/audio/models/{}/leak_free/pretrained"
    assert checkout.stale("all") <= {"all"}
    folder = "workflow_scripts/triptych/audio/models"
    checkout.edit(f"{folder}/audio_encoders/cnn.py", "def network", "x = 1\n\n    def network")
    assert checkout.stale(models.format("mini_n-mini_roberta")) == set()
    assert "audio_pretrain" in checkout.stale(models.format("cnn-mini_roberta"))
    checkout.edit(f"{folder}/passt.py", "SPECIAL_TOKENS = 2", "SPECIAL_TOKENS = 1 + 1")
    assert "audio_pretrain" in checkout.stale(models.format("mini_n-mini_roberta"))
    precision = 'audio={"stages": {"pretraining": {"precision": "bf16"}}}'
    stale = checkout.stale(models.format("mini_n-bag"), "--config", precision)
    assert "audio_pretrain" in stale and "audio_shard" not in stale


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
