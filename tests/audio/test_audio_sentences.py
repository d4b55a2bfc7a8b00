"""The text side: cleaning, tokens, both classes against plain transformers, folders, the hub."""

import hashlib
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest
import torch
from download_server import Behaviour, flipped, serving, status
from hub_site import REVISION, hub_site

import triptych
from triptych.audio.models.sentence_encoders import bert, hub_model, roberta
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.text_files import clean_caption, read_config, read_tokenizer
from triptych.audio.models.text_making import (
    train_tokenizer,
    write_scratch_model,
    write_text_model,
)
from triptych.core.download import DownloadError
from triptych.core.errors import InputError

CAPTIONS = [
    "Rain falls on a tin roof, while a dog barks twice.",
    "A siren wails far away and then fades.",
    "Birds are chirping; someone walks through dry leaves.",
    "An engine idles while rain falls on leaves.",
]
LONG = " ".join(f"{bird} chirping" for bird in ["birds"] * 30)
SMALL = {"hidden": 24, "vocabulary": 300, "layers": 2, "heads": 3}
LIBRARY = Path(triptych.__file__).parents[1]


def write_small(folder, class_, captions):
    made = {"bert": bert, "roberta": roberta}[class_].Settings(**SMALL)
    write_scratch_model(folder, made.config(), made.pieces, captions)


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    """A small model with weights as the hub has them: of a masked language model, by its names."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp(request.param)
    write_small(folder, request.param, CAPTIONS)
    kind = {"bert": "BertForMaskedLM", "roberta": "RobertaForMaskedLM"}[request.param]
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(folder)
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def test_embeddings_equal_a_plain_call_of_transformers(folder):
    transformers = pytest.importorskip("transformers")
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
    assert end not in long.tolist()
    assert end in short.tolist()
    assert encoder.tokenize(["rain"])["input_ids"].shape[1] < 6


@pytest.mark.parametrize("pieces", ["words", "bytes"])
def test_tokenizers_are_the_same_in_every_process_and_order(pieces, tmp_path):
    program = textwrap.dedent("""
        import sys
        from triptych.audio.models.text_making import train_tokenizer
        texts = [line for line in sys.stdin.read().splitlines()]
        print(train_tokenizer(sys.argv[1], 150, texts).to_str())
    """)
    texts = [clean_caption(caption) for caption in CAPTIONS]
    other = subprocess.run(
        [sys.executable, "-c", program, pieces],
        input="\n".join(reversed(texts)),
        env={**os.environ, "PYTHONPATH": str(LIBRARY)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert train_tokenizer(pieces, 150, texts).to_str() == other.strip()


def test_the_rule_makes_a_tokenizer_from_what_is_trained_on_alone(tmp_path):
    table, manifest = tmp_path / "captions.csv", tmp_path / "manifest.csv"
    captions = [*CAPTIONS, "xylophones"]
    clips = [*(f"trained {n}" for n in range(len(CAPTIONS))), "tested"]
    roles = ["train"] * len(CAPTIONS) + ["evaluation"]
    pd.DataFrame({"clip": clips, "caption": captions}).to_csv(table, index=False)
    pd.DataFrame({"clip": clips, "role": roles}).to_csv(manifest, index=False)
    made = roberta.Settings(**SMALL)
    settings = {"source": "scratch", "config": made.config(), "pieces": made.pieces}
    write_text_model(tmp_path / "model", settings, [table, table], manifest)
    alone = tmp_path / "alone"
    write_small(alone, "roberta", [*CAPTIONS, *CAPTIONS])
    assert read_config(tmp_path / "model")["num_hidden_layers"] == 2
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
    part = {"config.json": FILES["config.json"]}
    site = hub_site("models", "some/whole", more, large=LARGE)
    site |= hub_site("models", "some/part", part)
    site |= hub_site("models", "some/liar", lies, large=LARGE, listed=FILES)
    with serving(Behaviour(files=site)) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield


def fetch_from_hub(folder, repository, class_="bert", sha256=None):
    settings = {"source": "hub", "repository": repository, "revision": REVISION}
    write_text_model(folder, {**settings, "class": class_, "sha256": sha256})


def test_the_hub_gives_what_a_model_needs_and_no_pickle(hub, tmp_path):
    right = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    fetch_from_hub(tmp_path / "model", "some/whole", sha256=right)
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("repository", "settings", "error", "says"),
    [
        ("some/part", {}, InputError, "has no tokenizer.json, tokenizer_config.json, model.safe"),
        ("some/whole", {"class_": "roberta"}, InputError, "class is bert, the config says roberta"),
        ("some/liar", {}, DownloadError, r"model\.safetensors: expected sha256"),
    ],
)
def test_a_model_that_cannot_be_used_says_why(hub, tmp_path, repository, settings, error, says):
    with pytest.raises(error) as caught:
        fetch_from_hub(tmp_path / "model", repository, **settings)
    assert re.search(says, str(caught.value), re.DOTALL)
    assert not (tmp_path / "model").exists()


def test_what_an_attempt_brought_the_next_does_not_fetch_again(monkeypatch, tmp_path):
    behaviour = Behaviour(files=hub_site("models", "some/whole", FILES, large=LARGE))
    behaviour.always, behaviour.disturbed = status(404), "model.safetensors"
    with serving(behaviour) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        with pytest.raises(DownloadError, match="404"):
            fetch_from_hub(tmp_path / "model", "some/whole")
        behaviour.behave()
        behaviour.requests.clear()
        fetch_from_hub(tmp_path / "model", "some/whole")
    assert [request["path"].rpartition("/")[2] for request in behaviour.requests] == [
        REVISION,
        "model.safetensors",
    ]
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == FILES
