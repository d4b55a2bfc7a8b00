"""An audio encoder that measures statistics of a spectrogram and learns only what they mean.

After McDermott and Simoncelli 2011 ("Sound texture perception via statistics of the auditory
periphery"): moments, modulations and correlations of bands; and besides the cepstrum, onsets, and
how periodic the whole is. What is measured has no weights.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

BANDS = 128
DEEPEST = 1.8
"""How far below its loudest point a spectrogram is looked at; 1 is 21.7 dB."""
GROUPS, CORRELATED = 32, 16
"""Groups of bands whose modulations are measured, and whose envelopes are correlated."""
MODULATIONS = (0.3, 0.8, 1.5, 2.5, 4.0, 6.5, 10.0, 16.0, 26.0, 50.1)
"""Edges in hertz of the bands of modulation."""
LAGS = (4, 7, 11, 16, 22, 30, 42, 60, 85, 120)
"""Edges in frames between which the best repetition is sought."""
CEPSTRUM = 64
MEASURED = 64 * 5 + GROUPS * 9 + 9 + 9 + CEPSTRUM * 2 + 16 * 4 + CORRELATED * 15 // 2 + 8
"""Numbers that `measure` gives."""


def measure(mel: Tensor) -> Tensor:
    """Statistics [N, MEASURED] of log-mel segments [N, 1, BANDS, frames], 100 frames a second.

    They don't change with the gain, but for what falls below the front end's floor.
    """
    x = mel[:, 0].float()
    smooth = functional.avg_pool2d(mel.float(), (4, 3), stride=(4, 1), padding=(0, 1))[:, 0]
    x = (x - smooth.amax((1, 2))[:, None, None]).clamp(-DEEPEST, 0.5) + DEEPEST
    parts = [_moments(_grouped(x, 64)), _modulations(_grouped(x, GROUPS)), _repetition(x.mean(1))]
    parts += [_cepstrum(x), _onsets(_grouped(x, 16)), _correlations(_grouped(x, CORRELATED))]
    return torch.cat([*parts, _activity(x.mean(1))], dim=1)


def _grouped(x: Tensor, groups: int) -> Tensor:
    return x.unflatten(1, (groups, BANDS // groups)).mean(2)


def _moments(x: Tensor) -> Tensor:
    """Mean, deviation, skewness of each band over time, least and most of its smoothed values."""
    mean, deviation = x.mean(2), x.std(2) + 0.02
    skewness = ((x - mean[:, :, None]) / deviation[:, :, None]).pow(3).mean(2)
    calm = functional.avg_pool1d(x, 5, 2)
    return torch.cat([mean, deviation, skewness, calm.amin(2), calm.amax(2)], dim=1)


def _modulation_power(x: Tensor) -> Tensor:
    """Logarithm of the power in each band of MODULATIONS: [..., 9]."""
    frames = x.shape[-1]
    window = torch.hann_window(frames, device=x.device)
    power = torch.fft.rfft((x - x.mean(-1, keepdim=True)) * window).abs().square() / frames
    hertz = torch.fft.rfftfreq(frames, 0.01, device=x.device)
    edges = torch.tensor(MODULATIONS, device=x.device)
    within = ((hertz >= edges[:-1, None]) & (hertz < edges[1:, None])).float()
    return torch.log(power @ within.T + 1e-3)


def _modulations(x: Tensor) -> Tensor:
    return _modulation_power(x).flatten(1)


def _repetition(envelope: Tensor) -> Tensor:
    """Modulations of the whole, and the best autocorrelation between neighbouring LAGS."""
    frames = envelope.shape[1]
    centred = envelope - envelope.mean(1, keepdim=True)
    power = torch.fft.rfft(centred, 2 * frames).abs().square()
    correlation = torch.fft.irfft(power)[:, :frames] / torch.arange(
        frames, 0, -1, device=envelope.device
    )
    correlation = correlation / (correlation[:, :1] + 1e-3)
    best = [
        correlation[:, min(one, frames - 2) : max(min(other, frames), min(one, frames - 2) + 1)]
        for one, other in pairwise(LAGS)
    ]
    return torch.cat([_modulation_power(envelope), *(b.amax(1, keepdim=True) for b in best)], 1)


def _cepstrum(x: Tensor) -> Tensor:
    """Mean size and deviation over time of the first coefficients of each frame's cosines."""
    place = torch.arange(BANDS, device=x.device) + 0.5
    rows = torch.arange(1, CEPSTRUM + 1, device=x.device)
    cosines = torch.cos(math.pi / BANDS * rows[:, None] * place) * math.sqrt(2 / BANDS)
    coefficients = cosines @ x
    return torch.cat([coefficients.abs().mean(2), coefficients.std(2)], dim=1)


def _onsets(x: Tensor) -> Tensor:
    """Mean and greatest rise of each band from frame to frame, mean and greatest fall."""
    change = x[:, :, 2:] - x[:, :, :-2]
    rise, fall = change.relu(), (-change).relu()
    return torch.cat([rise.mean(2), rise.amax(2), fall.mean(2), fall.amax(2)], dim=1)


def _correlations(x: Tensor) -> Tensor:
    """Correlations of every two bands' envelopes."""
    centred = x - x.mean(2, keepdim=True)
    unit = centred / (centred.square().sum(2, keepdim=True).sqrt() + 0.3)
    rows, columns = torch.triu_indices(CORRELATED, CORRELATED, 1, device=x.device)
    return (unit @ unit.transpose(1, 2))[:, rows, columns]


def _activity(envelope: Tensor) -> Tensor:
    """Shares of time by loudness, centre and width in time, number of onsets."""
    top = envelope.amax(1, keepdim=True)
    loud = [(envelope > top - drop).float() for drop in (0.15, 0.4, 0.8, 1.2)]
    time = torch.linspace(-1, 1, envelope.shape[1], device=envelope.device)
    weights = envelope / (envelope.sum(1, keepdim=True) + 1e-3)
    middle = (weights * time).sum(1)
    width = (weights * (time - middle[:, None]).square()).sum(1).clamp(min=1e-6).sqrt()
    starts = [(mask[:, 1:] > mask[:, :-1]).float().sum(1) / 10 for mask in loud[1:3]]
    return torch.stack([*(mask.mean(1) for mask in loud), middle, width, *starts], dim=1)


class Statistics(nn.Module):
    """Log-mel segments [N, 1, BANDS, frames] to embeddings [N, dim]."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.scale = nn.BatchNorm1d(MEASURED)
        self.layers = nn.Sequential(
            *_layer(MEASURED, width), *_layer(width, width), nn.Linear(width, dim, bias=False)
        )
        self.norm = nn.BatchNorm1d(dim)  # centred: else all embeddings are nearly parallel

    def forward(self, mel: Tensor) -> Tensor:
        """Embeddings [N, dim] of log-mel segments."""
        return self.embed(measure(mel))

    def embed(self, measured: Tensor) -> Tensor:
        """[N, MEASURED] to [N, dim]; what is far from all that was learnt counts as less far."""
        return self.norm(self.layers(self.scale(measured.float()).clamp(-4, 4)))


def _layer(inputs: int, outputs: int) -> list[nn.Module]:
    norm = nn.BatchNorm1d(outputs)
    return [nn.Dropout(0.2), nn.Linear(inputs, outputs, bias=False), norm, nn.GELU()]
