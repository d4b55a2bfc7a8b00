"""A retrieval model small enough for a test, with a text side that needs no transformers."""

import torch
from torch import nn

from triptych.audio.models.audio_encoders.passt import Settings as PasstSettings
from triptych.audio.models.passt import Passt
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.settings import ModelSettings

SMALL = ModelSettings(
    audio=PasstSettings(stride=(16, 16), frames=50, dim=24, depth=2, heads=3, patchout=(2, 1)),
    segment_seconds=0.5,
    projection=16,
    temperature=0.07,
    learn_temperature=True,
    text_dropout=0.1,
)


class BagOfNumbers(nn.Module):
    """In the sentence encoder's place: the mean of a vector for each token."""

    config = {"hidden_size": 12}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(50, 12)

    def forward(self, tokens):
        return self.vectors(tokens["input_ids"]).mean(1)


def small_model(settings=SMALL):
    torch.manual_seed(0)
    return RetrievalModel(settings, Passt(settings.audio), BagOfNumbers()).eval()
