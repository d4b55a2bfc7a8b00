"""Scenes mixed from the pool, their captions, and the small model's training on them."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import torch
from stops import Never, StopAfter

from makers.sounds import pool as pool_module
from makers.sounds.catalogue import KINDS
from makers.sounds.learning import LearningSettings, learn, write_learned
from makers.sounds.mixing import Measured, Mixer, write_measured
from makers.sounds.pool import Pool, PoolSettings, write_pool
from triptych.apps.sounds.search.trained import caution
from triptych.audio.models.retrieval import load_model
from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import Stopped

PLACES = {name: place for place, name in enumerate(KINDS)}
SOUNDS = PoolSettings(each=1, held_out=1, seconds=1.0, seed=0)
TINY = {
    "audio": {"class": "statistics", "segment_seconds": 1, "dim": 16, "width": 8},
    "text": {"class": "words", "source": "scratch", "hidden": 16, "vocabulary": 3000},
    "model": {
        "projection": 8,
        "temperature": 0.05,
        "learn_temperature": False,
        "text_dropout": 0.0,
    },
}
TRAINING = LearningSettings(
    **dict(steps=6, batch=16, learning_rate=0.01, warmup=2, decay=0.5, weight_decay=0.0),
    **dict(precision="float32", seed=0, log_every=2, checkpoint_every=2),
)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A pool whose sounds are a band of noise for each kind, so that it takes no time."""
    folder = tmp_path_factory.mktemp("pool")

    def stripe(name, number, settings):
        hertz = 150 * 1.02 ** PLACES[name]
        time = np.arange(32000) / 32000
        return (0.3 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "sound", stripe)
        write_pool(folder, SOUNDS)
    return Pool(folder)


@pytest.fixture(scope="module")
def scenes(pool, tmp_path_factory):
    """The folder of 256 measured scenes."""
    folder = tmp_path_factory.mktemp("scenes")
    write_measured(folder, Mixer(pool, 100), 200, 0)
    return folder


def trained(pool, scenes, folder, stop):
    return learn(
        TINY,
        Measured(scenes, 200),
        [Mixer(pool, 100).held_out(0)],
        TRAINING,
        torch.device("cpu"),
        Checkpoint(folder, "x"),
        stop,
    )


def test_a_training_that_was_stopped_ends_as_an_unbroken_one(pool, scenes, tmp_path):
    whole = trained(pool, scenes, tmp_path / "whole", Never())
    with pytest.raises(Stopped):
        trained(pool, scenes, tmp_path / "parts", StopAfter(3))
    parts = trained(pool, scenes, tmp_path / "parts", Never())
    assert parts.step == whole.step
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, parts.model.state_dict()[name]), name
    columns = ["step", "loss", "held_out_map"]
    assert parts.log[columns].equals(whole.log[columns])
    best = whole.log["held_out_map"].idxmax()
    assert whole.step == whole.log["step"][best]


def test_what_is_shipped_loads_in_float32_with_its_record(pool, scenes, tmp_path):
    learned = trained(pool, scenes, tmp_path / "run", Never())
    write_learned(tmp_path / "model", learned, {**TINY, "training": asdict(TRAINING)})
    loaded = load_model(tmp_path / "model")
    for name, value in learned.model.state_dict().items():
        kept = value.half().float() if value.is_floating_point() else value
        assert torch.equal(loaded.state_dict()[name], kept), name
    about = json.loads((tmp_path / "model/model.json").read_text())["about"]
    assert about["step"] == learned.step and about["kinds"] == len(KINDS)
    assert about["training"]["schedule"] == {"learning_rate": 0.01}
    assert caution(tmp_path / "model")
    log = pd.read_csv(tmp_path / "model/training.csv")
    assert about["held_out_map"] == log.set_index("step")["held_out_map"][learned.step]
