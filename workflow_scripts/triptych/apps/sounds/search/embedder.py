"""A trained model put to use: sounds and texts to embeddings, and its text side as ONNX.

The model is one of this study, or LAION's CLAP (Wu et al. 2023) by transformers' ClapModel, whose
files are fetched once into the user's cache, one revision, by size and SHA-256.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soxr
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from triptych.apps.sounds.search.trained import INPUTS, NETWORK, OUTPUT, TABLE, TOKENIZER
from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.embedding import BATCH_SECONDS, embed_captions, embed_clips
from triptych.audio.models.retrieval import load_model, save_model, unit_vectors
from triptych.core.device import choose_device, training_precision
from triptych.core.download import DownloadError, download
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, partial_prefix, remove_partial
from triptych.core.packages import sources, writable_cache

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from triptych.audio.models.retrieval import RetrievalModel

PRECISION = "tf32"  # float32 on a CPU
LEVEL, LARGEST_GAIN = 0.1, 1000.0
"""-20 dBFS; 60 dB, with which the noise of a silent recording stays quiet."""
CLAP_RATE = 48_000
CLAP_SECONDS = 10.0
"""Of its segments."""
CLAP_TOKENS = 77
"""Tokens of a text, as in its training."""

Maps = tuple[Tensor, Tensor]
"""Matrices [D, D] that map embeddings of recordings and of captions."""


class _Waveforms:
    """Waveforms in memory as a store of clips, named by their numbers."""

    def __init__(self, waveforms: Sequence[NDArray[np.float32]]) -> None:
        self._waveforms = waveforms

    def frames(self, clip: str) -> int:
        return len(self._waveforms[int(clip)])

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        waveform = self._waveforms[int(clip)]
        return waveform[start : None if frames is None else start + frames]


def levelled(waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    """A waveform without its mean and with a deviation of LEVEL, or LARGEST_GAIN times as loud."""
    centred = waveform - waveform.mean()
    return np.asarray(centred * min(LARGEST_GAIN, LEVEL / (centred.std() + 1e-12)), np.float32)


class Embedder:
    """A model from its folder, on a device: "auto", "cpu" or "cuda"."""

    def __init__(self, folder: Path, device: str) -> None:
        self._device = choose_device(device)
        self._model = load_model(folder, self._device)
        self.batch_seconds = BATCH_SECONDS[self._device.type]

    def sounds(self, waveforms: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Normalised embeddings [W, D] of waveforms, each float32 [frames] at 32 kHz."""
        if self._model.settings.audio.ignores_gain:
            waveforms = [levelled(waveform) for waveform in waveforms]
        names = [str(number) for number in range(len(waveforms))]
        return embed_clips(self._model, _Waveforms(waveforms), names, self._device, PRECISION)

    def text(self, text: str) -> NDArray[np.float32]:
        """Normalised embedding [D] of a text."""
        return embed_captions(self._model, [text], self._device, PRECISION)[0]

    def write_text(self, model_sha256: str, folder: Path) -> None:
        """Write the model's text side for searches, which need it alone."""
        model = self._model.cpu()
        write_text_side(model, model_sha256, folder)
        model.to(self._device)

    def write_mapped(self, maps: Maps, about: dict[str, Any], folder: Path) -> None:
        """Write the model with maps of its embeddings, as which it ends; about: of the model."""
        model = self._model.cpu()
        map_last_layers((model.project_audio[-1], model.project_sentence[-1]), maps)
        save_model(model, folder, about)


def map_last_layers(layers: Sequence[nn.Module], maps: Maps) -> None:
    """Put maps [D, D] of what layers return, rows from the left, into the layers."""
    for layer, mapped in zip(layers, maps, strict=True):
        assert isinstance(layer, nn.Linear)
        layer.weight.data = mapped.T @ layer.weight.data
        layer.bias.data = layer.bias.data @ mapped


class TextNetwork(nn.Module):
    """Tokens to unit vectors, as a network of two inputs.

    embed: makes them of a model's tokens by the names that transformers gives them.
    """

    def __init__(self, model: nn.Module, embed: Callable[[dict[str, Tensor]], Tensor]) -> None:
        super().__init__()
        self.model, self._embed = model, embed

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors [N, D] of token ids and their mask, both [N, tokens]."""
        return self._embed({"input_ids": ids, "attention_mask": mask})


def write_text_side(model: "RetrievalModel", model_sha256: str, folder: Path) -> None:
    """Write the text side of a model (on the CPU, in evaluation mode) into a folder, whole."""
    text = model.text
    table = {"model_sha256": model_sha256, "cleans": text.cleans, "longest": text.longest}
    quantised = text.config["model_type"] == "phrases"
    write_side(TextNetwork(model, model.embed_text), text.tokenizer, table, folder, quantised)


def write_side(
    network: nn.Module,
    tokenizer: "Tokenizer",
    table: dict[str, Any],
    folder: Path,
    quantised: bool = False,
) -> None:
    """Write what `TextSide` reads, whole.

    network: token ids and mask, both [N, tokens], to unit vectors; quantised: to 8 bits
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_partial(folder)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=partial_prefix(folder)) as temporary:
        written = Path(temporary) / folder.name
        written.mkdir()
        _export(network, written / NETWORK)
        tokenizer.save(str(written / TOKENIZER), pretty=False)
        (written / TABLE).write_text(json.dumps(table) + "\n", encoding="utf-8")
        if quantised:
            from triptych.core.weights import quantise

            quantise(written / NETWORK)
        if folder.exists():
            folder.rename(written.with_name("earlier"))  # whoever ends this leaves no half of it
        written.rename(folder)


