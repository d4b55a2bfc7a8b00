"""A training that goes wrong stops with its last good state, and says what to do."""

import math

import numpy as np
import pytest
import torch
import trainings as small
from stops import StopAfter

from triptych.audio.training import trainer
from triptych.core.stopping import Stopped
from triptych.core.training_loop import DivergedError
from triptych.rl.training.learner import Learner
from triptych.style.network.perceptual import PerceptualLoss

# --- audio ---


def spoil_audio(monkeypatch, number, factor):
    """Multiply the loss of call `number` (from 0) and of all later ones."""
    own, calls = trainer.nt_xent, []

    def spoiled(*given):
        calls.append(0)
        return own(*given) * (factor if len(calls) > number else 1.0)

    monkeypatch.setattr(trainer, "nt_xent", spoiled)


def test_an_audio_training_names_the_step_and_keeps_the_state_before_it(
    tmp_path, monkeypatch, capsys
):
    """Every step is saved; and the same settings diverge again at the same step."""
    spoil_audio(monkeypatch, 5, math.nan)
    said = small.failed_job(
        tmp_path, capsys, lambda: small.train_audio(tmp_path, checkpoint_minutes=0)
    )
    assert "the loss is not finite at step 5 (learning rate 0.00" in said
    assert f"last good state, of step 5, is kept in {tmp_path}/state.pt" in said
    assert "Lower learning_rate of the stage" in said
    assert small.saved(tmp_path)["done"] == 5
    spoil_audio(monkeypatch, 0, math.nan)
    with pytest.raises(DivergedError, match="at step 5"):
        small.train_audio(tmp_path, checkpoint_minutes=0)


# --- style ---


def spoil_style(monkeypatch, number, factor):
    """Multiply the style loss of call `number` (from 0) and of all later ones."""
    own, calls = PerceptualLoss.terms, []

    def terms(*given, **named):
        calls.append(0)
        found = own(*given, **named)
        return {**found, "style": found["style"] * (factor if len(calls) > number else 1.0)}

    monkeypatch.setattr(PerceptualLoss, "terms", terms)


@pytest.mark.parametrize(
    ("factor", "log_every", "said"),
    [(math.nan, 20, "the loss is not finite up to batch"), (1e12, 4, "at first it was")],
)
def test_a_style_training_keeps_the_weights_before(tmp_path, monkeypatch, factor, log_every, said):
    """Neither the state nor the weights to choose from are written at batch 16."""
    spoil_style(monkeypatch, 13, factor)
    with pytest.raises(DivergedError, match=rf"{said}.*of batch 8, is kept.*learning_rate"):
        small.train_style(tmp_path, batches=30, log_every=log_every)
    assert small.saved(tmp_path)["done"] == 8
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["000008.safetensors"]


# --- a stack of runs ---


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return small.train_stack(tmp_path_factory.mktemp("undisturbed"))


def spoil_run(monkeypatch, run, number, value):
    """Write `value` into a weight of one run after update `number`."""
    update, calls = Learner.update, []

    def spoiled(self, *given):
        losses = update(self, *given)
        calls.append(0)
        if len(calls) == number:
            with torch.no_grad():
                self.parameters["critic.l1.weight"][run, 0, 0] = value
        return losses

    monkeypatch.setattr(Learner, "update", spoiled)


@pytest.mark.parametrize("value", [math.nan, 1e18])
def test_a_run_that_diverges_loses_its_scores_and_its_neighbours_nothing(
    tmp_path, monkeypatch, caplog, undisturbed, value
):
    spoil_run(monkeypatch, 1, 40, value)
    found = small.train_stack(tmp_path)
    told = "method dense pruning default sparsity_percent 0 seed 1 diverged"
    assert caplog.text.count(told) == 1
    for table in ("scores", "losses"):
        ours, theirs = (
            getattr(each, table)[lambda rows: rows["seed"] != 1] for each in (found, undisturbed)
        )
        np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())
        ours, theirs = (
            getattr(each, table)[lambda rows: (rows["seed"] == 1) & (rows["update"] == 30)]
            for each in (found, undisturbed)
        )
        np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())
    late = found.scores[(found.scores["seed"] == 1) & (found.scores["update"] == 60)]
    assert late["score_normalised"].isna().all() and (late["steps"] == 0).all()
    assert found.losses["critic_loss"].astype(float).isna().sum() == 1
    for name, value in found.arrays.items():
        assert not value[1].any()
        np.testing.assert_array_equal(value[[0, 2]], undisturbed.arrays[name][[0, 2]])
    assert small.saved(tmp_path)["diverged"].keys() == {1}


def test_a_stopped_stack_remembers_which_run_diverged(tmp_path, monkeypatch, undisturbed, caplog):
    spoil_run(monkeypatch, 1, 5, math.nan)
    with pytest.raises(Stopped):
        small.train_stack(tmp_path, StopAfter(0))
    assert small.saved(tmp_path)["diverged"] == {1: 10}
    monkeypatch.undo()
    caplog.clear()
    found = small.train_stack(tmp_path)
    assert "diverged" not in caplog.text
    assert found.scores[found.scores["seed"] == 1]["score_normalised"].isna().all()
    others = found.scores[found.scores["seed"] != 1]
    expected = undisturbed.scores[undisturbed.scores["seed"] != 1]
    np.testing.assert_array_equal(others.to_numpy(), expected.to_numpy())


def test_a_run_that_never_was_good_is_told_and_written_without_nan(tmp_path, caplog):
    found = small.train_stack(tmp_path, broken=2)
    assert "seed 2 diverged: its loss is not finite" in caplog.text
    assert all(np.isfinite(value).all() for value in found.arrays.values())


def test_a_stack_whose_runs_all_diverge_stops(tmp_path, capsys):
    said = small.failed_job(
        tmp_path, capsys, lambda: small.train_stack(tmp_path, learning_rate=1e30)
    )
    assert "every run has diverged" in said and "Lower rl.training.learning_rate" in said
