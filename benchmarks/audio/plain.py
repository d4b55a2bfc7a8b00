"""PaSST, its front end, a training step and the embedding of a split as one writes them first.

What the bench compares with, and an oracle of tests: eager float32, attention with its whole matrix
of weights (or PyTorch's own), and evaluation as in the report's code. Shares nothing with
`models/` but the names of the tensors, and is used for nothing else.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

RATE, N_FFT, WINDOW, HOP, MELS = 32000, 1024, 800, 320, 128
EVALUATION_BATCH = 32
"""Pairs of a clip and a caption in a batch of the report's evaluation."""


def mel_bank(low: float, high: float) -> Tensor:
    """Kaldi's triangles, [mels, bins], filter by filter."""

    def mel(hertz: float) -> float:
        return 1127 * math.log(1 + hertz / 700)

    first, step = mel(low), (mel(high) - mel(low)) / (MELS + 1)
    points = torch.tensor([mel(bin * RATE / N_FFT) for bin in range(N_FFT // 2)]).double()
    rows = []
    for number in range(MELS):
        left, peak, right = (first + (number + i) * step for i in range(3))
        up, down = (points - left) / (peak - left), (right - points) / (right - peak)
        rows.append(torch.minimum(up, down).clamp(min=0))
    return F.pad(torch.stack(rows), (0, 1)).float()


def log_mel(
    waveforms: Tensor,
    band: tuple[float, float] = (0.0, 15000.0),
    masks: tuple[tuple[int, int], tuple[int, int]] | None = None,
) -> Tensor:
    """[B, samples] to [B, 1, mels, frames]; masks: stripes of bands and of frames that become 0."""
    device = waveforms.device
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        kernel = torch.tensor([[[-0.97, 1.0]]], device=device)
        x = F.conv1d(waveforms[:, None], kernel)[:, 0]
        window = torch.hann_window(WINDOW, periodic=False, device=device)
        x = torch.stft(x, N_FFT, HOP, WINDOW, window=window, center=True, return_complex=True)
        x = (torch.view_as_real(x) ** 2).sum(-1)
        x = torch.log(mel_bank(*band).to(device) @ x + 1e-5)
        if masks is not None:
            bands, frames = masks
            x[:, bands[0] : bands[1]] = 0
            x[:, :, frames[0] : frames[1]] = 0
        return ((x + 4.5) / 5)[:, None]


class PlainAttention(nn.Module):
    """Self-attention with the weights of all heads in one layer, as timm writes it.

    fused: by PyTorch's scaled_dot_product_attention, which holds no matrix of weights.
    """

    def __init__(self, dim: int, heads: int, fused: bool = False):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, dim] to the same shape; the attention is held, [B, heads, N, N]."""
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
            return self.proj(x.transpose(1, 2).reshape(b, n, c))
        attention = (q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5
        attention = attention.softmax(dim=-1)
        return self.proj((attention @ v).transpose(1, 2).reshape(b, n, c))


class PlainMlp(nn.Module):
    """Two layers, the hidden one four times as wide."""

    def __init__(self, dim: int):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, dim] to the same shape."""
        return self.fc2(F.gelu(self.fc1(x)))


class PlainBlock(nn.Module):
    """A block of the transformer, normalised before attention and layers."""

    def __init__(self, dim: int, heads: int, fused: bool = False):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = PlainAttention(dim, heads, fused)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = PlainMlp(dim)

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, dim] to the same shape."""
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PlainPatches(nn.Module):
    """Patches of 16 by 16 of a spectrogram, overlapping by its stride."""

    def __init__(self, dim: int, stride: tuple[int, int]):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, 16, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[B, 1, bands, frames] to [B, dim, rows, columns]."""
        return self.proj(x)


class PlainPasst(nn.Module):
    """PaSST without its heads; `frames` as in the published variants' names."""

    def __init__(
        self,
        stride: tuple[int, int],
        frames: int,
        dim: int,
        depth: int,
        heads: int,
        fused: bool = False,
    ):
        super().__init__()
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.dist_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.new_pos_embed = nn.Parameter(0.02 * torch.randn(1, 2, dim))
        self.freq_new_pos_embed = nn.Parameter(0.02 * torch.randn(1, dim, MELS // stride[0], 1))
        self.time_new_pos_embed = nn.Parameter(0.02 * torch.randn(1, dim, 1, frames // stride[1]))
        self.patch_embed = PlainPatches(dim, stride)
        self.blocks = nn.Sequential(*[PlainBlock(dim, heads, fused) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim, eps=1e-6)

    def forward(
        self, mel: Tensor, rows: Tensor | None = None, columns: Tensor | None = None
    ) -> Tensor:
        """[B, 1, mels, frames] to [B, dim]; rows, columns: of the patches that patchout keeps."""
        x = self.patch_embed(mel)
        x = x + self.time_new_pos_embed[:, :, :, : x.shape[-1]]
        x = x + self.freq_new_pos_embed
        if columns is not None:
            x = x[:, :, :, columns]
        if rows is not None:
            x = x[:, :, rows]
        x = x.flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(len(x), -1, -1) + self.new_pos_embed[:, :1]
        dist = self.dist_token.expand(len(x), -1, -1) + self.new_pos_embed[:, 1:]
        x = self.norm(self.blocks(torch.cat((cls, dist, x), dim=1)))
        return (x[:, 0] + x[:, 1]) / 2


class PlainModel(nn.Module):
    """The audio side: segments of `segment` samples, those that hold audio averaged."""

    def __init__(self, passt: PlainPasst, dim: int, projection: int, segment: int):
        super().__init__()
        self.audio, self.segment = passt, segment
        self.project_audio = nn.Sequential(nn.Linear(dim, projection))

    def forward(
        self,
        waveforms: Tensor,
        lengths: Sequence[int],
        band: tuple[float, float] = (0.0, 15000.0),
        masks: tuple[tuple[int, int], tuple[int, int]] | None = None,
        rows: Tensor | None = None,
        columns: Tensor | None = None,
    ) -> Tensor:
        """[B, samples] to unit vectors [B, projection]; pads to whole segments of the longest."""
        whole = math.ceil(max(lengths) / self.segment) * self.segment
        cut = waveforms[:, :whole]
        x = F.pad(cut, (0, whole - cut.shape[1])).reshape(-1, self.segment)
        embedded = self.audio(log_mel(x, band, masks), rows, columns)
        embedded = embedded.reshape(len(waveforms), -1, embedded.shape[1])
        means = []
        for segments, length in zip(embedded, lengths, strict=True):
            means.append(segments[: math.ceil(length / self.segment)].mean(0))
        return F.normalize(self.project_audio(torch.stack(means)), dim=1)


def contrastive_loss(audio: Tensor, text: Tensor, temperature: Tensor) -> Tensor:
    """Of rows that match, with the mean over both directions."""
    logits = audio @ text.T / temperature.abs()
    over_texts, over_audio = F.log_softmax(logits, 1), F.log_softmax(logits, 0)
    return -0.5 * (over_texts.diagonal().mean() + over_audio.diagonal().mean())


def embed_split(
    model: PlainModel, clips: Sequence[NDArray[np.float32]], captions: int, longest: int
) -> Tensor:
    """Each clip once for each of its captions, then one of them taken: [clips, projection].

    A clip is padded with zeros to `longest` samples; a batch is cut to whole segments of its
    longest clip, so all others have segments of padding alone.
    """
    flattened = [clip for clip in clips for _ in range(captions)]
    device = next(model.parameters()).device
    parts = []
    model.eval()
    with torch.no_grad():
        for first in range(0, len(flattened), EVALUATION_BATCH):
            batch = flattened[first : first + EVALUATION_BATCH]
            padded = np.stack([np.pad(clip, (0, longest - len(clip))) for clip in batch])
            waveforms = torch.from_numpy(padded).to(device)
            parts.append(model(waveforms, [len(clip) for clip in batch]).cpu())
    return torch.cat(parts)[::captions]


def published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a PaSST's state that this one has: all but the heads."""
    return {name: value for name, value in state.items() if not name.startswith("head")}
