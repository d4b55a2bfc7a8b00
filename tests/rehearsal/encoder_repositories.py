"""The four sentence encoders as the Hugging Face hub has them: true sizes, random weights.

What the published files hold beside the encoder is there too: BERT's heads for its two tasks and a
pooler, its layer norms under their first names gamma and beta; RoBERTa's head.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from tokenizers.implementations import BertWordPieceTokenizer
from tokenizers.trainers import BpeTrainer
from transformers.models.bert import BertConfig, BertForPreTraining
from transformers.models.roberta import RobertaConfig, RobertaForMaskedLM


@dataclass(frozen=True)
class Encoder:
    """An encoder's kind and sizes."""

    kind: str
    hidden: int
    layers: int
    heads: int


VOCABULARY = {"bert": 30522, "roberta": 50265}
ENCODERS = {
    "bert_base": Encoder("bert", 768, 12, 12),
    "bert_large": Encoder("bert", 1024, 24, 16),
    "roberta_base": Encoder("roberta", 768, 12, 12),
    "roberta_large": Encoder("roberta", 1024, 24, 16),
}


def network(encoder: Encoder, seed: int) -> BertForPreTraining | RobertaForMaskedLM:
    """The encoder with the heads of its pretraining, at the start of one."""
    bert = encoder.kind == "bert"
    config = (BertConfig if bert else RobertaConfig)(
        vocab_size=VOCABULARY[encoder.kind],
        hidden_size=encoder.hidden,
        num_hidden_layers=encoder.layers,
        num_attention_heads=encoder.heads,
        intermediate_size=4 * encoder.hidden,
        max_position_embeddings=512 if bert else 514,  # RoBERTa counts from behind its padding
        type_vocab_size=2 if bert else 1,
        layer_norm_eps=1e-12 if bert else 1e-5,
    )
    torch.manual_seed(seed)
    return (BertForPreTraining if bert else RobertaForMaskedLM)(config)


def published(model: BertForPreTraining | RobertaForMaskedLM) -> dict[str, torch.Tensor]:
    """A network's tensors under their names in `model.safetensors`."""
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {}
    for name, tensor in model.state_dict().items():
        if ".decoder." not in name:  # it is the words' embedding
            for ours, first in names.items() if model.config.model_type == "bert" else ():
                name = name.replace(ours, first)
            tensors[name] = tensor.contiguous()
    if model.config.model_type == "roberta":
        positions = torch.arange(model.config.max_position_embeddings)
        tensors["roberta.embeddings.position_ids"] = positions[None]
    return tensors


def tokenizer(encoder: Encoder, captions: Iterable[str]) -> Tokenizer | BertWordPieceTokenizer:
    """A tokenizer whose words are those of `captions`, its special tokens where they belong.

    Numbers that no word needs are taken by tokens that no text has, up to the true vocabulary.
    """
    texts = [caption.lower() for caption in captions]
    return (_wordpieces if encoder.kind == "bert" else _byte_pairs)(texts, VOCABULARY[encoder.kind])


def _wordpieces(texts: list[str], size: int) -> BertWordPieceTokenizer:
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(99)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += [f"[unused{n}]" for n in range(99, 994)]
    letters = sorted(set("".join(texts)) - {" "})
    tokens += [*letters, *(f"##{letter}" for letter in letters)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    tokens += sorted(words - set(tokens))
    tokens += [f"unheardof{n}" for n in range(size - len(tokens))]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return BertWordPieceTokenizer(vocabulary)


def _byte_pairs(texts: list[str], size: int) -> Tokenizer:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    draft = Tokenizer(models.BPE())
    draft.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    draft.train_from_iterator(texts, trainer)
    learnt = json.loads(draft.to_str())["model"]
    tokens = [*special, *sorted(learnt["vocab"], key=learnt["vocab"].get)]
    tokens += [f"madeupword{n:04d}" for n in range(size - 1 - len(tokens))] + ["<mask>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocabulary, [tuple(pair) for pair in learnt["merges"]]))
    made.add_special_tokens([*special, "<mask>"])
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return made


def write_encoder(folder: Path, encoder: Encoder, captions: Iterable[str], seed: int) -> None:
    """The files of the encoder's repository that matter here, and two that don't."""
    folder.mkdir(parents=True, exist_ok=True)
    limits: dict[str, Any] = {"do_lower_case": True} if encoder.kind == "bert" else {}
    limits["model_max_length"] = 512
    (folder / "tokenizer_config.json").write_text(json.dumps(limits), encoding="utf-8")
    model = network(encoder, seed)
    model.config.to_json_file(folder / "config.json")
    tokenizer(encoder, captions).save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    (folder / "flax_model.msgpack").write_bytes(b"another library's weights")
    save_file(published(model), folder / "model.safetensors", {"format": "pt"})


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
