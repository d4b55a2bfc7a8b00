"""Index and search with a real model of the study's classes, tiny and untrained."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_sounds import write_sound
from sound_files import read_audio

from triptych.apps.sounds.search.index import read_index
from triptych.cli import main

CAPTIONS = ["a dog barks", "rain falls on a roof", "somebody knocks"]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    from audio_small_models import SMALL, write_text

    from triptych.audio.models.retrieval import build_model, save_model

    folder = tmp_path_factory.mktemp("model")
    text = write_text(folder / "text", CAPTIONS)
    audio = replace(SMALL.audio, frames=100)
    settings = replace(SMALL, audio=audio, segment_seconds=1)
    save_model(build_model(settings, text, None, 0), folder / "whole", {})
    return folder / "whole"


@pytest.mark.slow
def test_what_is_indexed_and_found_is_what_the_model_says(model, tmp_path, capsys):
    from triptych.audio.models.retrieval import load_model

    sounds = tmp_path / "sounds"
    for pitch, seconds in (("low", 0.005), ("middle", 1.5), ("high", 4.0)):
        write_sound(sounds / f"{pitch}.wav", pitch, seconds)
    assert main(["index", str(sounds), "--model", str(model), "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["search", "Rain falls on a ROOF!", "--index", str(sounds), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {Path(result["file"]).stem for result in found} == {"low", "middle", "high"}

    retrieval = load_model(model)
    with torch.inference_mode():
        text = retrieval.embed_text(retrieval.text.tokenize(["rain falls on a roof"]))[0].numpy()
        for result in found:
            start, seconds = result["start"], result["end"] - result["start"]
            waveform = torch.from_numpy(read_audio(result["file"], start, seconds))
            audio = retrieval.embed_audio(waveform[None], torch.tensor([len(waveform)]))[0].numpy()
            # float16 has 11 bits, of numbers up to 1
            assert result["score"] == pytest.approx(float(text @ audio), abs=5e-4)
    embeddings = read_index(sounds / "triptych-index.npz").embeddings.astype(np.float32)
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(7), abs=2e-3)


TEXTS = (
    "rain",
    "A dog barks twice; then somebody knocks.",
    "",
    "?!",
    "rain falls on a roof " * 12,
    "caf\u00e9 \u96e8",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_text_side_beside_an_index_says_what_pytorch_says(kind, tmp_path):
    """Random weights as published, and the ranking of random sounds."""
    from audio_small_models import write_text

    from triptych.apps.sounds.search.embedder import write_text_side
    from triptych.apps.sounds.search.trained import TextSide, digest_of_model
    from triptych.audio.models.sentences import SentenceEncoder

    write_text(tmp_path / "scratch", CAPTIONS, kind, 32, 90, layers=2, heads=4)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.text = SentenceEncoder.from_folder(tmp_path / "scratch", 0.2)
            self.project = torch.nn.Linear(32, 16)

        def embed_text(self, tokens):
            return torch.nn.functional.normalize(self.project(self.text(tokens)), dim=1)

    torch.manual_seed(0)
    model = Model().eval()
    (tmp_path / "i.text" / "earlier").mkdir(parents=True)
    write_text_side(model, "abc", tmp_path / "i.text")
    assert not (tmp_path / "i.text" / "earlier").exists()
    assert digest_of_model(tmp_path / "i.text") == "abc"
    assert not list(tmp_path.glob(".partial*"))
    sounds = np.random.default_rng(0).standard_normal((200, 16)).astype(np.float32)
    for text in TEXTS:
        with torch.inference_mode():
            expected = model.embed_text(model.text.tokenize([text]))[0].numpy()
        found = TextSide(tmp_path / "i.text").text(text)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert np.array_equal(np.argsort(sounds @ found), np.argsort(sounds @ expected))
