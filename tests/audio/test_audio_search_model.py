"""Index and search with a real model of the study's classes, tiny and untrained."""

import argparse
import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from small_sounds import write_sound

from triptych.audio.commands import add_commands
from triptych.audio.data.decoding import read_audio
from triptych.audio.search.index import read_index


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    from triptych.audio.models.model_files import build_model, save_model
    from triptych.audio.models.sentence_encoders import BertSettings
    from triptych.audio.models.settings import ModelSettings
    from triptych.audio.models.text_files import write_scratch_model

    folder = tmp_path_factory.mktemp("model")
    captions = ["a dog barks", "rain falls on a roof", "somebody knocks"]
    write_scratch_model(folder / "text", BertSettings(16, 80, 1, 2).config(), "words", captions)
    settings = ModelSettings.from_config(
        {
            "weights": "none",
            "segment_seconds": 1,
            "stride": [16, 16],
            "frames": 100,
            "dim": 16,
            "depth": 1,
            "heads": 2,
            "patchout": [0, 0],
        },
        {"projection": 8, "temperature": 0.07, "learn_temperature": True},
        0.2,
    )
    built = build_model(settings, folder / "text", None, 0)
    save_model(built, folder / "whole", {})
    return folder / "whole"


def triptych(*arguments: object) -> int:
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        parser = argparse.ArgumentParser()
        add_commands(parser.add_subparsers())
        options = parser.parse_args([*map(str, arguments), "--device", "cpu"])
        return options.run(options)
    finally:
        for number, handler in kept:
            signal.signal(number, handler)


@pytest.mark.slow
def test_what_is_indexed_and_found_is_what_the_model_says(model, tmp_path, capsys):
    from triptych.audio.models.model_files import load_model

    sounds = tmp_path / "sounds"
    for pitch, seconds in (("low", 0.005), ("middle", 2.5), ("high", 32.0)):
        write_sound(sounds / f"{pitch}.wav", pitch, seconds)
    assert triptych("index", sounds, "--model", model) == 0
    capsys.readouterr()
    assert triptych("search", "Rain falls on a ROOF!", "--index", sounds, "--json") == 0
    found = {Path(r["file"]).stem: r for r in json.loads(capsys.readouterr().out)}
    assert set(found) == {"low", "middle", "high"}

    retrieval = load_model(model)
    with torch.inference_mode():
        text = retrieval.embed_text(retrieval.text.tokenize(["rain falls on a roof"]))[0].numpy()
        for name, result in found.items():
            start, seconds = result["start"], result["end"] - result["start"]
            waveform = torch.from_numpy(read_audio(sounds / f"{name}.wav", start, seconds))
            audio = retrieval.embed_audio(waveform[None], torch.tensor([len(waveform)]))[0].numpy()
            assert result["score"] == pytest.approx(float(text @ audio), abs=1e-4)
    assert found["high"]["end"] - found["high"]["start"] in (30, pytest.approx(2, abs=0.01))
    _, embeddings = read_index(sounds / "triptych-index.npz").rows()
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
