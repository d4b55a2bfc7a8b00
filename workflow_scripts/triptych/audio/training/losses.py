"""The contrastive loss on the similarities of a batch (report, Eq. 2)."""

import torch
from torch import Tensor


def similarity_logits(audio: Tensor, text: Tensor, temperature: Tensor) -> Tensor:
    """Cosines of unit vectors [N, D] and [M, D] over |temperature|, [audio, text], in float32."""
    with torch.autocast(audio.device.type, enabled=False):
        return audio.float() @ text.float().T / temperature.abs()


def same_audio(clips: Tensor) -> Tensor:
    """Which pairs of a batch match when clips repeat: [N, N] bool; clips: a number each, [N]."""
    return clips[:, None] == clips


def nt_xent(
    audio: Tensor, text: Tensor, temperature: Tensor, positives: Tensor | None = None
) -> Tensor:
    """The normalised, temperature-scaled cross entropy of a batch of pairs, a scalar (Eq. 2).

    audio, text: unit vectors [N, D], row i of either is one pair. positives: [N, N] bool, audio by
    text, that match (`same_audio`, as in the report's code); None: each row its own (as in the
    report). Half the mean over captions and half the one over recordings.
    """
    logits = similarity_logits(audio, text, temperature)
    normalisers = (logits.logsumexp(1)[:, None] + logits.logsumexp(0)) / 2
    if positives is None:
        return (normalisers - logits).diagonal().mean()
    return (normalisers - logits)[positives].mean()