def _export(network: nn.Module, path: Path) -> None:
    from triptych.core.weights import exported  # takes seconds to import

    ids = torch.ones(2, 9, dtype=torch.int64)  # the exporter takes sizes of 0 and 1 as constants
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = exported(network, (ids, torch.ones_like(ids)), INPUTS, OUTPUT, (sizes, sizes))
    for node in program.model.graph:
        node.metadata_props.clear()  # traces
    program.save(path, external_data=True)


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
    from transformers import ClapModel  # imported here: it takes seconds

    ClapModel.from_pretrained(folder, local_files_only=True).save_pretrained(folder)
    (folder / "pytorch_model.bin").unlink()  # the same as safetensors now
    about = {"sources": {"laion": "download"}, "repository": entry["repository"]}
    _write_clap_table(about, folder)
    return folder


class ClapEmbedder:
    """CLAP from its folder, on a device: "auto", "cpu" or "cuda"."""

    def __init__(self, folder: Path, device: str) -> None:
        from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel

        self._folder, self._device = folder, choose_device(device)
        model: nn.Module = ClapModel.from_pretrained(folder, local_files_only=True)
        self._model: Any = model.to(self._device).eval()
        self._features = ClapFeatureExtractor.from_pretrained(folder, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._tokenizer: Tokenizer = tokenizer.backend_tokenizer
        self.batch_seconds = BATCH_SECONDS[self._device.type]

    def sounds(self, waveforms: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Normalised embeddings [W, D] of waveforms, each float32 [frames] at 32 kHz."""
        longest = round(CLAP_SECONDS * CLAP_RATE)  # of a longer one a random part would be heard
        resampled = [soxr.resample(one, SAMPLE_RATE, CLAP_RATE)[:longest] for one in waveforms]
        features = self._features(resampled, sampling_rate=CLAP_RATE, return_tensors="pt")
        heard = features["input_features"].float().to(self._device)
        with torch.inference_mode(), training_precision(self._device, PRECISION):
            output = self._model.get_audio_features(heard, is_longer=features["is_longer"])
        return unit_vectors(output.pooler_output).cpu().numpy()

    def text(self, text: str) -> NDArray[np.float32]:
        """Normalised embedding [D] of a text."""
        encoding = self._tokenizer.encode(text)
        rows = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        tokens = {
            name: torch.tensor([row[:CLAP_TOKENS]], device=self._device)
            for name, row in rows.items()
        }
        with torch.inference_mode(), training_precision(self._device, PRECISION):
            return self._embed_text(tokens)[0].cpu().numpy()

    def _embed_text(self, tokens: dict[str, Tensor]) -> Tensor:
        return unit_vectors(self._model.get_text_features(**tokens).pooler_output)

    def write_text(self, model_sha256: str, folder: Path) -> None:
        """Write the model's text side for searches, which need it alone."""
        table = {"model_sha256": model_sha256, "cleans": False, "longest": CLAP_TOKENS}
        network = TextNetwork(self._model.cpu(), self._embed_text)
        write_side(network, self._tokenizer, table, folder)
        self._model.to(self._device)

    def write_mapped(self, maps: Maps, about: dict[str, Any], folder: Path) -> None:
        """Write the model with maps of its embeddings, as which it ends; about: of the model."""
        model = self._model.cpu()
        map_last_layers((model.audio_projection.linear2, model.text_projection.linear2), maps)
        shutil.copytree(self._folder, folder, ignore=lambda *_: ["model.safetensors", "model.json"])
        model.save_pretrained(folder)
        _write_clap_table(about, folder)


def _write_clap_table(about: dict[str, Any], folder: Path) -> None:
    table = {"about": about, "settings": {"segment_seconds": CLAP_SECONDS}}
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(table) + "\n", encoding="utf-8")


def load_embedder(folder: Path, device: str) -> Embedder | ClapEmbedder:
    """The model in a folder, of this study or CLAP, on a device: "auto", "cpu" or "cuda"."""
    is_clap = (folder / "preprocessor_config.json").exists()
    return ClapEmbedder(folder, device) if is_clap else Embedder(folder, device)
