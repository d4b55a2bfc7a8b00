"""Models as folders, and PaSST's published weights on their way into one."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from audio_small_models import SMALL, write_text

from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.passt import Passt
from triptych.audio.models.passt_files import convert_passt
from triptych.audio.models.retrieval import build_model, load_model, save_model
from triptych.core.errors import InputError

CAPTIONS = ["rain falls on a tin roof", "a dog barks twice"]
TINY = replace(SMALL.audio, stride=(10, 10), frames=98, depth=1, patchout=(1, 1), classes=5)


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text"), CAPTIONS)


@pytest.fixture(scope="module")
def saved(text_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "pretrained"
    model = build_model(SMALL, text_folder, None, seed=3)
    save_model(model, folder, {"label": "a test's"})
    return model, folder


@torch.no_grad()
def embeddings(model):
    waveforms = 0.1 * torch.randn(2, 20000, generator=torch.Generator().manual_seed(0))
    model.eval()
    audio = model.embed_audio(waveforms, torch.tensor([20000, 400]))
    return torch.cat([audio, model.embed_text(model.text.tokenize(CAPTIONS))])


def test_a_folder_alone_gives_the_model_back(saved, tmp_path):
    model, folder = saved
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    loaded = load_model(moved)
    assert loaded.settings == SMALL
    assert not loaded.training
    assert torch.equal(embeddings(loaded), embeddings(model))
    names = {"model.json", "model.safetensors", "tokenizer.json"}
    assert {path.name for path in moved.iterdir()} == names


def test_a_start_is_a_function_of_the_seed_and_leaves_the_global_generator_alone(text_folder):
    torch.manual_seed(11)
    expected = torch.rand(1)
    torch.manual_seed(11)
    first, again, other = (build_model(SMALL, text_folder, None, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(embeddings(first), embeddings(again))
    assert not torch.equal(embeddings(first), embeddings(other))


def test_a_folder_that_is_no_model_is_refused(saved, tmp_path):
    with pytest.raises(InputError, match="A model is a folder with"):
        load_model(tmp_path)
    broken = shutil.copytree(saved[1], tmp_path / "broken")
    table = json.loads((broken / "model.json").read_text())
    table["settings"]["projection"] += 1
    (broken / "model.json").write_text(json.dumps(table))
    with pytest.raises(InputError, match="don't belong together"):
        load_model(broken)


@pytest.fixture
def state(monkeypatch):
    """Weights of a PaSST that is published in a size that a test can afford."""
    monkeypatch.setitem(PUBLISHED, "passt_tiny", TINY)
    torch.manual_seed(0)
    return Passt(TINY).state_dict()


def test_a_checkpoint_becomes_safetensors_and_the_audio_side(state, tmp_path, text_folder):
    half = {name: value.half() for name, value in state.items()}
    torch.save(half, tmp_path / "passt.pt")
    convert_passt(tmp_path / "passt.pt", "passt_tiny", tmp_path / "passt.safetensors")
    settings = replace(SMALL, audio=TINY)
    model = build_model(settings, text_folder, tmp_path / "passt.safetensors", seed=0)
    for name, value in model.audio.state_dict().items():
        assert torch.equal(value, half[name].float())


def test_tensors_that_do_not_fit_are_named(state, tmp_path):
    del state["blocks.0.norm1.bias"]
    state |= {"surplus": torch.zeros(1), "cls_token": torch.zeros(1, 1, 25)}
    torch.save(state, tmp_path / "passt.pt")
    with pytest.raises(InputError) as error:
        convert_passt(tmp_path / "passt.pt", "passt_tiny", tmp_path / "out.safetensors")
    told = str(error.value)
    assert "1 missing (blocks.0.norm1.bias)" in told
    assert "1 unknown (surplus)" in told
    assert "cls_token (1, 1, 25) instead of (1, 1, 24)" in told
    assert not (tmp_path / "out.safetensors").exists()
