"""The audio study under Snakemake, at a tiny size: from sounds to one trained model."""

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow

MODEL = "results/audio/models/mini_n-mini_bert/leak_free/pretrained"
TARGETS = [MODEL, "audio_table1"]


@pytest.fixture(scope="module")
def heard(new_checkout, tmp_path_factory):
    checkout = new_checkout(tmp_path_factory.mktemp("heard"))
    checkout.snakemake(*TARGETS)
    return checkout


def test_nothing_is_to_be_done_after_a_run(heard):
    assert heard.stale(*TARGETS) == set()


def test_the_model_and_its_embeddings_are_there(heard):
    files = {path.name for path in (heard.root / MODEL).iterdir()}
    assert files >= {"model.safetensors", "model.json", "tokenizer.json", "history.csv"}
    with np.load(heard.root / MODEL / "embeddings.npz") as embeddings:
        assert len(embeddings["evaluation_clips"]) == 12
        assert len(embeddings["evaluation_text"]) == 60


def test_planted_leaks_are_kept_out_of_training(heard):
    corpus = heard.root / "results" / "audio" / "corpora" / "leak_free"
    manifest, removed = (pd.read_csv(corpus / f"{name}.csv") for name in ("manifest", "removed"))
    leaks = set(removed[removed["reason"] == "protected recording"]["clip"])
    assert leaks
    assert not leaks & set(manifest[manifest["role"] == "train"]["clip"])


def test_editing_the_scores_leaves_training_alone(heard):
    path = heard.root / "workflow_scripts/triptych/audio/scoring/ensemble.py"
    text = path.read_text()
    path.write_text(text + "\nEDITED = 1\n")
    assert heard.stale(*TARGETS) == set()
    path.write_text(text)


def test_another_precision_trains_anew_from_the_same_shards(heard):
    stale = heard.snakemake(
        *TARGETS,
        "--dry-run",
        "--quiet",
        "reason",
        "--config",
        'audio={"stages": {"pretraining": {"precision": "bf16"}}}',
    )
    assert "rule audio_pretrain" in stale
    assert "rule audio_shard" not in stale


def test_synthesised_sounds_are_not_mixed_with_recordings(fresh):
    own = 'audio={"sources": {"clotho": {"source": "path", "path": "/data/clotho"}}}'
    said = fresh.snakemake("audio_table1", "--dry-run", "--config", own, check=False)
    assert "audiocaps, wavcaps would be synthesised and clotho would not" in said


def test_a_password_in_the_address_of_a_server_reaches_no_file(fresh):
    address = "http://anna:geheimwort@localhost:9/v1"  # pragma: allowlist secret
    own = f'audio={{"captions": {{"backend": "openai", "base_url": "{address}"}}}}'
    said = fresh.snakemake("audio_caption", "--config", own, check=False)
    assert "base_url is not plain http" in said
    files = [path for path in fresh.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if b"geheimwort" in path.read_bytes()]
    assert "geheimwort" not in said


def test_captions_of_the_demos_scenes_are_refused_for_recordings(fresh):
    sources = '{"clotho": {"source": "path", "path": "x"}, "audiocaps": {"source": "none"}, '
    own = f'audio={{"sources": {sources}"wavcaps": {{"source": "none"}}}}}}'
    said = fresh.snakemake("audio_table1", "--dry-run", "--config", own, check=False)
    assert "config: audio.captions.backend is template" in said
