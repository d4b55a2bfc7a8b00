"""Text models and a retrieval model small enough for tests."""

import json

import torch
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from transformers import (
    ClapAudioConfig,
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    ClapTextConfig,
)

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


def write_clap(folder, texts):
    """A ClapModel of a few thousand weights, its tokenizer made of the texts; its folder."""
    tokens = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokens.train_from_iterator(texts, 300, special_tokens=special)
    tokens.save_model(str(folder))
    text = ClapTextConfig(
        vocab_size=300,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=90,
        projection_dim=8,
    )
    audio = ClapAudioConfig(
        patch_embeds_hidden_size=8,
        hidden_size=64,
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 1, 1],
        projection_dim=8,
    )
    torch.manual_seed(0)
    config = ClapConfig(text_config=text.to_dict(), audio_config=audio.to_dict(), projection_dim=8)
    model = ClapModel(config)
    with torch.no_grad():  # or all sounds would be all but the same to it
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    ClapFeatureExtractor(truncation="rand_trunc").save_pretrained(folder)
    about = {"tokenizer_class": "RobertaTokenizer", "model_max_length": 90}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    (folder / "special_tokens_map.json").write_text("{}")
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
