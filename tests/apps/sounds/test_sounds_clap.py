"""`triptych index --model clap` with a made-up ClapModel, served as the hub serves the real one."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import soxr
import torch
from audio_small_models import write_clap
from download_server import Behaviour, serving
from small_sounds import write_sound
from sound_files import read_audio
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel

from triptych.cli import main

TEXT = "rain falls on a roof"


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """The files of a ClapModel of a few thousand weights, as the hub has them."""
    folder = write_clap(tmp_path_factory.mktemp("published"), [TEXT, "a dog barks"])
    model = ClapModel.from_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_clap_is_fetched_once_and_found_by_as_transformers_has_it(
    published, tmp_path, monkeypatch, capsys
):
    files = {path.name: path.read_bytes() for path in published.iterdir()}
    listed = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    entry = {"repository": "laion/x", "revision": "0" * 40, "files": listed}
    monkeypatch.setattr("triptych.apps.sounds.search.embedder.sources", lambda: {"clap": entry})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sounds = tmp_path / "sounds"
    for pitch, seconds in (("low", 3.0), ("high", 14.0)):
        write_sound(sounds / f"{pitch}.wav", pitch, seconds)
    command = ["index", str(sounds), "--model", "clap", "--device", "cpu"]
    place = f"/laion/x/resolve/{'0' * 40}"
    served = {f"{place}/{name}": data for name, data in files.items()}
    with serving(Behaviour(files=served)) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        assert main(command) == 0
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(command) == 0  # from the cache
    capsys.readouterr()
    assert main(["search", TEXT, "--index", str(sounds), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 2

    model = ClapModel.from_pretrained(published).eval()
    tokens = AutoTokenizer.from_pretrained(published)([TEXT], return_tensors="pt")
    features = ClapFeatureExtractor.from_pretrained(published)
    with torch.inference_mode():
        text = model.get_text_features(**tokens).pooler_output[0].numpy()
        for hit in found:
            sound = read_audio(hit["file"], hit["start"], hit["end"] - hit["start"])
            heard = features(
                soxr.resample(sound, 32_000, 48_000)[:480_000],
                sampling_rate=48_000,
                return_tensors="pt",
            )
            audio = model.get_audio_features(**heard).pooler_output[0].numpy()
            expected = text @ audio / np.linalg.norm(text) / np.linalg.norm(audio)
            assert hit["score"] == pytest.approx(float(expected), abs=2e-3)
