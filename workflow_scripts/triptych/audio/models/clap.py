"""CLAP (Wu et al. 2023, arXiv:2211.06687) behind the interface of a `RetrievalModel`.

The networks and the front end are those of the transformers library, which is imported here and by
no training. Sounds come at 32 kHz as everywhere in this project and are resampled to CLAP's 48 kHz,
so what a recording has above 16 kHz is lost; its mel filters end at 14 kHz.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import soxr
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from triptych.audio.models.retrieval import unit_vectors
from triptych.audio.models.settings import CLAP, MelSettings, read_model_table
from triptych.audio.models.text_files import read_tokenizer
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, link_or_copy
from triptych.core.weights import differences, read_state_dict, save_weights, shapes

WEIGHTS = "pytorch_model.bin"
FILES = ("config.json", "preprocessor_config.json", "tokenizer.json", WEIGHTS)
"""Of the repository on the hub."""
LONGEST_TOKENS = 77
"""Of a text, as LAION's own code cuts it."""
COUNTED = ("position_ids", "token_type_ids", "relative_position_index", "num_batches_tracked")
"""Ends of the names of counted numbers, of which versions of the library keep some or others."""

StrPath = str | os.PathLike[str]


class _Texts:
    """Texts as they stand, to tokens: CLAP has learnt capitals and punctuation."""

    cleans = False
    longest = LONGEST_TOKENS

    def __init__(self, tokenizer: Tokenizer, padding: int) -> None:
        self.tokenizer = tokenizer
        tokenizer.enable_truncation(LONGEST_TOKENS)
        tokenizer.enable_padding(pad_id=padding, pad_token=tokenizer.id_to_token(padding))

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask`, [captions, tokens], padded to the longest."""
        encodings = self.tokenizer.encode_batch(list(captions))
        return {
            "input_ids": torch.tensor([one.ids for one in encodings]),
            "attention_mask": torch.tensor([one.attention_mask for one in encodings]),
        }


class Clap(nn.Module):
    """CLAP without feature fusion.

    A recording is cut into segments of 10 s, of which the last is repeated to that length as in
    CLAP's own front end; its vector is that of the mean of their unit vectors, each counted by its
    seconds. (CLAP itself takes 10 s of a longer one by chance.)
    """

    def __init__(
        self, config: Mapping[str, Any], front_end: Mapping[str, Any], tokenizer: Tokenizer
    ) -> None:
        """With random weights. config, front_end: `config.json`, `preprocessor_config.json`.

        Raises InputError where the transformers library is absent or the model fuses features.
        """
        super().__init__()
        try:
            from transformers import ClapConfig, ClapFeatureExtractor, ClapModel
        except ImportError as error:
            raise InputError(
                f"CLAP needs the library transformers ({error}): pip install transformers"
            ) from error
        made: Any = ClapConfig.from_dict(dict(config))
        if made.audio_config.enable_fusion:
            raise InputError("config.json: a CLAP that fuses features; expected one that doesn't")
        self.model = ClapModel(made)
        self._front_end = ClapFeatureExtractor(**front_end)
        self.text = _Texts(tokenizer, made.text_config.pad_token_id)

    def embed_audio(self, waveforms: Tensor, lengths: Tensor | Sequence[int]) -> Tensor:
        """Recordings to unit vectors [B, D]; as `RetrievalModel.embed_audio`."""
        counted = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
        rate, samples = self._front_end.sampling_rate, self._front_end.nb_max_samples
        segments, owners, seconds = [], [], []
        for owner, length in enumerate(counted):
            waveform = waveforms[owner, :length].cpu().numpy()
            waveform = soxr.resample(waveform, MelSettings.sample_rate, rate)
            for first in range(0, max(len(waveform), 1), samples):
                segments.append(waveform[first : first + samples])
                owners.append(owner)
                seconds.append(len(segments[-1]) / rate)
        features = self._front_end(segments, sampling_rate=rate, return_tensors="pt")
        mel = features["input_features"].float().to(waveforms.device)
        vectors = unit_vectors(self.model.get_audio_features(input_features=mel).pooler_output)
        weighted = vectors * torch.tensor(seconds, device=vectors.device)[:, None]
        sums = vectors.new_zeros(len(counted), vectors.shape[1])
        return unit_vectors(
            sums.index_add(0, torch.tensor(owners, device=vectors.device), weighted)
        )

    def embed_text(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """What `text.tokenize` gave to unit vectors [captions, D]."""
        device = next(self.model.parameters()).device
        on_device = {name: value.to(device) for name, value in tokens.items()}
        return unit_vectors(self.model.get_text_features(**on_device).pooler_output)


def convert_clap(hub: StrPath, folder: StrPath, about: Mapping[str, Any]) -> None:
    """Write FILES of a repository, in the folder `hub`, as a model's folder.

    Raises InputError, naming tensors, for weights that are damaged or of another model.
    """
    hub = Path(hub)
    tables = {name: _read_json(hub / f"{name}.json") for name in ("config", "preprocessor_config")}
    clap = Clap(tables["config"], tables["preprocessor_config"], read_tokenizer(hub))
    expected = "CLAP's weights as the hub has them (docs/audio-models.md)"
    state = read_state_dict(hub / WEIGHTS, expected)
    _load(clap.model, state, f"{hub / WEIGHTS}: expected {expected}")
    save_clap(clap, folder, {"kind": CLAP, **tables, "about": dict(about)}, hub / "tokenizer.json")


def save_clap(clap: Clap, folder: StrPath, table: Mapping[str, Any], tokenizer: StrPath) -> None:
    """Write a model's folder. table: of its `model.json`; tokenizer: a file."""
    folder = Path(folder)
    save_weights(clap.model, folder / "model.safetensors")
    link_or_copy(tokenizer, folder / "tokenizer.json")
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_clap(folder: StrPath, device: torch.device | str = "cpu") -> Clap:
    """What `convert_clap` wrote, in evaluation mode. Raises InputError for another folder."""
    folder = Path(folder)
    table = read_model_table(folder)
    try:
        clap = Clap(table["config"], table["preprocessor_config"], read_tokenizer(folder))
        _load(clap.model, load_file(folder / "model.safetensors"), f"{folder}: expected CLAP")
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: its files don't belong together ({type(error).__name__}: {error}). Remove "
            "the folder and fetch the model again."
        ) from error
    return clap.to(device).eval()


def _load(model: nn.Module, state: Mapping[str, Tensor], expected: str) -> None:
    """All that was learnt, whole. Raises InputError, which begins with `expected`."""
    learnt, wanted = (
        {name: tensor for name, tensor in each.items() if not name.endswith(COUNTED)}
        for each in (state, model.state_dict())
    )
    if problems := differences(shapes(learnt), shapes(wanted)):
        raise InputError(
            f"{expected}, {len(wanted)} tensors; found {len(learnt)}, of which {problems}. Fetch "
            "it again."
        )
    model.load_state_dict(learnt, strict=False)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return dict(table)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not a table of settings ({error}). Fetch it again.") from error
