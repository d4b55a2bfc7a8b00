"""Waveforms and weights that anyone can make again, for numbers taken from the original PaSST.

The original was hear21passt 0.0.26 with torch 2.8.0 and torchaudio 2.8.0, in an environment of its
own (`uv pip install hear21passt==0.0.26 torch==2.8.0 torchaudio==2.8.0`): `AugmentMelSTFT` as
`hear21passt.base.get_basic_model` makes it, and `models.passt.get_model(arch, pretrained=False)`
with `load_state_dict(weights(net.state_dict()))`, both in eval mode unless a test says otherwise.
"""

import math

import torch


def scrambled(count, key):
    """Float32 numbers in [-1, 1) by integer arithmetic alone."""
    n = torch.arange(count) + 1000003 * key
    n = (n * 2654435761) & 0xFFFFFFFF
    n = n ^ (n >> 15)
    n = (n * 2246822519) & 0xFFFFFFFF
    n = n ^ (n >> 13)
    return (n.double() / 2**31 - 1).float()


def weights(state):
    """Values for every tensor of a state dict: gains about 1, all else about 0."""
    values = {}
    for key, name in enumerate(sorted(state)):
        shape = state[name].shape
        value = scrambled(shape.numel(), key).view(shape)
        gain = name.endswith("weight") and len(shape) == 1
        values[name] = 1 + 0.1 * value if gain else 0.06 * value
    return values


def waveforms(samples):
    """[3, samples] at 32 kHz: noise that swells, a tone of 1 kHz in faint noise, and silence."""
    time = torch.arange(samples, dtype=torch.float64) / 32000
    noise = scrambled(samples, 1).double()
    tone = 0.5 * torch.sin(2 * math.pi * 1000 * time) + 0.01 * noise
    return torch.stack([0.3 * noise * time / time[-1], tone, 0 * time]).float()
