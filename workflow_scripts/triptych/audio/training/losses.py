"""Losses on the similarities of a batch: contrastive (report, Eq. 2) and distilled."""

import torch
from torch import Tensor


def similarity_logits(audio: Tensor, text: Tensor, temperature: Tensor) -> Tensor:
    """Cosines over |temperature|, [audio, text], in float32 whatever the precision around.

    audio, text: unit vectors [N, D] and [M, D]; temperature: [1].
    """
    with torch.autocast(audio.device.type, enabled=False):
        return audio.float() @ text.float().T / temperature.abs()


def same_audio(clips: Tensor) -> Tensor:
    """Which pairs of a batch match when clips repeat: [N, N] bool; clips: a number each, [N]."""
    return clips[:, None] == clips


def nt_xent(
    audio: Tensor, text: Tensor, temperature: Tensor, positives: Tensor | None = None
) -> Tensor:
    """The normalised, temperature-scaled cross entropy of a batch of pairs, a scalar (Eq. 2).

    audio, text: unit vectors [N, D], row i of either is one pair. positives: [N, N] bool, audio
    by text, that match (`same_audio`, as in the report's code); None: each row its own (as in the
    report). The mean over matching pairs of the log-softmax over captions and the one over
    recordings, half of each.
    """
    logits = similarity_logits(audio, text, temperature)
    normalisers = (logits.logsumexp(1)[:, None] + logits.logsumexp(0)) / 2
    if positives is None:
        return (normalisers - logits).diagonal().mean()
    return (normalisers - logits)[positives].mean()


def distillation_loss(
    audio: Tensor,
    text: Tensor,
    temperature: Tensor,
    teacher: Tensor,
    teacher_temperature: float,
) -> Tensor:
    """Cross entropy against how an ensemble thinks the batch corresponds, a scalar.

    teacher: [N, N] cosines, audio by text, the mean over the ensemble's models. They become targets
    by a softmax at `teacher_temperature` over captions and one over recordings; the loss is half
    of either direction's cross entropy. After Primus and Widmer's second stage (arXiv:2408.11641),
    whose one fixed temperature of 0.05 serves teacher and student.
    """
    logits = similarity_logits(audio, text, temperature)
    targets = teacher.float() / teacher_temperature
    both = [-(targets.softmax(over) * logits.log_softmax(over)).sum(over).mean() for over in (0, 1)]
    return (both[0] + both[1]) / 2
