"""Settings of a training run, besides its model and its data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from triptych.core.job import settings_from

WIDE = 256
"""Units of an audio model's layers from which bf16 may make a processor's training step faster; in
narrower ones it's slower (docs/performance.md)."""


def kind_of_work(width: int) -> Literal["training", "narrow"]:
    """The kind of work of training a model with layers of so many units."""
    return "narrow" if width < WIDE else "training"


@dataclass(frozen=True)
class Schedule:
    """The learning rate over epochs, which may be fractions (Section 2.6 of the report).

    It rises from 0 to `learning_rate` in the first `warmup_epochs`, then falls along a cosine to
    `final_learning_rate`, which it reaches at epoch `rampdown_epochs`.
    """

    epochs: int
    warmup_epochs: float
    rampdown_epochs: float
    learning_rate: float
    final_learning_rate: float = 1e-7

    def rate(self, epoch: float) -> float:
        """The rate at a fractional epoch, counted from 0 at the first step."""
        peak, floor = self.learning_rate, self.final_learning_rate
        if epoch < self.warmup_epochs:
            return peak * epoch / self.warmup_epochs
        if epoch >= self.rampdown_epochs:
            return floor
        share = (epoch - self.warmup_epochs) / (self.rampdown_epochs - self.warmup_epochs)
        return floor + (peak - floor) / 2 * (1 + math.cos(math.pi * share))


@dataclass(frozen=True)
class TrainingSettings:
    """One stage of training.

    swap: probability that a caption is replaced by one of its variations
    longest_seconds: longer clips are cut to this, at random in training
    frequency_mask, time_mask: SpecAugment, the most mel bands and frames to hide; 0 for none
    band_jitter: whether the mel bank's limits are drawn for each batch
    patchout: whether the audio model's rows and columns of patches are dropped
    precision: float32, tf32, bf16, fp16 on GPUs, or auto until the device is known
    chunk: pairs that go through the model at a time (gradient cache); None for the whole batch
    workers: processes that read audio beside the training; 0 to read in between
    checkpoint_minutes: at most so much work is lost by a kill
    """

    schedule: Schedule
    batch: int
    swap: float
    longest_seconds: float
    frequency_mask: int
    time_mask: int
    band_jitter: bool
    patchout: bool
    precision: str
    chunk: int | None
    workers: int
    checkpoint_minutes: float


def training_settings(table: Mapping[str, Any]) -> TrainingSettings:
    """Settings of a stage's section of the config, where the schedule's keys stand with others."""
    return settings_from(TrainingSettings, table, schedule=settings_from(Schedule, table))


MACHINE = ("workers", "checkpoint_minutes")
"""Keys of TrainingSettings that make no difference to a result, not even to its dropout: resources
of the rules, a change of which makes nothing stale."""
