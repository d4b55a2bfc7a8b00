"""Every forward pass of the audio study on a GPU without values: no tensor is left on the CPU."""

import audio_small_models as small
import pytest
import torch
from fake_gpu import CUDA, fake_gpu, moved
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from triptych.audio.models import mel
from triptych.audio.models.passt import Kept, Passt
from triptych.audio.models.retrieval import Augmentation, RetrievalModel
from triptych.audio.models.sentence_encoders import bert
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.training.losses import nt_xent
from triptych.core.device import training_precision


@pytest.fixture
def gpu(monkeypatch):
    # The clips' counts come of values, which there are none of.
    def bincount(owners, minlength):
        return owners.new_zeros(minlength)

    with fake_gpu():
        monkeypatch.setattr(torch, "bincount", bincount)
        monkeypatch.setattr(torch.Tensor, "repeat_interleave", lambda each, counts: each)
        yield


@pytest.mark.parametrize("precision", ["float32", "fp16"])
def test_recordings_sentences_and_their_loss_stay_on_the_gpu(gpu, precision):
    settings = small.SMALL
    kept = Kept(torch.arange(5), torch.arange(2))
    draws = Augmentation((3.0, 14500.0), mel.Masks((4, 9), (2, 30)), kept)  # drawn on the CPU
    size = bert.Settings(48, 100, layers=2, heads=4)
    words = Tokenizer(WordLevel({f"[{n}]": n for n in range(100)}, unk_token="[0]"))
    model = moved(
        lambda: RetrievalModel(
            settings, Passt(settings.audio), SentenceEncoder(size.config(), words, 0.0)
        )
    )
    lengths = [16_000, 9_000, 12_000]  # one segment each
    tokens = torch.zeros(3, 7, dtype=torch.long).to(CUDA)
    with training_precision(CUDA, precision):
        audio = model.embed_audio(torch.rand(3, 16_000).to(CUDA), lengths, draws)
        text = model.embed_text({"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})
    loss = nt_xent(audio, text, model.temperature)
    assert {audio.device.type, text.device.type, loss.device.type} == {"cuda"}
