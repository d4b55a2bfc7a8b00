"""The audio model on a GPU gives what it gives on the CPU, up to its rounding; skipped without."""

import copy
import dataclasses

import audio_small_models as small
import pytest
import tiny_retrieval as job
import torch

from triptych.audio.models.retrieval import draw_augmentation
from triptych.audio.training.batches import Batch, Batches
from triptych.audio.training.settings import Schedule
from triptych.audio.training.trainer import Task, TrainingRun
from triptych.core.device import training_precision

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]
CPU, CUDA, LENGTHS = torch.device("cpu"), torch.device("cuda"), [16_000, 40_000, 33_000, 9_000]


def sounds():
    waveforms = 0.1 * torch.randn(4, 40_000, generator=torch.Generator().manual_seed(0))
    for row, length in zip(waveforms, LENGTHS, strict=True):
        row[length:] = 0
    return waveforms


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-3), ("bf16", 3e-2), ("fp16", 1e-2)])
def test_embeddings_are_those_of_the_cpu_with_patchout_drawn_there(precision, near):
    model = small.small_model()
    settings = dataclasses.replace(job.SETTINGS, band_jitter=True, patchout=True)
    draws = draw_augmentation(model.settings, settings, torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = model.embed_audio(sounds(), LENGTHS, draws)
        model.to(CUDA)
        with training_precision(CUDA, precision):
            found = model.embed_audio(sounds().to(CUDA), LENGTHS, draws)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu(), expected, atol=near, rtol=0)


def run_steps(device, precision, steps, rate):
    """The model after some steps of a training without patchout or masks, and their losses."""
    model = copy.deepcopy(small.small_model()).to(device).train()
    model.text.tokenize = lambda captions: {"input_ids": torch.tensor([[int(c)] for c in captions])}
    settings = dataclasses.replace(
        job.SETTINGS,
        schedule=Schedule(1, 0, steps + 1, rate, rate),
        batch=4,
        precision=precision,
        patchout=False,
    )
    batches = Batches(job.PAIRS[:4], job.Noise(), settings, 0)
    run = TrainingRun(Task(model, batches, settings, 0), device)
    batch = Batch(sounds(), torch.tensor(LENGTHS), list("0123"), torch.arange(4))
    return model, [float(run.step(batch)) for _ in range(steps)]


def test_a_training_step_is_that_of_the_cpu():
    here, of_cpu = run_steps(CPU, "float32", 3, 1e-3)
    there, of_gpu = run_steps(CUDA, "float32", 3, 1e-3)
    assert of_gpu == pytest.approx(of_cpu, rel=1e-3)
    # Adam's first steps go by a gradient's sign, which rounding decides where it is almost zero.
    pairs = zip(there.parameters(), here.parameters(), strict=True)
    moved = torch.cat([(a.cpu() - b).flatten() for a, b in pairs])
    assert (moved.abs() > 1e-4).float().mean() < 0.01


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_learns_four_pairs_by_heart(precision):
    model, losses = run_steps(CUDA, precision, 60, 1e-2)
    assert losses[-1] < 0.3 * losses[0]
    assert all(p.isfinite().all() and p.dtype == torch.float32 for p in model.parameters())
