"""Gradients of a contrastive loss over more pairs than fit through the model at once.

The batch goes through the model in parts without a graph, the loss gives the gradients of the
embeddings, and each part goes through once more to pass its share on (Gao et al. 2021, arXiv
2101.06983).
"""

from collections.abc import Callable

import torch
from torch import Tensor

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
