"""The contrastive loss of a batch (report, Eq. 2), and its gradients over any number of pairs.

More pairs than fit through the model at once go through it in parts without a graph, the loss gives
the gradients of the embeddings, and each part goes through once more to pass its share on (Gao et
al. 2021, arXiv:2101.06983).
"""

from collections.abc import Callable

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


Encode = Callable[[int], tuple[Tensor, Tensor]]
"""Embeddings (audio, text), each [n, D], of part i; the same each time that it is called with i."""


def backward(
    encode: Encode,
    parts: int,
    loss: Callable[[Tensor, Tensor], Tensor],
    scale: Callable[[Tensor], Tensor] = lambda loss: loss,
) -> Tensor:
    """Add the gradients of `scale(loss(audio, text))` to all parameters; the batch's loss,
    detached.
    """
    if parts == 1:
        embedded = [encode(0)]
    else:
        with torch.no_grad():
            embedded = [encode(part) for part in range(parts)]
    # Leaves of a small graph of their own, which ends where the towers begin.
    whole = [
        torch.cat([pair[side] for pair in embedded]).detach().float().requires_grad_()
        for side in (0, 1)
    ]
    value = loss(whole[0], whole[1])
    scale(value).backward()
    sizes = [len(pair[0]) for pair in embedded]
    gradients = [rows.grad.split(sizes) for rows in whole if rows.grad is not None]
    for part, (to_audio, to_text) in enumerate(zip(*gradients, strict=True)):
        pair = embedded[0] if parts == 1 else encode(part)
        torch.autograd.backward(pair, [to_audio.to(pair[0].dtype), to_text.to(pair[1].dtype)])
    return value.detach()
