"""A checkpoint that does not fit the job is kept, and the job says why it did not fit."""

import logging

import pytest
import torch

from triptych.core.checkpoint import Checkpoint, modules_changed_between
from triptych.core.provenance import RESUME, Fingerprint

STATE = {"done": 3, "weights": torch.arange(4.0)}
MADE = Fingerprint({"rate": "0.1", "data.bin": "ab"}, {"losses.py": "0", "train.py": "0"})


@pytest.fixture
def folder(tmp_path):
    """A checkpoint with a file that its training keeps beside it, and the job's log."""
    Checkpoint(tmp_path, MADE).save(STATE)
    for name in ("epoch-002.safetensors", "attempts.log"):
        (tmp_path / name).write_text(name)
    return tmp_path


def state_in(folder):
    return torch.load(folder / "state.pt", weights_only=True)["state"]


@pytest.mark.parametrize(
    ("values", "code", "named"),
    [
        ({"rate": "0.2"}, {}, "other rate."),
        ({"data.bin": "cd"}, {}, "other data.bin."),
        ({"more": "1"}, {}, "other more."),
        ({}, {"losses.py": "1"}, "other code: losses.py changed."),
    ],
)
def test_another_is_moved_aside_whole_and_what_differs_is_named(
    folder, values, code, named, caplog
):
    other = Fingerprint({**MADE.values, **values}, {**MADE.code, **code})
    checkpoint = Checkpoint(folder, other)
    assert checkpoint.load() is None
    assert named in caplog.text
    aside = folder / "aside-1"
    assert state_in(aside)["done"] == 3
    assert {path.name for path in aside.iterdir()} == {"state.pt", "epoch-002.safetensors"}
    assert {path.name for path in folder.iterdir()} == {"aside-1", "attempts.log"}
    checkpoint.save({"done": 1})
    assert Checkpoint(folder, MADE).load() is None
    assert state_in(folder / "aside-2")["done"] == 1


def test_a_damaged_one_is_kept_too(folder):
    (folder / "state.pt").write_bytes(b"half")
    assert Checkpoint(folder, MADE).load() is None
    assert (folder / "aside-1" / "state.pt").read_bytes() == b"half"


def test_where_any_code_will_do_the_job_goes_on_and_names_the_modules_ever_after(
    folder, monkeypatch, caplog
):
    monkeypatch.setenv(RESUME, "any_code")
    caplog.set_level(logging.WARNING)
    edited = Fingerprint(MADE.values, {**MADE.code, "losses.py": "1"})
    checkpoint = Checkpoint(folder, edited)
    state = checkpoint.load()
    assert torch.equal(state["weights"], STATE["weights"])
    assert "losses.py changed" in caplog.text
    checkpoint.save(state)
    again = Fingerprint(MADE.values, {**edited.code, "train.py": "1"})
    monkeypatch.delenv(RESUME)
    assert Checkpoint(folder, edited).load() is not None
    monkeypatch.setenv(RESUME, "any_code")
    assert Checkpoint(folder, again).load() is not None
    assert modules_changed_between()[str(checkpoint.path)] == ["losses.py", "train.py"]
