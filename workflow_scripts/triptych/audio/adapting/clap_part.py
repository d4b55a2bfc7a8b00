"""CLAP, or the last blocks of it, as what a training takes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from triptych.audio.models.clap import Clap
from triptych.audio.models.retrieval import Draws


class ClapPart(nn.Module):
    """What learns of a CLAP: all of it, or the last blocks of both encoders and the projections.

    Its tensors are the model's own. The frozen blocks compute along in each step: the networks are
    the transformers library's, which offers no way in between. CLAP's temperature stays as it is,
    and so do the averages of its norm over batches, since a person's batches are small.
    """

    def __init__(self, clap: Clap, blocks: int | None) -> None:
        """blocks: of either encoder, or as many as it has; None for the whole model."""
        super().__init__()
        model = clap.model
        audio, text = model.audio_model.audio_encoder, model.text_model
        clap.eval().requires_grad_(False)
        if blocks is None:
            learning: list[Any] = [model.audio_model, text]
        else:
            of_audio = [block for stage in audio.layers for block in stage.blocks]
            learning = [*of_audio[-blocks:], audio.norm, *text.encoder.layer[-blocks:], text.pooler]
        self.learning = nn.ModuleList([*learning, model.audio_projection, model.text_projection])
        self.learning.requires_grad_(True)
        self._clap = (clap,)  # in a tuple, or its frozen part would be this one's
        self.text = clap.text

    @property
    def temperature(self) -> Tensor:
        """[1], of CLAP's two the one by which it compares a sound with texts."""
        (clap,) = self._clap
        return torch.exp(-clap.model.logit_scale_a.detach())[None]

    def train(self, mode: bool = True) -> "ClapPart":
        """As `nn.Module.train`, but for the norms over batches."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def embed_audio(
        self, waveforms: Tensor, lengths: Tensor | Sequence[int], draws: Draws | None = None
    ) -> Tensor:
        """As `Clap.embed_audio`. Nothing is drawn."""
        (clap,) = self._clap
        return clap.embed_audio(waveforms, lengths)

    def embed_text(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """As `Clap.embed_text`."""
        (clap,) = self._clap
        return clap.embed_text(tokens)
