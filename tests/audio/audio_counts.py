"""The audio study's models, counted on shapes: what its costs are compared with."""

import torch
from counting import counted, shaped, shapes_only
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from triptych.audio.models.audio_encoders import MELS
from triptych.audio.models.mel import LogMel
from triptych.audio.models.passt import Kept
from triptych.audio.models.sentence_encoders import SentenceSettings
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.core.cost import Work
from triptych.core.device import training_precision

CPU = torch.device("cpu")


def audio_counted(settings: ModelSettings, segments: int, training: bool, precision: str) -> Work:
    """So many segments at once through PaSST; in training with patchout, and backward."""
    with shapes_only(), training_precision(CPU, precision):
        model = shaped(settings.audio.network).train(training)
        mel = torch.empty(segments, 1, MELS, settings.segment_frames)
        if not training:
            with torch.no_grad():
                return counted(lambda: model(mel))
        out = settings.audio.patchout
        rows, columns = settings.audio.grid(settings.segment_frames)
        kept = Kept(torch.arange(rows - out[0]), torch.arange(columns - out[1]))
        return counted(lambda: model(mel, kept).sum().backward())


def front_end_counted(samples: int) -> Work:
    """The mel front end: it looks at values, so it runs, on one segment of silence."""
    front = LogMel()
    return counted(lambda: front(torch.zeros(1, samples)))


def text_counted(
    size: SentenceSettings, captions: int, tokens: int, training: bool, precision: str
) -> Work:
    """Captions of so many tokens through a sentence encoder; in training also backward."""
    with shapes_only(), training_precision(CPU, precision):
        model = encoder(size).train(training)
        asked = {
            "input_ids": torch.zeros(captions, tokens, dtype=torch.long),
            "attention_mask": torch.ones(captions, tokens, dtype=torch.long),
        }
        if training:
            return counted(lambda: model(asked).sum().backward())
        with torch.no_grad():
            return counted(lambda: model(asked))


def encoder(size: SentenceSettings) -> SentenceEncoder:
    """A sentence encoder without values: within `shapes_only`."""
    words = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))  # nothing is tokenized
    return shaped(lambda: SentenceEncoder(size.config(), words, 0.0))
