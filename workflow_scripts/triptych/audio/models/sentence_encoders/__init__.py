"""The sentence encoders: `class` of a text model from scratch names a module of this folder.

A text model from the hub is any that the transformers library's AutoModel knows; its class is the
`model_type` of its config.json.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.entries import class_name, read_entry

if TYPE_CHECKING:
    from torch import nn

LONGEST_TOKENS = 32
"""Of a caption; what is longer is cut."""
SHARED = ("label", "class", "source")
"""Keys that an entry of any class may have."""
POOLINGS = ("first", "mean")
"""A sentence's embedding: the last layer's first token (the report's), or the mean over tokens."""


@dataclass(frozen=True)
class SentenceSettings(ABC):
    """Settings of a sentence encoder from scratch.

    pieces: how captions become tokens (`text_files.py`); padding: the token that fills them up.
    """

    hidden: int  # dimensions of an embedding
    vocabulary: int

    pieces: ClassVar[str] = "words"
    padding: ClassVar[int] = 0

    @staticmethod
    @abstractmethod
    def network(config: Mapping[str, Any], dropout: float) -> "nn.Module":
        """A network of the sizes in `config.json`: ids and mask [N, tokens] to [N, hidden]."""

    @property
    def parameters(self) -> int:
        """About how many numbers the network has, which orders encoders of a kind."""
        layers: int = getattr(self, "layers", 0)
        return self.hidden * (self.vocabulary + 12 * self.hidden * layers)

    def config(self) -> dict[str, Any]:
        """The content of `config.json`."""
        return {
            "model_type": class_name(self),
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "pad_token_id": self.padding,
        }


FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
"""Of a pretrained text model, on the hub and in a folder."""
HUB_KEYS = ("repository", "revision", "sha256", "pooling")
"""Keys of a text model from the hub, beside the shared ones."""


def sentence_encoder(entry: Mapping[str, Any]) -> SentenceSettings:
    """The settings of an entry of `text_models` from scratch.

    Raises ValueError whose message continues the entry's key.
    """
    settings: SentenceSettings = read_entry(__name__, entry, SHARED)
    return settings


def hub_model(entry: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Source of a text model from the hub: class, repository, revision, sha256, pooling.

    entry: of `text_models`, any model that AutoModel knows; known: its entry of
    resources/sources.yaml, or an empty one. Raises ValueError whose message continues the key.
    """
    if unknown := [key for key in entry if key not in (*SHARED, *HUB_KEYS)]:
        allowed = ", ".join((*SHARED, *HUB_KEYS))
        raise ValueError(f" has no key {', '.join(unknown)}; a model from the hub has {allowed}")
    model = {key: {**known, **entry}.get(key) for key in ("class", *HUB_KEYS)}
    model["pooling"] = model["pooling"] or POOLINGS[0]
    if model["pooling"] not in POOLINGS:
        raise ValueError(f".pooling is {model['pooling']!r}; allowed is {' or '.join(POOLINGS)}")
    for key, pattern in (("repository", r"[\w.-]+/[\w.-]+"), ("revision", r"[0-9a-f]{40}")):
        if not re.fullmatch(pattern, str(model[key])):
            raise ValueError(
                f".{key} is {model[key]!r}; a model from the hub that resources/sources.yaml "
                "does not list needs its repository, as owner/name, and the revision, the 40 "
                "digits of a commit"
            )
    return model
