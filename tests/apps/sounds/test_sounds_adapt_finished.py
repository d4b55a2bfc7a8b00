"""`triptych adapt` with the models that others published, as random stand-ins of their files."""

import json

import captioned_sounds
import pytest
import torch
from safetensors.torch import load_file

pytest.importorskip("transformers")

from test_sounds_other_formats import encode
from theirs import KINDS, lightning_file, made, make_small

from triptych.audio.models.finished import convert_lightning
from triptych.audio.models.settings import read_model_table
from triptych.cli import main


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_model_learns_a_persons_recordings_and_is_searched(
    kind, monkeypatch, tmp_path, capsys
):
    make_small(monkeypatch, tmp_path / "text", list(captioned_sounds.KINDS))
    lightning_file(made(kind, tmp_path / "text"), tmp_path / "a.ckpt", {})
    base = tmp_path / "results/audio/finished" / kind
    about = {"label": kind, "licence": "none stated"}
    convert_lightning(tmp_path / "a.ckpt", kind, tmp_path / "text", base, about)
    captioned_sounds.write_recordings(tmp_path, 8)
    sounds = tmp_path / "sounds"
    samples = captioned_sounds.sound(1000.0, 5, 1.0)
    encode(sounds / "phone.m4a", samples[None], 32000, "aac")
    with (tmp_path / "pairs.csv").open("a") as table:
        table.write('phone.m4a,"A clear note, recorded by a telephone."\n')

    monkeypatch.chdir(tmp_path)  # where the name is looked up
    command = ["adapt", "pairs.csv", "sounds", "--model", kind, "--device", "cpu"]
    assert main([*command, "--epochs", "2", "--blocks", "1", "-o", "mine"]) == 0
    told = capsys.readouterr()
    assert "41 recordings with 41 captions" in told.err
    assert told.out.count("mAP@10") == 2 and "too few to tell" in told.out

    before, after = (load_file(each / "model.safetensors") for each in (base, tmp_path / "mine"))
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    last = ("audio.blocks.1.", "audio.norm.", "text.model.encoder.layer.1.", "project_")
    assert {name for name in before if name.startswith(last)} == changed
    assert read_model_table(tmp_path / "mine")["about"]["licence"] == "none stated"

    assert main(["index", "sounds", "--model", "mine", "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["search", "a shrill whistle", "--index", "sounds", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 10
