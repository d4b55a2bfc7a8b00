"""The small model that the repository ships: its file, its record, and a search with it."""

import argparse
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from makers.sounds.catalogue import KINDS
from makers.sounds.pool import PoolSettings, sound
from triptych.apps.sounds.commands import add_commands
from triptych.apps.sounds.search.embedder import Embedder
from triptych.apps.sounds.search.index import NAME as INDEX
from triptych.apps.sounds.search.indexing import segments
from triptych.apps.sounds.search.trained import text_folder
from triptych.audio.data.decoding import stream_audio
from triptych.audio.data.shards import write_sound as write_samples
from triptych.audio.scoring.metrics import average_precisions

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "resources/audio/small"
RECORDINGS = Path(os.environ.get("TRIPTYCH_REAL_FILES", "nowhere")) / "sounds"
UNHEARD = PoolSettings(each=1, held_out=1, seconds=4.0, seed=77)
"""Sounds that no training has heard: of another seed than its own's."""
QUERIES = {
    "rain": "rainfall",
    "church_bells": "bells ringing in a tower",
    "songbirds": "birds",
    "clock_ticking": "a clock",
    "siren": "an ambulance",
    "baby_crying": "an infant crying",
}


@pytest.fixture
def sounds(tmp_path, small_text):
    shutil.copytree(small_text, text_folder(tmp_path / INDEX))
    for name in QUERIES:
        for number in range(2):
            samples = np.clip(sound(name, number, UNHEARD), -1, 1)
            write_samples(tmp_path / f"{name}-{number}.wav", samples, 32000, "WAV")
    return tmp_path


def triptych(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    options = parser.parse_args([str(argument) for argument in arguments])
    return options.run(options)


def test_its_record_says_what_the_config_says():
    about = json.loads((SMALL / "model.json").read_text())["about"]
    config = yaml.safe_load((ROOT / "makers/config.yaml").read_text())["small"]
    assert about["settings"] == config
    assert about["kinds"] == len(KINDS)
    assert about["sources"] == {"everyday": "synthesised"}
    rate = about["training"]["schedule"]["learning_rate"]
    assert rate == config["training"]["learning_rate"]
    log = np.genfromtxt(SMALL / "training.csv", delimiter=",", names=True)
    assert about["held_out_map"] == pytest.approx(log["held_out_map"].max())
    assert about["step"] == log["step"][log["held_out_map"].argmax()]


@pytest.mark.slow
def test_a_folder_is_indexed_by_its_name_and_found_by_words(sounds, capsys):
    assert triptych("index", sounds, "--model", "small") == 0
    assert "heard only computed sounds" in capsys.readouterr().err
    right = 0
    for name, query in QUERIES.items():
        triptych("search", query, "--index", sounds, "-n", 1, "--json")
        right += name in json.loads(capsys.readouterr().out)[0]["file"]
    assert right >= 5


def test_a_quiet_recording_is_heard_as_the_loud_one():
    embedder = Embedder(SMALL, "cpu")
    loud = sound("songbirds", 0, UNHEARD)[:96_000].astype(np.float32)
    quiet = loud * np.float32(0.001)
    vectors = embedder.sounds([loud, quiet, quiet + np.float32(0.1)])  # the last with an offset
    assert (vectors[1:] @ vectors[0] > 0.999).all()
    assert embedder.sounds([np.zeros(96_000, np.float32)])[0] @ vectors[0] < 0.9


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings aren't here")
def test_recordings_are_found_by_names_and_by_a_persons_own_words():
    """Mean average precision over 400 recordings that nothing was trained on."""
    embedder = Embedder(SMALL, "cpu")
    asked = pd.read_csv(Path(__file__).with_name("own_words.csv"))
    paths = sorted(RECORDINGS.glob("*/*.ogg"))
    cut = [[waveform for _, waveform in segments(stream_audio(path), 3.0)] for path in paths]
    heard = [embedder.sounds(waveforms) for waveforms in cut]
    right = asked["class"].to_numpy()[:, None] == [path.parent.name for path in paths]

    def precision(queries) -> float:
        text = [embedder.text(query) for query in queries]
        scores = np.array([[(rows @ query).max() for rows in heard] for query in text])
        return float(average_precisions(scores, right, len(paths)).mean())

    assert precision(asked["class"].str.replace("_", " ")) == pytest.approx(0.434, abs=0.005)
    assert precision(asked["development"]) == pytest.approx(0.381, abs=0.005)
    assert precision(asked["aside"]) == pytest.approx(0.359, abs=0.005)
