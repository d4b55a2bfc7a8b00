"""CLAP behind the search's interface, against plain calls of transformers."""

import json
from pathlib import Path

import captioned_sounds
import numpy as np
import pytest
import soxr
import torch
import yaml
from download_server import Behaviour, serving
from hub_site import REVISION, hub_site
from safetensors.torch import load_file
from small_sounds import write_sound

from triptych.apps.sounds.search import trained
from triptych.apps.sounds.search.embedder import Embedder
from triptych.audio.models import clap
from triptych.audio.models.clap import convert_clap
from triptych.audio.models.sentence_encoders import RobertaSettings
from triptych.audio.models.text_files import write_scratch_model
from triptych.cli import main
from triptych.core.errors import InputError

transformers = pytest.importorskip("transformers")

TEXTS = ["Rain falls on a tin roof, while a dog barks.", "A SIREN wails", "birds " * 90]
TEXT_SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
AUDIO_SIZES = {
    "patch_embeds_hidden_size": 4,
    "depths": [1, 1],
    "num_attention_heads": [1, 2],
    "num_hidden_layers": 2,
    "hidden_size": 8,
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory) -> Path:
    """A small CLAP with random weights, in the files that the hub has."""
    folder = tmp_path_factory.mktemp("clap")
    write_scratch_model(folder, RobertaSettings(32, 300, 1, 2).config(), "bytes", TEXTS)
    config = transformers.ClapConfig(
        text_config={**TEXT_SIZES, "vocab_size": 400, "intermediate_size": 48},
        audio_config=AUDIO_SIZES,
        projection_dim=16,
    )
    torch.manual_seed(1)
    model = transformers.ClapModel(config)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1 * torch.randn_like(value))
    config.save_pretrained(folder)
    transformers.ClapFeatureExtractor(truncation="rand_trunc", frequency_min=50).save_pretrained(
        folder
    )
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder


@pytest.fixture(scope="module")
def converted(hub, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "clap"
    convert_clap(hub, folder, {"label": "CLAP"})
    return folder


@pytest.fixture(scope="module")
def plain(hub):
    """The library's own model and processor."""
    config = transformers.ClapConfig.from_pretrained(hub)
    model = transformers.ClapModel(config).eval()
    model.load_state_dict(torch.load(hub / "pytorch_model.bin", weights_only=True))
    return model, transformers.ClapFeatureExtractor.from_pretrained(hub)


def heard(plain, waveform: np.ndarray) -> np.ndarray:
    """Ten seconds at most, by the library."""
    model, front_end = plain
    with torch.no_grad():
        found = model.get_audio_features(
            **front_end(waveform, sampling_rate=48000, return_tensors="pt")
        )
    return found.pooler_output[0].numpy()


@pytest.mark.parametrize("seconds", [3, 10, 17, 30])
def test_sounds_are_embedded_as_the_library_embeds_each_ten_seconds(converted, plain, seconds):
    generator = np.random.default_rng(seconds)
    waveform = 0.1 * generator.standard_normal(seconds * 32000, np.float32)
    at_48 = soxr.resample(waveform, 32000, 48000)
    cuts = [at_48[first : first + 480_000] for first in range(0, len(at_48), 480_000)]
    expected = sum(len(cut) * heard(plain, cut) for cut in cuts)
    other = 0.1 * generator.standard_normal(5 * 32000, np.float32)
    found = Embedder(converted, "cpu").sounds([other, waveform])[1]
    assert found == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("missing", r"1 missing \(text_projection.linear1.weight\)"),
        ("renamed", r"1 missing .*; 1 unknown \(renamed\)"),
        ("narrow", r"1 of another shape \(text_projection.linear1.weight \(16, 31\) instead"),
        ("truncated", "cannot be read as plain weights"),
    ],
)
def test_other_weights_are_refused_by_tensor(hub, tmp_path, change, says):
    for name in clap.FILES[:-1]:
        (tmp_path / name).write_bytes((hub / name).read_bytes())
    state = torch.load(hub / "pytorch_model.bin", weights_only=True)
    tensor = state.pop("text_projection.linear1.weight")
    if change == "renamed":
        state["renamed"] = tensor
    if change == "narrow":
        state["text_projection.linear1.weight"] = tensor[:, :-1].clone()
    torch.save(state, tmp_path / "pytorch_model.bin")
    if change == "truncated":
        whole = (hub / "pytorch_model.bin").read_bytes()
        (tmp_path / "pytorch_model.bin").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=says):
        convert_clap(tmp_path, tmp_path / "model", {})
    assert not (tmp_path / "model").exists()


def test_it_is_fetched_from_the_hub_and_searched(hub, tmp_path, monkeypatch, capsys):
    here = tmp_path / "checkout"
    (here / "resources").mkdir(parents=True)
    monkeypatch.setattr(trained, "CHECKOUT", here)
    monkeypatch.chdir(tmp_path)
    write_sound(tmp_path / "sounds" / "low.wav", "low")
    words = {key: f"its {key}" for key in ("label", "homepage", "citation", "licence", "room")}
    source = {"repository": "some/clap", "revision": REVISION, "sha256": None, "layout": "clap"}
    audio = {"finished": {"files": {"clap": words | source}}, "text_models": {"files": {}}}
    (here / "resources/sources.yaml").write_text(yaml.safe_dump({"audio": audio}))
    content = {name: (hub / name).read_bytes() for name in clap.FILES}
    site = hub_site("models", "some/clap", content, large={"pytorch_model.bin"})
    with serving(Behaviour(files=site)) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        assert main(["index", "sounds", "--device", "cpu", "--model", "clap"]) == 0
    assert f"some/clap at {REVISION}" in capsys.readouterr().err
    assert main(["search", "low", "--index", "sounds", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["file"].endswith("low.wav")


LAST = tuple(
    f"{side}_model.{name}."
    for side, name in (
        ("audio", "audio_encoder.layers.1.blocks"),
        ("audio", "audio_encoder.norm"),
        ("text", "encoder.layer.0"),
        ("text", "pooler"),
    )
)
"""Of this small one, what `--blocks 1` trains beside the projections."""


@pytest.mark.slow
@pytest.mark.parametrize("blocks", ["1", "all"])
def test_it_learns_a_persons_recordings_and_is_searched(converted, tmp_path, capsys, blocks):
    place = captioned_sounds.write_recordings(tmp_path, 8)
    given = [str(place / "pairs.csv"), str(place / "sounds"), "--model", str(converted)]
    options = ["--epochs", "2", "--blocks", blocks, "--device", "cpu"]
    assert main(["adapt", *given, *options]) == 0
    assert "mAP@10" in capsys.readouterr().out
    adapted = place / "sounds" / "triptych-model"
    before, after = (load_file(each / "model.safetensors") for each in (converted, adapted))
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert set(before) == set(after)
    assert {name for name in before if "projection" in name and "weight" in name} <= changed
    if blocks == "1":
        assert not {n for n in changed if not n.startswith((*LAST, "audio_proj", "text_proj"))}
    else:
        assert any("word_embeddings" in name for name in changed)
    still = ("running_mean", "running_var", "logit_scale_a", "logit_scale_t")
    assert not [name for name in changed if name.endswith(still)]
    assert main(["index", str(place / "sounds"), "--model", str(adapted), "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["search", "a deep hum", "--index", str(place / "sounds"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 10
