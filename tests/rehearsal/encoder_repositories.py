"""The four sentence encoders as the Hugging Face hub has them: true sizes, random weights.

The heads of their pretraining are there too.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from transformers.models.bert import BertConfig, BertForPreTraining
from transformers.models.roberta import RobertaConfig, RobertaForMaskedLM

from triptych.audio.models.text_making import train_tokenizer

BASE, LARGE = (768, 12, 12), (1024, 24, 16)
"""Width, layers and heads."""
ENCODERS = {
    "bert_base": ("bert", *BASE),
    "bert_large": ("bert", *LARGE),
    "roberta_base": ("roberta", *BASE),
    "roberta_large": ("roberta", *LARGE),
}
Sizes = tuple[str, int, int, int]


def network(encoder: Sizes, seed: int) -> BertForPreTraining | RobertaForMaskedLM:
    """The encoder with the heads of its pretraining, at the start of one."""
    kind, width, layers, heads = encoder
    bert = kind == "bert"
    config = (BertConfig if bert else RobertaConfig)(
        vocab_size=30522 if bert else 50265,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=512 if bert else 514,  # RoBERTa counts from behind its padding
        type_vocab_size=2 if bert else 1,
        layer_norm_eps=1e-12 if bert else 1e-5,
    )
    torch.manual_seed(seed)
    return (BertForPreTraining if bert else RobertaForMaskedLM)(config)


def write_encoder(folder: Path, encoder: Sizes, captions: Iterable[str], seed: int) -> None:
    """The files of the encoder's repository, with a tokenizer of the captions' words."""
    network(encoder, seed).save_pretrained(folder)
    bert = encoder[0] == "bert"
    limits: dict[str, Any] = {"model_max_length": 512, **({"do_lower_case": True} if bert else {})}
    (folder / "tokenizer_config.json").write_text(json.dumps(limits), encoding="utf-8")
    tokenizer = train_tokenizer("words" if bert else "bytes", 2000, captions)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "flax_model.msgpack").write_bytes(b"another library's weights")


def write_listing(path: Path, folder: Path, inside: str = "") -> list[dict[str, Any]]:
    """The hub's answer to what is in `folder`, whose files stand in `inside` of a repository."""
    entries: list[dict[str, Any]] = []
    for file in sorted(folder.iterdir()):
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        size = file.stat().st_size
        entry: dict[str, Any] = {"type": "file", "path": inside + file.name, "size": size}
        if re.fullmatch(r"\.(safetensors|msgpack|zip|z\d\d)", file.suffix):
            entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 134}
            content = b"version https://git-lfs.github.com/spec/v1\n"
        else:
            content = file.read_bytes()
        entry["oid"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entries.append(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries), encoding="utf-8")
    return entries
