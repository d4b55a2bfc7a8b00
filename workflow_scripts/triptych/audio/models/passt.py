"""PaSST: the spectrogram transformer of the audio side, in the sizes N, S and S15 and any smaller.

Patches become tokens behind a class and a distillation token; the embedding is the mean of these
two (Koutini et al. 2021, arXiv:2110.05069). Parameters have the published checkpoints' names.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.core.weights import differences, shapes

SPECIAL_TOKENS = 2  # class and distillation
PUBLISHED_DIM = 768
INITIAL_STD = 0.02  # of weights at 768 dimensions


@dataclass(frozen=True)
class Kept:
    """Rows and columns of the patch grid that structured patchout keeps, ascending."""

    rows: Tensor
    columns: Tensor


def draw_patchout(
    rows: int, columns: int, drop: tuple[int, int], generator: torch.Generator
) -> Kept:
    """Drop `drop` (rows, columns) of the grid at random, the same for a whole batch."""
    kept_columns = torch.randperm(columns, generator=generator)[: columns - drop[1]]
    kept_rows = torch.randperm(rows, generator=generator)[: rows - drop[0]]
    return Kept(kept_rows.sort().values, kept_columns.sort().values)


class Passt(nn.Module):
    """Spectrograms to embeddings."""

    def __init__(self, settings: Any) -> None:
        """settings: `audio_encoders.passt.Settings`, whose methods import this module."""
        super().__init__()
        self.settings = settings
        dim = settings.dim
        rows, columns = settings.positions
        self.cls_token = nn.Parameter(torch.empty(1, 1, dim))
        self.dist_token = nn.Parameter(torch.empty(1, 1, dim))
        self.new_pos_embed = nn.Parameter(torch.empty(1, SPECIAL_TOKENS, dim))
        self.freq_new_pos_embed = nn.Parameter(torch.empty(1, dim, rows, 1))
        self.time_new_pos_embed = nn.Parameter(torch.empty(1, dim, 1, columns))
        self.patch_embed = _PatchEmbedding(dim, settings.patch, settings.stride)
        self.blocks = nn.ModuleList(_Block(dim, settings.heads) for _ in range(settings.depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        if settings.classes:
            # Kept so that checkpoints load strictly. No embedding passes through them.
            self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, settings.classes))
            self.head_dist = nn.Linear(dim, settings.classes)
            self.head.requires_grad_(False)
            self.head_dist.requires_grad_(False)
        self._initialise()

    def _initialise(self) -> None:
        """The original's initial weights, of a spread that keeps activations alike at any width."""
        std = INITIAL_STD * (PUBLISHED_DIM / self.settings.dim) ** 0.5
        for name, parameter in self.named_parameters():
            if name.endswith(("_token", "_embed")):
                nn.init.trunc_normal_(parameter, std=std)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=std)
                nn.init.zeros_(module.bias)

    def forward(self, mel: Tensor, patchout: Kept | None = None) -> Tensor:
        """[B, 1, mels, frames] to embeddings [B, dim]; `kept` from `draw_patchout` in training.

        Raises ValueError for spectrograms longer than the model's.
        """
        tokens = self._patches(mel, patchout)
        special = torch.cat([self.cls_token, self.dist_token], dim=1) + self.new_pos_embed
        tokens = torch.cat([special.expand(len(mel), -1, -1), tokens], dim=1)
        *others, last = self.blocks
        for block in others:
            tokens = block(tokens)
        tokens = last(tokens, outputs=SPECIAL_TOKENS)  # nobody reads its other tokens
        return self.norm(tokens).mean(dim=1)

    def _patches(self, mel: Tensor, patchout: Kept | None) -> Tensor:
        """Tokens [B, rows * columns, dim], row by row, of the patches that are kept."""
        patch, (band_stride, frame_stride) = self.settings.patch, self.settings.stride
        rows, columns = self.settings.grid(mel.shape[3])
        patches = mel[:, 0].unfold(1, patch, band_stride).unfold(2, patch, frame_stride)
        by_row = self.freq_new_pos_embed[0, :, :rows, 0].T
        by_column = self.time_new_pos_embed[0, :, 0, :columns].T
        if patchout is not None:
            at_rows, at_columns = patchout.rows.to(mel.device), patchout.columns.to(mel.device)
            patches = patches[:, at_rows[:, None], at_columns]
            by_row, by_column = by_row[at_rows], by_column[at_columns]
        tokens = self.patch_embed(patches.flatten(3))
        return (tokens + by_column + by_row[:, None]).flatten(1, 2)


class _PatchEmbedding(nn.Module):
    """A convolution, computed as a matrix product over the patches that are kept."""

    def __init__(self, dim: int, patch: int, stride: tuple[int, int]) -> None:
        super().__init__()
        self.proj = nn.Conv2d(1, dim, patch, stride)

    def forward(self, patches: Tensor) -> Tensor:
        return functional.linear(patches, self.proj.weight.flatten(1), self.proj.bias)


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = _Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, 4 * dim), "fc2": nn.Linear(4 * dim, dim)})

    def forward(self, tokens: Tensor, outputs: int | None = None) -> Tensor:
        """The first `outputs` tokens (all where None) after this block, having seen all."""
        tokens = tokens[:, :outputs] + self.attn(self.norm1(tokens), outputs)
        hidden = functional.gelu(self.mlp["fc1"](self.norm2(tokens)))
        return tokens + self.mlp["fc2"](hidden)


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, tokens: Tensor, queries: int | None) -> Tensor:
        if queries is None:
            parts = self.qkv(tokens).chunk(3, dim=2)
        else:
            dim = tokens.shape[2]
            weight, bias = self.qkv.weight, self.qkv.bias
            query = functional.linear(tokens[:, :queries], weight[:dim], bias[:dim])
            parts = query, *functional.linear(tokens, weight[dim:], bias[dim:]).chunk(2, dim=2)
        by_head = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        attended = functional.scaled_dot_product_attention(*by_head)
        return self.proj(attended.transpose(1, 2).flatten(2))


def load_passt(network: nn.Module, path: str | os.PathLike[str], settings: Any) -> None:
    """Give a network the weights that `convert_passt` wrote. Raises InputError for others."""
    state = load_file(path)
    check_passt(state, settings, str(path))
    network.load_state_dict(state)


def check_passt(state: Mapping[str, Tensor], settings: Any, source: str) -> None:
    """Raise InputError, naming what differs, unless `state` fits a network of `settings`."""
    with torch.device("meta"):
        actual, expected = shapes(state), shapes(Passt(settings).state_dict())
    if actual != expected:
        raise InputError(
            f"{source}: expected {len(expected)} tensors of a PaSST with stride "
            f"{list(settings.stride)}, {settings.frames} frames and {settings.depth} blocks of "
            f"{settings.dim}; found {len(actual)}, of which {differences(actual, expected)}. Fetch "
            "the checkpoint again, or take the model whose checkpoint this is."
        )
