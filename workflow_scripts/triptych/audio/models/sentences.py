"""The text side: BERT and RoBERTa of Hugging Face, published ones or small ones from scratch.

A caption loses its capitals and its punctuation, its tokens are cut to 32, and what the last layer
makes of the first one is its embedding, as in the report's code. A text model is a folder with
`config.json`, `tokenizer.json` and, where it was pretrained, `model.safetensors`. The transformers
library takes seconds to import, so only functions that make a model import it.
"""

import json
import os
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from triptych.core.errors import InputError

TextClass = Literal["bert", "roberta"]
CLASSES: tuple[TextClass, ...] = ("bert", "roberta")
LONGEST_TOKENS = 32
CONFIG_KEYS = (
    "model_type",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
)
"""What of a `config.json` makes the encoder; the rest says where the model came from."""
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def clean_caption(text: str) -> str:
    """A caption as the text side reads it: lower case, without ASCII punctuation."""
    return text.lower().translate(WITHOUT_PUNCTUATION)


class SentenceEncoder(nn.Module):
    """Captions to embeddings. Its tokenizer is part of it."""

    def __init__(self, config: Mapping[str, Any], tokenizer: Tokenizer, dropout: float) -> None:
        """An encoder with random weights. config: at least CONFIG_KEYS of a `config.json`."""
        super().__init__()
        self.config = {key: config[key] for key in CONFIG_KEYS if key in config}
        self.tokenizer = tokenizer
        self.model = _model_class(self.config)(
            _configuration(self.config, dropout), add_pooling_layer=False
        )
        tokenizer.no_truncation()
        padding = self.model.config.pad_token_id
        tokenizer.enable_padding(pad_id=padding, pad_token=tokenizer.id_to_token(padding))

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], dropout: float) -> "SentenceEncoder":
        """The encoder in a folder, with its weights if it has any, else with random ones.

        dropout: of hidden states and of attention, in training. Raises InputError for a folder
        that isn't a whole text model.
        """
        folder = Path(folder)
        encoder = cls(read_config(folder), read_tokenizer(folder), dropout)
        if (folder / "model.safetensors").exists():
            encoder.model = _pretrained(folder, encoder.config, dropout)
        return encoder

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask`, [captions, tokens up to 32], on the CPU.

        Captions are cleaned and padded to the longest, then cut: of a long one the token that
        ends sentences goes too, as in the report's code.
        """
        encodings = self.tokenizer.encode_batch([clean_caption(caption) for caption in captions])
        return {
            "input_ids": torch.tensor([one.ids[:LONGEST_TOKENS] for one in encodings]),
            "attention_mask": torch.tensor(
                [one.attention_mask[:LONGEST_TOKENS] for one in encodings]
            ),
        }

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Tokens to embeddings [captions, hidden_size]."""
        device = self.model.device
        ids, mask = tokens["input_ids"].to(device), tokens["attention_mask"].to(device)
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]


def read_config(folder: Path) -> dict[str, Any]:
    """A text model's `config.json`. Raises InputError where it isn't a BERT's or a RoBERTa's."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read as a text model's configuration ({error}). A text model is a "
            "folder with config.json, tokenizer.json and, where pretrained, model.safetensors."
        ) from error
    if kind not in CLASSES:
        raise InputError(f"{path}: model_type is {kind!r}, expected {' or '.join(CLASSES)}")
    return config


def read_tokenizer(folder: Path) -> Tokenizer:
    """A text model's tokenizer. Raises InputError where `tokenizer.json` isn't one."""
    path = folder / "tokenizer.json"
    if not path.exists():
        raise InputError(f"{path} is missing. Older folders have vocab.txt instead: convert them.")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # what the library raises has no type of its own
        raise InputError(f"{path}: not a tokenizer ({error})") from error


def _configuration(config: Mapping[str, Any], dropout: float) -> Any:
    from transformers.models.bert.configuration_bert import BertConfig
    from transformers.models.roberta.configuration_roberta import RobertaConfig

    kind = BertConfig if config["model_type"] == "bert" else RobertaConfig
    settings = {key: value for key, value in config.items() if key != "model_type"}
    return kind(**settings, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)


def _model_class(config: Mapping[str, Any]) -> Any:
    if config["model_type"] == "bert":
        from transformers.models.bert.modeling_bert import BertModel

        return BertModel
    from transformers.models.roberta.modeling_roberta import RobertaModel

    return RobertaModel


def _pretrained(folder: Path, config: Mapping[str, Any], dropout: float) -> nn.Module:
    model, told = _model_class(config).from_pretrained(
        folder,
        config=_configuration(config, dropout),
        add_pooling_layer=False,
        local_files_only=True,
        use_safetensors=True,  # never a pickle in its place
        dtype=torch.float32,
        output_loading_info=True,
    )
    missing = sorted({*told["missing_keys"], *(key for key, *_ in told["mismatched_keys"])})
    if missing:
        raise InputError(
            f"{folder / 'model.safetensors'}: {len(missing)} tensors are missing or of another "
            f"shape than config.json says, the first is {missing[0]}. Fetch the folder again."
        )
    return model


def write_scratch_model(
    folder: str | os.PathLike[str],
    class_: TextClass,
    hidden: int,
    layers: int,
    heads: int,
    vocabulary: int,
    captions: Iterable[str],
) -> None:
    """Write a small text model without weights, its tokenizer trained on `captions`.

    The same captions in whatever order give the same bytes. vocabulary: about how many tokens;
    letters (or bytes) and special tokens are always among them. Raises ValueError for an unknown
    class or without captions.
    """
    from triptych.audio.models.wordpieces import train_tokenizer

    folder = Path(folder)
    tokenizer = train_tokenizer(class_, vocabulary, map(clean_caption, captions))
    special = 2 if class_ == "roberta" else 0  # RoBERTa counts positions from beyond its padding
    config = {
        "model_type": class_,
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
        "hidden_act": "gelu",
        "max_position_embeddings": 2 * LONGEST_TOKENS + special,
        "type_vocab_size": 1 if class_ == "roberta" else 2,
        # As published at 768 dimensions, of a spread that keeps activations alike at any width.
        "initializer_range": 0.02 * (768 / hidden) ** 0.5,
        "layer_norm_eps": 1e-5 if class_ == "roberta" else 1e-12,
        "pad_token_id": 1 if class_ == "roberta" else 0,
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    kind = {"tokenizer_class": "RobertaTokenizer" if class_ == "roberta" else "BertTokenizer"}
    for name, table in (("tokenizer_config.json", kind), ("config.json", config)):
        (folder / name).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
