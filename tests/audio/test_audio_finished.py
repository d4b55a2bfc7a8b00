"""Finished models of others: their files, converted, say what their own code says."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from theirs import KINDS, lightning_file, made, make_small

from triptych.apps.sounds.search.embedder import Embedder
from triptych.audio.models.finished import convert_lightning
from triptych.audio.models.model_files import open_model
from triptych.core.errors import InputError

CAPTIONS = [
    "Rain falls on a tin roof, while a dog barks twice.",
    "A siren wails far away and then fades!",
    " ".join(["Birds are chirping;"] * 30),
]
SECONDS = (3, 10, 17, 30)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The text model's folder, where PaSST-N and the shared space are small."""
    make_small(monkeypatch, tmp_path / "text", CAPTIONS)
    return tmp_path / "text"


def sounds() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [0.1 * generator.standard_normal(s * 32000, np.float32) for s in SECONDS]


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_converted_they_embed_sounds_and_texts_as_their_own_code_does(kind, tiny, tmp_path):
    theirs = made(kind, tiny)
    lightning_file(theirs, tmp_path / "a.ckpt", {"compile": False, "max_lr": 2e-5})
    convert_lightning(tmp_path / "a.ckpt", kind, tiny, tmp_path / "model", {"label": "theirs"})
    ours = Embedder(tmp_path / "model", "cpu")
    for waveform, row in zip(sounds(), ours.sounds(sounds()), strict=True):
        expected = theirs.audio(waveform).numpy()
        assert row == pytest.approx(expected, abs=1e-5), len(waveform)
    expected = theirs.text(CAPTIONS).numpy()
    for caption, row in zip(CAPTIONS, expected, strict=True):
        assert ours.text(caption) == pytest.approx(row, abs=1e-5)
    assert np.abs(expected[0] - expected[1]).max() > 0.01
    assert open_model(tmp_path / "model").temperature.item() == pytest.approx(theirs.tau.item())


def test_a_model_that_was_compiled_is_the_same(tiny, tmp_path):
    theirs = made("dcase2025", tiny)
    lightning_file(theirs, tmp_path / "plain.ckpt", {})
    names = {
        name: name.replace("text_embedding_model.", "text_embedding_model._orig_mod.").replace(
            "model.model.", "model.model._orig_mod."
        )
        for name in theirs.state_dict()
    }
    state = {names[name]: tensor for name, tensor in theirs.state_dict().items()}
    lightning_file(theirs, tmp_path / "compiled.ckpt", {}, state_dict=state)
    assert len({*state} - {*theirs.state_dict()}) == len(state) - 5
    for name in ("plain", "compiled"):
        convert_lightning(tmp_path / f"{name}.ckpt", "dcase2025", tiny, tmp_path / name, {})
    weights = [
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("plain", "compiled")
    ]
    assert weights[0] == weights[1]


def changed(state, change):
    block = "audio_embedding_model.model.model.blocks.1.attn.qkv.weight"
    tensor = state[block]
    if change == "missing":
        del state[block]
    elif change == "renamed":
        state[block.replace("qkv", "in_proj")] = state.pop(block)
    else:
        state[block] = tensor[:, :-1].clone()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("missing", r"1 missing \(audio.blocks.1.attn.qkv.weight\)"),
        ("renamed", r"missing \(audio.blocks.1.attn.qkv.weight\); 1 unknown \(audio.*in_proj"),
        ("narrow", r"1 of another shape \(audio.blocks.1.attn.qkv.weight \(72, 23\) instead of"),
    ],
)
def test_another_model_is_refused_by_its_tensors(change, says, tiny, tmp_path):
    theirs = made("dcase2025", tiny)
    state = dict(theirs.state_dict())
    changed(state, change)
    lightning_file(theirs, tmp_path / "a.ckpt", {}, state_dict=state)
    with pytest.raises(InputError, match=says):
        convert_lightning(tmp_path / "a.ckpt", "dcase2025", tiny, tmp_path / "model", {})
    assert not (tmp_path / "model").exists()


def test_the_other_layout_is_refused(tiny, tmp_path):
    lightning_file(made("salsa", tiny), tmp_path / "a.ckpt", {})
    with pytest.raises(InputError, match=r"37 missing .*; 41 unknown \(audio_token"):
        convert_lightning(tmp_path / "a.ckpt", "dcase2025", tiny, tmp_path / "model", {})


def test_a_truncated_file_is_refused(tiny, tmp_path):
    path = tmp_path / "a.ckpt"
    lightning_file(made("dcase2025", tiny), path, {})
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match="cannot be read as plain weights"):
        convert_lightning(path, "dcase2025", tiny, tmp_path / "model", {})


def containers(module: str) -> dict[str, type]:
    """Containers that pickle as sacred's read-only ones do."""

    def reduced(self):
        return type(self), (next(base for base in (dict, list) if isinstance(self, base))(self),)

    return {
        name: type(name, (base,), {"__module__": module, "__reduce__": reduced})
        for name, base in (("ReadOnlyDict", dict), ("ReadOnlyList", list))
    }


def test_settings_in_sacreds_containers_are_read_without_sacred(monkeypatch, tiny, tmp_path):
    library = "sacred.config.custom_containers"
    made_of = containers(library)
    inner = made_of["ReadOnlyList"]([1, made_of["ReadOnlyDict"](c=None)])
    with monkeypatch.context() as installed:
        for name in ("sacred", "sacred.config", library):
            installed.setitem(sys.modules, name, types.ModuleType(name))
        vars(sys.modules[library]).update(made_of)
        settings = {"audio_features": made_of["ReadOnlyDict"](b=inner)}
        lightning_file(made("salsa", tiny), tmp_path / "a.ckpt", settings)
    assert library not in sys.modules
    convert_lightning(tmp_path / "a.ckpt", "salsa", tiny, tmp_path / "model", {})
    assert (tmp_path / "model" / "model.json").exists()


class Runs:
    """What a file could hold that runs a program when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_a_file_that_would_run_something_is_refused_and_does_not(tiny, tmp_path):
    lightning_file(made("salsa", tiny), tmp_path / "a.ckpt", {"a": Runs(tmp_path / "mark")})
    with pytest.raises(InputError, match="cannot be read as plain weights"):
        convert_lightning(tmp_path / "a.ckpt", "salsa", tiny, tmp_path / "model", {})
    assert not (tmp_path / "mark").exists()
    torch.load(tmp_path / "a.ckpt", weights_only=False)  # as it does elsewhere
    assert (tmp_path / "mark").exists()
