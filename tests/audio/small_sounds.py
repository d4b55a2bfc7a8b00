"""Sound files for tests of search, and a model that knows three pitches by name."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import soundfile
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

PITCHES = {"low": 200.0, "middle": 1000.0, "high": 5000.0}


def tone(pitch: str, seconds: float = 1.0, rate: int = 44100) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * PITCHES[pitch] * time)).astype(np.float32)


def write_sound(path: Path, pitch: str, seconds: float = 1.0, rate: int = 44100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, tone(pitch, seconds, rate), rate)
    return path


class PitchModel:
    """Stands for search's Embedder: loudness near each pitch, for sounds; a word, for texts."""

    batch_seconds = 3.0

    def __init__(self, *given: object) -> None:
        self.heard: list[int] = []

    def sounds(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        rows = []
        for waveform in waveforms:
            self.heard.append(len(waveform))
            spectrum = np.abs(np.fft.rfft(waveform))
            hertz = np.fft.rfftfreq(len(waveform), 1 / 32000)
            rows.append([spectrum[np.abs(hertz - f) < 50].sum() for f in PITCHES.values()])
        vectors = np.array(rows) + 1e-9
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def text(self, text: str) -> np.ndarray:
        return np.array([name in text for name in PITCHES], np.float32)

    def write_text(self, model_sha256: str, folder: Path) -> None:
        write_words(model_sha256, folder)


def write_words(model_sha256: str, folder: Path) -> None:
    """A text side, by hand, that knows the pitches' names: the sum of the words' rows."""
    folder.mkdir(exist_ok=True)
    words = Tokenizer(
        models.WordLevel({"other": 0, **{p: i for i, p in enumerate(PITCHES, 1)}}, "other")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(folder / "tokenizer.json"))
    rows = numpy_helper.from_array(np.eye(4, 3, -1, np.float32), "rows")
    axes = numpy_helper.from_array(np.array([1], np.int64), "axes")
    tokens = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [None, None])
        for name in ("ids", "mask")
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["rows", "ids"], ["each"]),
            helper.make_node("ReduceSum", ["each", "axes"], ["sum"], keepdims=0),
            helper.make_node("Identity", ["sum"], ["unit_vectors"]),
        ],
        "words",
        tokens,
        [helper.make_tensor_value_info("unit_vectors", TensorProto.FLOAT, [None, 3])],
        [rows, axes],
    )
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "text.onnx")
    table = {"model_sha256": model_sha256, "cleans": True, "longest": 8}
    (folder / "text.json").write_text(json.dumps(table))
