"""Text models and a retrieval model small enough for tests."""

import torch
from torch import nn

from triptych.audio.models.audio_encoders.passt import Settings as PasstSettings
from triptych.audio.models.passt import Passt
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentence_encoders import bert, roberta
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_making import write_scratch_model

SMALL = ModelSettings(
    audio=PasstSettings(stride=(16, 16), frames=50, dim=24, depth=2, heads=3, patchout=(2, 1)),
    segment_seconds=0.5,
    projection=16,
    temperature=0.07,
    learn_temperature=True,
    text_dropout=0.1,
)


def write_text(folder, texts, kind="bert", hidden=24, vocabulary=300, layers=1, heads=3):
    """A text model without weights, its tokenizer made of the texts; its folder."""
    settings = {"bert": bert, "roberta": roberta}[kind].Settings(hidden, vocabulary, layers, heads)
    write_scratch_model(folder, settings.config(), settings.pieces, texts)
    return folder


class BagOfNumbers(nn.Module):
    """In the sentence encoder's place, without transformers: the mean of a vector a token."""

    config = {"hidden_size": 12}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(50, 12)

    def forward(self, tokens):
        return self.vectors(tokens["input_ids"]).mean(1)


def small_model(settings=SMALL):
    torch.manual_seed(0)
    return RetrievalModel(settings, Passt(settings.audio), BagOfNumbers()).eval()
