"""A retrieval model of some hundred weights and noise for clips: what trainings are tested with."""

import dataclasses

import numpy as np
import torch
from stops import Never
from torch import nn
from torch.nn import functional

from triptych.audio.training.batches import Batches, Pair
from triptych.audio.training.corpus import Queries
from triptych.audio.training.settings import Schedule, TrainingSettings
from triptych.audio.training.trainer import Task, Validation, train
from triptych.core.checkpoint import Checkpoint

CPU = torch.device("cpu")
CLIPS = [f"clotho/development/{number}.wav" for number in range(12)]
PAIRS = [
    Pair(clip, position, f"{clip} {position}", tuple(f"other {n} {clip}" for n in range(5)))
    for clip in CLIPS
    for position in range(2)
]
SETTINGS = TrainingSettings(
    schedule=Schedule(
        epochs=4, warmup_epochs=1, rampdown_epochs=4, learning_rate=1e-2, final_learning_rate=1e-4
    ),
    batch=8,
    swap=0.3,
    longest_seconds=0.02,
    frequency_mask=0,
    time_mask=0,
    band_jitter=False,
    patchout=True,
    precision="float32",
    chunk=None,
    workers=0,
    checkpoint_minutes=60,
)


class Noise:
    """Clips of 320 to 1,000 samples, each a function of its name."""

    def frames(self, clip):
        return 320 + 61 * (sum(clip.encode()) % 12)

    def read(self, clip, start=0, frames=None):
        random = np.random.default_rng(sum(clip.encode()))
        sound = random.standard_normal(self.frames(clip)).astype(np.float32)
        return sound[start : None if frames is None else start + frames]


class Letters(nn.Module):
    """Counts of letters, embedded."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(27, 8)

    def tokenize(self, captions):
        rows = [[text.count(chr(97 + n)) for n in range(26)] + [len(text)] for text in captions]
        return {"counts": torch.tensor(rows, dtype=torch.float32)}


class TinyModel(nn.Module):
    """Mean sound of pieces of 80 samples; `draws` is what they are multiplied with."""

    def __init__(self, dropout=0.2):
        super().__init__()
        self.text = Letters()
        self.audio = nn.Linear(80, 8)
        self.dropout = nn.Dropout(dropout)
        self.temperature = nn.Parameter(torch.tensor([0.2]))

    def embed_audio(self, waveforms, lengths, draws=None):
        padded = functional.pad(waveforms, (0, -waveforms.shape[1] % 80))
        pieces = padded.unflatten(1, (-1, 80))
        mean = pieces.sum(1) / (lengths[:, None] / 80) * (1 if draws is None else draws)
        return functional.normalize(self.dropout(self.audio(mean).tanh()), dim=1)

    def embed_text(self, tokens):
        return functional.normalize(self.dropout(self.text.linear(tokens["counts"]).tanh()), dim=1)


class TinyTask(Task):
    """A training whose validation is a function of the weights, if it has one."""

    def draw(self, generator):
        return torch.rand((), generator=generator) + 0.5

    def validate(self, device):
        if self.validation is None:
            return None
        self.model.eval()
        value = float(self.model.audio.weight.detach().abs().sum())
        return Validation(loss=value, map_at_10=value % 1)


def tiny_model(dropout=0.2):
    torch.manual_seed(5)
    return TinyModel(dropout)


def task(settings=SETTINGS, seed=3, validate=True, dropout=0.2):
    batches = Batches(PAIRS, Noise(), settings, seed)
    validation = Queries([], [], []) if validate else None
    return TinyTask(tiny_model(dropout), batches, settings, seed, validation=validation)


def run(folder, stop=None, **changes):
    given = {name: changes.pop(name) for name in list(changes) if name in SETTINGS.__match_args__}
    chosen = dataclasses.replace(SETTINGS, **given)
    return train(task(chosen, **changes), "tiny", CPU, Checkpoint(folder, "x"), stop or Never())
