"""The learning rate of the report and its code: linear warm-up, cosine, a floor."""

import math

from triptych.audio.training.settings import Schedule


def learning_rate(epoch: float, schedule: Schedule) -> float:
    """The rate at a fractional epoch, counted from 0 at the first step."""
    peak, floor = schedule.learning_rate, schedule.final_learning_rate
    if epoch < schedule.warmup_epochs:
        return peak * epoch / schedule.warmup_epochs
    if epoch >= schedule.rampdown_epochs:
        return floor
    share = (epoch - schedule.warmup_epochs) / (schedule.rampdown_epochs - schedule.warmup_epochs)
    return floor + (peak - floor) / 2 * (1 + math.cos(math.pi * share))
