"""The four sentence encoders as the Hugging Face hub has them: true sizes, random weights.

What the published files hold beside the encoder is there too: BERT's heads for its two tasks and a
pooler, its layer norms under their first names gamma and beta; RoBERTa's head and the positions'
numbers. Of `bert-base-uncased` the file of weights has the real one's length to the byte.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Encoder:
    """An encoder's kind and sizes."""

    kind: str
    hidden: int
    layers: int
    heads: int

    @property
    def vocabulary(self) -> int:
        return 30522 if self.kind == "bert" else 50265

    @property
    def positions(self) -> int:
        return 512 if self.kind == "bert" else 514  # RoBERTa counts from behind its padding


ENCODERS = {
    "bert_base": Encoder("bert", 768, 12, 12),
    "bert_large": Encoder("bert", 1024, 24, 16),
    "roberta_base": Encoder("roberta", 768, 12, 12),
    "roberta_large": Encoder("roberta", 1024, 24, 16),
}
INITIAL_STD = 0.02


def published_shapes(encoder: Encoder) -> Shapes:
    """Names and shapes of the tensors in `model.safetensors`."""
    kind, hidden, wide = encoder.kind, encoder.hidden, 4 * encoder.hidden
    shapes: Shapes = {}

    def linear(name: str, rows: int, columns: int) -> None:
        shapes.update({f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)})

    def norm(name: str) -> None:
        scale, shift = ("gamma", "beta") if kind == "bert" else ("weight", "bias")
        shapes.update({f"{name}.{scale}": (hidden,), f"{name}.{shift}": (hidden,)})

    embeddings = f"{kind}.embeddings"
    rows = {"word": encoder.vocabulary, "position": encoder.positions}
    rows["token_type"] = 2 if kind == "bert" else 1
    for what, count in rows.items():
        shapes[f"{embeddings}.{what}_embeddings.weight"] = (count, hidden)
    norm(f"{embeddings}.LayerNorm")
    for number in range(encoder.layers):
        layer = f"{kind}.encoder.layer.{number}"
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", hidden, hidden)
        linear(f"{layer}.attention.output.dense", hidden, hidden)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", wide, hidden)
        linear(f"{layer}.output.dense", hidden, wide)
        norm(f"{layer}.output.LayerNorm")
    if kind == "bert":
        linear("bert.pooler.dense", hidden, hidden)
        linear("cls.predictions.transform.dense", hidden, hidden)
        norm("cls.predictions.transform.LayerNorm")
        shapes["cls.predictions.bias"] = (encoder.vocabulary,)
        linear("cls.seq_relationship", 2, hidden)
    else:
        shapes["roberta.embeddings.position_ids"] = (1, encoder.positions)
        linear("lm_head.dense", hidden, hidden)
        norm("lm_head.layer_norm")
        shapes["lm_head.bias"] = (encoder.vocabulary,)
    return shapes


def weights(encoder: Encoder, seed: int) -> dict[str, NDArray[Any]]:
    """Random tensors of these shapes, spread as at the start of a pretraining."""
    shapes = published_shapes(encoder)
    # In one piece, which goes back to the system when it is free: the server lives on.
    count = sum(map(math.prod, shapes.values()))
    numbers = np.random.default_rng(seed).standard_normal(count, np.float32)
    numbers *= np.float32(INITIAL_STD)
    tensors: dict[str, NDArray[Any]] = {}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + math.prod(shape)
        tensor = numbers[begin:end].reshape(shape)
        if name.endswith("position_ids"):
            tensor = np.arange(shape[1])[None]
        elif len(shape) == 1:
            tensor[:] = bool(re.search(r"gamma$|[Nn]orm\.weight$", name))
        tensors[name] = tensor
    return tensors


def configuration(encoder: Encoder) -> dict[str, Any]:
    """`config.json`, with the keys that the published ones have."""
    bert = encoder.kind == "bert"
    own = {"gradient_checkpointing": False, "position_embedding_type": "absolute"} if bert else {}
    return {
        "architectures": ["BertForMaskedLM" if bert else "RobertaForMaskedLM"],
        "attention_probs_dropout_prob": 0.1,
        **({} if bert else {"bos_token_id": 0, "eos_token_id": 2}),
        **own,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": encoder.hidden,
        "initializer_range": INITIAL_STD,
        "intermediate_size": 4 * encoder.hidden,
        "layer_norm_eps": 1e-12 if bert else 1e-5,
        "max_position_embeddings": encoder.positions,
        "model_type": encoder.kind,
        "num_attention_heads": encoder.heads,
        "num_hidden_layers": encoder.layers,
        "pad_token_id": 0 if bert else 1,
        "type_vocab_size": 2 if bert else 1,
        "vocab_size": encoder.vocabulary,
    }


def tokenizer(encoder: Encoder, captions: Iterable[str]) -> Tokenizer:
    """A tokenizer whose words are those of `captions`, its special tokens where they belong.

    Numbers that no word needs are taken by tokens that no text has, up to the true vocabulary.
    """
    texts = [caption.lower() for caption in captions]
    return (_wordpieces if encoder.kind == "bert" else _byte_pairs)(texts, encoder.vocabulary)


def _wordpieces(texts: list[str], size: int) -> Tokenizer:
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(99)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += [f"[unused{n}]" for n in range(99, 994)]
    letters = sorted(set("".join(texts)) - {" "})
    tokens += [*letters, *(f"##{letter}" for letter in letters)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    tokens += sorted(words - set(tokens))
    tokens += [f"unheardof{n}" for n in range(size - len(tokens))]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 101), ("[SEP]", 102)],
    )
    return made


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
    limits = {"do_lower_case": True} if encoder.kind == "bert" else {}
    for name, table in (
        ("config.json", configuration(encoder)),
        ("tokenizer_config.json", {**limits, "model_max_length": 512}),
    ):
        (folder / name).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    tokenizer(encoder, captions).save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    (folder / "flax_model.msgpack").write_bytes(b"another library's weights")
    save_file(weights(encoder, seed), folder / "model.safetensors", {"format": "pt"})


LARGE = {".safetensors", ".msgpack", ".zip"}
"""Suffixes of files in large-file storage, besides a zip's parts .z01, .z02, ..."""


def write_listing(path: Path, folder: Path, inside: str = "") -> list[dict[str, Any]]:
    """The hub's answer to what is in `folder`, whose files stand in `inside` of a repository."""
    entries: list[dict[str, Any]] = []
    for file in sorted(folder.iterdir()):
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        size = file.stat().st_size
        entry: dict[str, Any] = {"type": "file", "path": inside + file.name, "size": size}
        if file.suffix in LARGE or re.fullmatch(r"\.z\d\d", file.suffix):
            entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 134}
            content = b"version https://git-lfs.github.com/spec/v1\n"
        else:
            content = file.read_bytes()
        entry["oid"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entries.append(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries), encoding="utf-8")
    return entries
