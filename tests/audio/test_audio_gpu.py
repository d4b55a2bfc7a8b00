"""The audio model on a GPU gives what it gives on the CPU, up to its rounding; skipped without."""

import copy
import dataclasses

import audio_small_models as small
import pytest
import tiny_retrieval as job
import torch

from triptych.audio.models.mel import LogMel, Masks
from triptych.audio.models.retrieval import Draws, draw
from triptych.audio.training.batches import Batch
from triptych.audio.training.losses import nt_xent
from triptych.audio.training.trainer import Task, TrainingRun
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import training_precision

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]
CPU, LENGTHS = torch.device("cpu"), [16_000, 40_000, 33_000, 9_000]


def sounds():
    waveforms = 0.1 * torch.randn(4, 40_000, generator=torch.Generator().manual_seed(0))
    for row, length in zip(waveforms, LENGTHS, strict=True):
        row[length:] = 0
    return waveforms


@pytest.fixture
def cuda():
    return torch.device("cuda")


def test_spectrograms_are_those_of_the_cpu(cuda):
    mel, choices = LogMel(), ((3.0, 14500.0), Masks((4, 9), (2, 30)))
    expected = mel(sounds(), *choices)
    found = mel.to(cuda)(sounds().to(cuda), *choices)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("precision", "near"), [("float32", 1e-4), ("tf32", 1e-2), ("bf16", 3e-2), ("fp16", 1e-2)]
)
def test_embeddings_are_those_of_the_cpu(cuda, precision, near):
    model = small.small_model()
    with torch.inference_mode():
        expected = model.embed_audio(sounds(), LENGTHS)
        model.to(cuda)
        with training_precision(cuda, precision):
            found = model.embed_audio(sounds().to(cuda), LENGTHS)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu(), expected, atol=near, rtol=0)


class Tokenizing(torch.nn.Module):
    """The small models' text side with a tokenizer: a caption's number is its only token."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def tokenize(self, captions):
        return {"input_ids": torch.tensor([[int(caption)] for caption in captions])}

    def forward(self, tokens):
        return self.inner(tokens)


def run_steps(model, device, precision, steps, learning_rate=1e-3):
    """The model after some steps of a training without patchout or masks, and their losses."""
    model = copy.deepcopy(model)
    model.text = Tokenizing(model.text)
    model.to(device)
    schedule = dataclasses.replace(
        job.SETTINGS.schedule, warmup_epochs=0, learning_rate=learning_rate
    )
    settings = dataclasses.replace(
        job.SETTINGS, batch=4, precision=precision, schedule=schedule, patchout=False
    )
    tiny = job.task(settings)  # for its batches, which only say how long an epoch is
    task = Task(
        model,
        tiny.batches,
        lambda audio, text, chosen: nt_xent(audio, text, model.temperature),
        lambda generator: draw(model.settings, settings, generator),
        None,
        settings,
        0,
    )
    run = TrainingRun(task, device, Checkpoint("nowhere", ""))
    captions = [str(number) for number in range(4)]
    batch = Batch(sounds(), torch.tensor(LENGTHS), captions, torch.arange(4))
    losses = []
    for _ in range(steps):
        run.step(batch)
        losses.append(float(run._losses[-1]))
    return model, losses


def test_a_training_step_is_that_of_the_cpu(cuda):
    model = small.small_model()
    here, of_cpu = run_steps(model, CPU, "float32", 3)
    there, of_gpu = run_steps(model, cuda, "float32", 3)
    assert of_gpu == pytest.approx(of_cpu, rel=1e-3)
    # Adam's first steps go by a gradient's sign, which rounding decides where it is almost zero.
    moved = torch.cat(
        [
            (a.cpu() - b).flatten()
            for a, b in zip(there.parameters(), here.parameters(), strict=True)
        ]
    )
    assert (moved.abs() > 1e-4).float().mean() < 0.01


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_learns_four_pairs_by_heart(cuda, precision):
    model, losses = run_steps(small.small_model(), cuda, precision, 60, learning_rate=1e-2)
    assert losses[-1] < 0.3 * losses[0]
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


def test_patchout_takes_draws_made_on_the_cpu(cuda):
    model = small.small_model()
    settings = dataclasses.replace(job.SETTINGS, band_jitter=True, patchout=True)
    draws = draw(model.settings, settings, torch.Generator().manual_seed(1))
    assert isinstance(draws, Draws) and draws.kept is not None
    with torch.inference_mode():
        expected = model.embed_audio(sounds(), LENGTHS, draws)
        found = model.to(cuda).embed_audio(sounds().to(cuda), LENGTHS, draws)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-3, rtol=0)
