"""LAION's CLAP (Wu et al. 2023) as a model that searches, by transformers' ClapModel.

Its files are fetched once into the user's cache, one revision, by size and SHA-256.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soxr
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel

from triptych.apps.sounds.search.embedder import PRECISION, TextNetwork, write_side
from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.embedding import BATCH_SECONDS
from triptych.audio.models.retrieval import unit_vectors
from triptych.core.device import choose_device, training_precision
from triptych.core.download import DownloadError, download
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.packages import sources, writable_cache

RATE = 48_000
SEGMENT_SECONDS = 10.0
LONGEST = 77
"""Tokens of a text, as in its training."""
WEIGHTS = "pytorch_model.bin"


def clap_folder() -> Path:
    """The model's folder; the first call fetches 0.8 GB. Raises InputError where that fails."""
    entry = sources()["clap"]
    folder = writable_cache() / f"clap-{entry['revision'][:12]}"
    if (folder / "model.json").exists():  # written last
        return folder
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    place = f"{hub}/{entry['repository']}/resolve/{entry['revision']}"
    try:
        for name, file in entry["files"].items():
            if not (folder / name).exists():
                download(f"{place}/{name}", folder / name, file["size"], file["sha256"])
    except DownloadError as error:
        raise InputError(
            f"--model clap: {error}\nCall it once where there is a connection; what it leaves in "
            f"{folder} may be copied. --model small needs none."
        ) from error
    ClapModel.from_pretrained(folder, local_files_only=True).save_pretrained(folder)
    (folder / WEIGHTS).unlink()  # the same as safetensors now
    about = {"sources": {"laion": "download"}, "repository": entry["repository"]}
    table = {"about": about, "settings": {"segment_seconds": SEGMENT_SECONDS}}
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(table) + "\n", encoding="utf-8")
    return folder


class ClapEmbedder:
    """CLAP from its folder, on a device: "auto", "cpu" or "cuda"."""

    def __init__(self, folder: Path, device: str) -> None:
        self._folder, self._device = folder, choose_device(device)
        model: nn.Module = ClapModel.from_pretrained(folder, local_files_only=True)
        self._model: Any = model.to(self._device).eval()
        self._features = ClapFeatureExtractor.from_pretrained(folder, local_files_only=True)
        self.batch_seconds = BATCH_SECONDS[self._device.type]

    def sounds(self, waveforms: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Normalised embeddings [W, D] of waveforms, each float32 [frames] at 32 kHz."""
        longest = round(SEGMENT_SECONDS * RATE)  # of a longer one a random part would be heard
        resampled = [soxr.resample(one, SAMPLE_RATE, RATE)[:longest] for one in waveforms]
        features = self._features(resampled, sampling_rate=RATE, return_tensors="pt")
        heard = features["input_features"].float().to(self._device)
        with torch.inference_mode(), training_precision(self._device, PRECISION):
            output = self._model.get_audio_features(heard, is_longer=features["is_longer"])
        return unit_vectors(output.pooler_output).cpu().numpy()

    def write_text(self, model_sha256: str, folder: Path) -> None:
        """Write the model's text side for searches, which need it alone."""
        tokenizer = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
        table = {"model_sha256": model_sha256, "cleans": False, "longest": LONGEST}
        model = self._model.cpu()

        def embed(tokens: dict[str, Tensor]) -> Tensor:
            return unit_vectors(model.get_text_features(**tokens).pooler_output)

        write_side(TextNetwork(model, embed), tokenizer.backend_tokenizer, table, folder)
        self._model.to(self._device)
