"""PaSST's front end: waveforms to normalised log-mel spectrograms, without torchaudio.

Pre-emphasis, power spectrum of 25 ms Hann windows every 10 ms, Kaldi's mel filters, logarithm, and
one affine map for all recordings. Two augmentations stand in the authors' code and not in the
report: the filters' band moves, and one stripe of frequencies and one of frames is masked.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.fft
import torch
from torch import Tensor, nn
from torch.nn import functional

from triptych.audio.models.audio_encoders import MELS
from triptych.audio.models.settings import HOP, SAMPLE_RATE

N_FFT = 1024
WINDOW = 800
"""Samples of a window: 25 ms."""
BLOCK = 128
"""Frames whose spectra a processor computes at a time."""

Band = tuple[float, float]
BAND: Band = (0.0, 15_000.0)
"""Hz from which to which the filters reach, as in every published PaSST used here."""


@dataclass(frozen=True)
class Masks:
    """One stripe of mel bands and one of frames, [first, end), that a batch does not see."""

    bands: tuple[int, int]
    frames: tuple[int, int]


def draw_band(generator: torch.Generator) -> Band:
    """A band (Hz) for one training batch: 0 to 9 Hz up to 14001 to 16000 Hz, whole numbers."""
    low = torch.randint(10, (1,), generator=generator).item()
    lower = torch.randint(2000, (1,), generator=generator).item()
    return BAND[0] + low, BAND[1] + 1000 - lower


def draw_masks(frames: int, widest: tuple[int, int], generator: torch.Generator) -> Masks:
    """SpecAugment's stripes: widths uniform below `widest` (bands, frames), places uniform.

    The whole batch shares them, as with torchaudio 0.13, by which the report's were drawn.
    """
    bands = _draw_stripe(MELS, widest[0], generator)
    return Masks(bands, _draw_stripe(frames, widest[1], generator))


def _draw_stripe(size: int, widest: int, generator: torch.Generator) -> tuple[int, int]:
    width, place = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
    width *= min(widest, size)
    first = int(place * (size - width))
    return first, first + int(width)


def mel_filters(band: Band = BAND) -> Tensor:
    """Kaldi's filters over `band` (Hz): [MELS, N_FFT/2 + 1], float64.

    Triangles in mel(f) = 1127 ln(1 + f/700), evenly spaced.
    """
    bins = torch.arange(N_FFT // 2 + 1, dtype=torch.float64)
    mel = 1127 * torch.log1p(bins * SAMPLE_RATE / N_FFT / 700)
    lowest, highest = (1127 * math.log1p(edge / 700) for edge in band)
    width = (highest - lowest) / (MELS + 1)
    peaks = lowest + width * torch.arange(1, MELS + 1, dtype=torch.float64)
    filters = (1 - (mel - peaks[:, None]).abs() / width).clamp(min=0)
    filters[:, -1] = 0
    return filters


class LogMel(nn.Module):
    """Waveforms to PaSST's input. It holds no tensor that a checkpoint would name."""

    window: Tensor
    filters: Tensor

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(WINDOW, periodic=False)
        self.register_buffer("window", window, persistent=False)
        self.register_buffer("filters", mel_filters().float(), persistent=False)

    def forward(
        self, waveforms: Tensor, band: Band | None = None, masks: Masks | None = None
    ) -> Tensor:
        """[B, samples] in [-1, 1] to [B, 1, MELS, frames], as `logarithm` and `normalised` do."""
        return self.normalised(self.logarithm(waveforms, band), masks)

    def logarithm(self, waveforms: Tensor, band: Band | None = None) -> Tensor:
        """Log-mel spectrograms [B, MELS, frames] of waveforms [B, samples] in [-1, 1], float32
        whatever the precision around.

        band: the filters' in Hz, None for BAND. No gradient flows through. A waveform has more than
        N_FFT/2 samples.
        """
        with torch.no_grad(), torch.autocast(waveforms.device.type, enabled=False):
            filters = self.filters
            if band is not None:
                filters = mel_filters(band).float().to(waveforms.device)
            mel = filters @ self._power(waveforms.float())
            return mel.add_(1e-5).log_()

    def normalised(self, mel: Tensor, masks: Masks | None = None) -> Tensor:
        """Log-mel spectrograms [B, MELS, frames] as an encoder's input [B, 1, MELS, frames].

        masks: the stripes that become 0 before the affine map. `mel` is overwritten.
        """
        if masks is not None:
            mel[:, slice(*masks.bands)] = 0
            mel[:, :, slice(*masks.frames)] = 0
        return mel.add_(4.5).div_(5)[:, None]

    def _power(self, waveforms: Tensor) -> Tensor:
        """Power spectra [B, N_FFT/2 + 1, frames].

        Pre-emphasis in two roundings, as the original computes it; one differs by up to 5e-5.
        """
        emphasised = waveforms[:, 1:] - 0.97 * waveforms[:, :-1]
        if emphasised.device.type == "cpu":
            return _power_on_cpu(emphasised, self.window)
        spectrum = torch.stft(
            emphasised,
            N_FFT,
            HOP,
            WINDOW,
            self.window,
            center=True,
            pad_mode="reflect",
            return_complex=True,
        )
        # A sum over the two parts as an axis takes four times as long on a processor.
        return spectrum.real.square().add_(spectrum.imag.square())


def _power_on_cpu(signals: Tensor, window: Tensor) -> Tensor:
    """Power spectra [B, N_FFT/2 + 1, frames] of the frames that `torch.stft` takes.

    SciPy's FFT is quick on every processor, and a BLOCK at a time stays in its caches.
    """
    around = (N_FFT - WINDOW) // 2
    weights = functional.pad(window, (around, around)).numpy()
    padded = functional.pad(signals[:, None], (N_FFT // 2, N_FFT // 2), mode="reflect")[:, 0]
    frames = np.lib.stride_tricks.sliding_window_view(padded.numpy(), N_FFT, axis=1)[:, ::HOP]
    power = np.empty((*frames.shape[:2], N_FFT // 2 + 1), np.float32)

    def fill(row: int) -> None:
        for first in range(0, frames.shape[1], BLOCK):
            block = slice(first, first + BLOCK)
            spectrum = scipy.fft.rfft(frames[row, block] * weights)
            np.square(spectrum.real, out=power[row, block])
            power[row, block] += np.square(spectrum.imag)

    threads = min(torch.get_num_threads(), len(power))
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, range(len(power))))
    else:
        list(map(fill, range(len(power))))
    return torch.from_numpy(power).transpose(1, 2)
