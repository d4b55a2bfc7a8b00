"""The text side: cleaning, tokens, both classes against plain transformers, folders, the hub."""

import hashlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers
from audio_small_models import write_text
from download_server import Behaviour, flipped, serving, status
from hub_site import REVISION, hub_site

import triptych
from triptych.audio.models.sentence_encoders import hub_model, roberta
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.text_files import clean_caption, read_config, read_tokenizer
from triptych.audio.models.text_making import train_tokenizer, write_text_model
from triptych.core.download import DownloadError
from triptych.core.errors import InputError

CAPTIONS = [
    "Rain falls on a tin roof, while a dog barks twice.",
    "A siren wails far away and then fades.",
    "Birds are chirping; someone walks through dry leaves.",
    "An engine idles while rain falls on leaves.",
]
LONG = " ".join(f"{bird} chirping" for bird in ["birds"] * 30)
LIBRARY = Path(triptych.__file__).parents[1]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    """A small model with weights as the hub has them: of a masked language model, by its names."""
    folder = write_text(tmp_path_factory.mktemp(request.param), CAPTIONS, request.param, layers=2)
    kind = {"bert": "BertForMaskedLM", "roberta": "RobertaForMaskedLM"}[request.param]
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(folder)
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def test_embeddings_equal_a_plain_call_of_transformers(folder):
    encoder = SentenceEncoder.from_folder(folder, dropout=0.2).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    captions = [*CAPTIONS, LONG]
    tokens = tokenizer([clean_caption(c) for c in captions], padding="longest", return_tensors="pt")
    tokens = {name: value[:, :32] for name, value in tokens.items()}
    mine = encoder.tokenize(captions)
    assert torch.equal(mine["input_ids"], tokens["input_ids"])
    assert torch.equal(mine["attention_mask"], tokens["attention_mask"])
    with torch.no_grad():
        expected = plain(**tokens).last_hidden_state[:, 0]
        assert torch.allclose(encoder(mine), expected, atol=1e-5)


def test_a_config_that_makes_no_encoder_is_refused(folder):
    config = read_config(folder)
    for change in ({"num_attention_heads": 5}, {"model_type": "no_such_model"}):
        with pytest.raises(InputError, match=r"config\.json"):
            SentenceEncoder(config | change, read_tokenizer(folder), 0.0)
    with pytest.raises(InputError, match=str(folder)):
        SentenceEncoder(config | {"hidden_size": 12}, read_tokenizer(folder), 0.0, folder)


def test_long_captions_are_cut_and_lose_their_last_token(folder):
    encoder = SentenceEncoder.from_folder(folder, dropout=0.0)
    end = encoder.tokenizer.encode("rain").ids[-1]
    long, short = encoder.tokenize([LONG, "rain"])["input_ids"]
    assert len(long) == len(short) == 32
    assert end not in long.tolist() and end in short.tolist()
    assert encoder.tokenize(["rain"])["input_ids"].shape[1] < 6


@pytest.mark.parametrize("pieces", ["words", "bytes"])
def test_tokenizers_are_the_same_in_every_process_and_order(pieces):
    program = textwrap.dedent("""
        import sys
        from triptych.audio.models.text_making import train_tokenizer
        print(train_tokenizer(sys.argv[1], 150, sys.argv[2:]).to_str())
    """)
    texts = [clean_caption(caption) for caption in CAPTIONS]
    command = [sys.executable, "-c", program, pieces, *reversed(texts)]
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    other = subprocess.check_output(command, env=environment, text=True)
    assert train_tokenizer(pieces, 150, texts).to_str() == other.strip()


def test_the_rule_makes_a_tokenizer_from_what_is_trained_on_alone(tmp_path):
    table, manifest = tmp_path / "captions.csv", tmp_path / "manifest.csv"
    rows = pd.DataFrame({"caption": [*CAPTIONS, "xylophones"], "role": "train"})
    rows.loc[len(CAPTIONS), "role"] = "evaluation"
    for path in (table, manifest):
        rows.to_csv(path, index_label="clip")
    made = roberta.Settings(24, 300, 1, 3)
    settings = {"source": "scratch", "config": made.config(), "pieces": made.pieces}
    write_text_model(tmp_path / "model", settings, [table, table], manifest)
    alone = write_text(tmp_path / "alone", [*CAPTIONS, *CAPTIONS], "roberta")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "model" / name).read_bytes() == (alone / name).read_bytes()


def test_a_model_of_the_hub_needs_its_repository_and_revision():
    entry = {"class": "mpnet", "source": "hub", "repository": "some/mpnet", "revision": REVISION}
    assert hub_model({**entry, "pooling": "mean"}, {})["pooling"] == "mean"
    for key, value in (("repository", "mpnet"), ("revision", "main"), ("pooling", "last")):
        with pytest.raises(ValueError, match=rf"\.{key} is"):
            hub_model({**entry, key: value}, {})


FILES = {"config.json": b'{"model_type": "bert"}', "tokenizer.json": b"{}"}
FILES |= {"tokenizer_config.json": b"{ }", "model.safetensors": b"weights " * 1000}
LARGE = {"model.safetensors"}


@pytest.fixture
def hub(monkeypatch):
    """A hub of our own, whose address is told by HF_ENDPOINT."""
    monkeypatch.setenv("HF_TOKEN", "hf_" + "secret")
    more = {**FILES, "pytorch_model.bin": b"pickle", "README.md": b"# BERT"}
    lies = {**FILES, "model.safetensors": flipped(FILES["model.safetensors"])}
    site = hub_site("models", "some/whole", more, large=LARGE)
    site |= hub_site("models", "some/part", {"config.json": FILES["config.json"]})
    site |= hub_site("models", "some/liar", lies, large=LARGE, listed=FILES)
    behaviour = Behaviour(files=site)
    with serving(behaviour) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield behaviour


def fetch_from_hub(folder, repository, class_="bert", sha256=None):
    settings = {"source": "hub", "repository": repository, "revision": REVISION}
    write_text_model(folder, {**settings, "class": class_, "sha256": sha256})
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_hub_gives_what_a_model_needs_and_no_pickle_and_nothing_twice(hub, tmp_path):
    hub.always, hub.disturbed = status(404), "model.safetensors"
    with pytest.raises(DownloadError, match="404"):
        fetch_from_hub(tmp_path / "model", "some/whole")
    hub.behave()
    hub.requests.clear()
    right = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    assert fetch_from_hub(tmp_path / "model", "some/whole", sha256=right) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    fetched = [request["path"].rpartition("/")[2] for request in hub.requests]
    assert fetched == [REVISION, "model.safetensors"]


@pytest.mark.parametrize(
    ("repository", "settings", "error", "says"),
    [
        ("some/part", {}, InputError, "has no tokenizer.json, tokenizer_config.json, model.safe"),
        ("some/whole", {"class_": "roberta"}, InputError, "class is bert, the config says roberta"),
        ("some/liar", {}, DownloadError, r"model\.safetensors: expected sha256"),
    ],
)
def test_a_model_that_cannot_be_used_says_why(hub, tmp_path, repository, settings, error, says):
    with pytest.raises(error, match=rf"(?s){says}"):
        fetch_from_hub(tmp_path / "model", repository, **settings)
    assert not (tmp_path / "model").exists()
